"""The offsets of a log: their order, how each of them moves, and what follows the high watermark and the log start."""

import pytest

from odradek.common.failures import Fault
from odradek.common.ids import TopicPartition
from odradek.log.errors import KafkaStorageError, OffsetOutOfRange, StorageFault
from odradek.log.leader_epochs import LeaderEpochs
from odradek.log.log_health import LogHealth
from odradek.log.log_offsets import LogOffsets
from odradek.log.manager.checkpoint_files import EpochEntry
from odradek.log.offsets import CompletedTxn, OffsetMetadata
from odradek.log.producers.producer_entry import ProducerEntry
from odradek.log.producers.producer_state import ProducerState
from odradek.sim.world.disk import SimulatedDisk

DIRECTORY = "/data/topic-0"
TOPIC_PARTITION = TopicPartition("topic", 0)


class Parts:
    """The offsets of a log from 10 to 50 that is durable up to 30, with what they depend on."""

    def __init__(self, disk: SimulatedDisk) -> None:
        self.disk = disk
        self.health = LogHealth(TOPIC_PARTITION, DIRECTORY)
        self.epochs = LeaderEpochs(disk, DIRECTORY, [EpochEntry(1, 10), EpochEntry(2, 20), EpochEntry(5, 40)])
        self.producers = ProducerState(disk, TOPIC_PARTITION, DIRECTORY)
        self.offsets = LogOffsets(10, 50, 30, self.epochs, self.producers, self.health)

    def begin_transaction(self, first_offset: int, producer_id: int = 7) -> None:
        entry = ProducerEntry(producer_id)
        entry.current_txn_first_offset = first_offset
        self.producers.load_entry(entry)

    def end_transaction(self, first_offset: int, marker_offset: int, producer_id: int = 7) -> None:
        self.producers.complete_txn(CompletedTxn(producer_id, first_offset, marker_offset, is_aborted=False))


@pytest.fixture
def parts() -> Parts:
    disk = SimulatedDisk()
    disk.make_dirs(DIRECTORY)
    disk.settle()
    return Parts(disk)


@pytest.fixture
def offsets(parts: Parts) -> LogOffsets:
    return parts.offsets


class TestLoadedLog:
    def test_the_high_watermark_begins_at_the_log_start(self, offsets: LogOffsets) -> None:
        assert offsets.high_watermark == offsets.last_stable_offset == 10
        assert offsets.high_watermark_position == OffsetMetadata(10)

    def test_a_log_without_records_is_empty(self, parts: Parts, offsets: LogOffsets) -> None:
        assert not offsets.is_empty
        assert LogOffsets(50, 50, 50, parts.epochs, parts.producers, parts.health).is_empty

    def test_the_representation_lists_the_offsets_in_order(self, parts: Parts, offsets: LogOffsets) -> None:
        parts.begin_transaction(25)
        offsets.set_high_watermark(40)
        assert repr(offsets) == "10 <= 25 <= 40 <= 50"


class TestLastStableOffset:
    def test_it_is_the_high_watermark_without_transactions(self, offsets: LogOffsets) -> None:
        offsets.set_high_watermark(40)
        assert offsets.first_unstable_offset is None
        assert offsets.last_stable_offset == 40

    def test_it_is_the_start_of_the_earliest_open_transaction(self, parts: Parts, offsets: LogOffsets) -> None:
        parts.begin_transaction(35, producer_id=8)
        parts.begin_transaction(25, producer_id=7)
        offsets.set_high_watermark(40)
        assert offsets.first_unstable_offset == offsets.last_stable_offset == 25

    def test_it_does_not_pass_the_high_watermark(self, parts: Parts, offsets: LogOffsets) -> None:
        parts.begin_transaction(45)
        offsets.set_high_watermark(40)
        assert (offsets.first_unstable_offset, offsets.last_stable_offset) == (45, 40)

    def test_it_is_not_below_the_log_start(self, parts: Parts, offsets: LogOffsets) -> None:
        parts.begin_transaction(15)
        offsets.set_high_watermark(40)
        offsets.raise_start(20)
        assert offsets.first_unstable_offset == offsets.last_stable_offset == 20

    @pytest.mark.parametrize("moves_as_leader", [True, False])
    def test_a_transaction_is_decided_once_its_marker_is_below_the_high_watermark(
        self, parts: Parts, offsets: LogOffsets, moves_as_leader: bool
    ) -> None:
        move = offsets.raise_high_watermark if moves_as_leader else offsets.set_high_watermark
        parts.begin_transaction(25)
        parts.end_transaction(25, marker_offset=30)
        move(30)
        assert offsets.last_stable_offset == 25
        move(31)
        assert (offsets.first_unstable_offset, offsets.last_stable_offset) == (None, 31)


class TestHighWatermark:
    @pytest.mark.parametrize(("requested", "expected"), [(9, 10), (10, 10), (42, 42), (50, 50), (51, 50)])
    def test_it_is_limited_to_the_range_of_the_log(self, offsets: LogOffsets, requested: int, expected: int) -> None:
        assert offsets.set_high_watermark(requested) == expected
        assert offsets.high_watermark == expected

    def test_a_follower_may_move_it_back(self, offsets: LogOffsets) -> None:
        offsets.set_high_watermark(40)
        assert offsets.set_high_watermark(35) == 35
        assert offsets.high_watermark == 35

    @pytest.mark.parametrize("offset", [39, 40])
    def test_a_leader_does_not_move_it_back(self, offsets: LogOffsets, offset: int) -> None:
        offsets.set_high_watermark(40)
        assert not offsets.raise_high_watermark(offset)
        assert offsets.high_watermark == 40

    def test_a_leader_moves_it_up_to_the_log_end(self, offsets: LogOffsets) -> None:
        assert offsets.raise_high_watermark(50)
        assert offsets.high_watermark == 50

    def test_a_leader_cannot_move_it_beyond_the_log_end(self, offsets: LogOffsets) -> None:
        with pytest.raises(Fault, match="high watermark 51 is beyond the end 50"):
            offsets.raise_high_watermark(51)
        assert offsets.high_watermark == 10

    def test_the_file_position_is_kept_with_the_offset(self, offsets: LogOffsets) -> None:
        position = OffsetMetadata(40, 20, 1234)
        assert offsets.raise_high_watermark(position)
        assert offsets.high_watermark == 40
        assert offsets.high_watermark_position == position

    def test_a_position_that_does_not_move_it_is_not_kept(self, offsets: LogOffsets) -> None:
        offsets.raise_high_watermark(OffsetMetadata(40, 20, 1234))
        assert not offsets.raise_high_watermark(OffsetMetadata(35, 20, 1000))
        assert offsets.high_watermark_position == OffsetMetadata(40, 20, 1234)

    def test_a_forgotten_position_leaves_the_offset(self, offsets: LogOffsets) -> None:
        offsets.set_high_watermark(40)
        offsets.remember_position(OffsetMetadata(40, 20, 1234))
        assert offsets.high_watermark_position.position == 1234
        offsets.forget_positions()
        assert offsets.high_watermark_position == OffsetMetadata(40)
        assert offsets.high_watermark_position.is_offset_only


class TestLogEnd:
    def test_an_append_moves_only_the_log_end(self, offsets: LogOffsets) -> None:
        offsets.advance_end(60)
        assert (offsets.log_start_offset, offsets.log_end_offset, offsets.recovery_point) == (10, 60, 30)
        assert offsets.high_watermark == 10

    def test_a_truncation_moves_the_recovery_point_back(self, offsets: LogOffsets) -> None:
        offsets.cut_end(25)
        assert (offsets.log_start_offset, offsets.log_end_offset, offsets.recovery_point) == (10, 25, 25)

    def test_a_truncation_above_the_recovery_point_leaves_it(self, offsets: LogOffsets) -> None:
        offsets.cut_end(45)
        assert (offsets.log_end_offset, offsets.recovery_point) == (45, 30)

    def test_a_truncation_below_the_log_start_moves_the_log_start(self, offsets: LogOffsets) -> None:
        offsets.cut_end(5)
        assert (offsets.log_start_offset, offsets.log_end_offset, offsets.recovery_point) == (5, 5, 5)

    def test_a_truncation_drops_the_file_position(self, offsets: LogOffsets) -> None:
        offsets.raise_high_watermark(OffsetMetadata(40, 20, 1234))
        offsets.cut_end(45)
        assert offsets.high_watermark_position.is_offset_only

    def test_a_restart_sets_log_end_and_log_start(self, offsets: LogOffsets) -> None:
        offsets.raise_high_watermark(OffsetMetadata(40, 20, 1234))
        offsets.restart_at(100, 90)
        assert (offsets.log_start_offset, offsets.log_end_offset) == (90, 100)
        assert offsets.recovery_point == 30, "nothing above it was flushed"
        assert offsets.high_watermark_position.is_offset_only

    def test_a_flush_moves_the_recovery_point(self, offsets: LogOffsets) -> None:
        offsets.set_recovery_point(45)
        assert offsets.recovery_point == 45


class TestLogStart:
    def test_it_moves_forward_up_to_the_high_watermark(self, offsets: LogOffsets) -> None:
        offsets.set_high_watermark(40)
        assert offsets.raise_start(40)
        assert offsets.log_start_offset == 40

    @pytest.mark.parametrize("offset", [9, 10])
    def test_it_does_not_move_back(self, offsets: LogOffsets, offset: int) -> None:
        assert not offsets.raise_start(offset)
        assert offsets.log_start_offset == 10

    def test_it_does_not_pass_the_high_watermark(self, offsets: LogOffsets) -> None:
        offsets.set_high_watermark(40)
        with pytest.raises(OffsetOutOfRange, match=r"to 41 of partition topic-0 .* high watermark 40"):
            offsets.raise_start(41)
        assert offsets.log_start_offset == 10

    def test_epochs_below_it_are_dropped_and_the_checkpoint_is_durable(self, parts: Parts, offsets: LogOffsets) -> None:
        offsets.set_high_watermark(40)
        offsets.raise_start(30)
        expected = [EpochEntry(2, 30), EpochEntry(5, 40)]
        assert parts.epochs.entries() == expected
        assert LeaderEpochs.load(parts.disk.crash("none"), DIRECTORY).entries() == expected

    def test_decided_transactions_below_it_are_dropped(self, parts: Parts, offsets: LogOffsets) -> None:
        offsets.set_high_watermark(40)
        parts.begin_transaction(15)
        parts.end_transaction(15, marker_offset=20)
        offsets.raise_start(21)
        assert offsets.first_unstable_offset is None
        assert parts.producers.map_end_offset == 21

    def test_a_failed_checkpoint_takes_the_log_offline(self, parts: Parts, offsets: LogOffsets) -> None:
        offsets.set_high_watermark(40)
        parts.disk.fail(kind="write", path="*leader-epoch-checkpoint*")
        with pytest.raises(StorageFault):
            offsets.raise_start(30)
        with pytest.raises(KafkaStorageError):
            offsets.raise_start(35)

    def test_an_offline_log_rejects_the_move(self, parts: Parts, offsets: LogOffsets) -> None:
        offsets.set_high_watermark(40)
        parts.health.close()
        with pytest.raises(KafkaStorageError):
            offsets.raise_start(30)
        assert offsets.log_start_offset == 10
