"""Rolling the active segment: where the new one begins, and the snapshot and flush that belong to it."""

import pytest

from odradek.common.ids import TopicPartition
from odradek.log.errors import KafkaStorageError, StorageFault
from odradek.log.leader_epochs import LeaderEpochs
from odradek.log.log_config import CurrentConfig, LogConfig
from odradek.log.log_flusher import LogFlusher
from odradek.log.log_health import LogHealth
from odradek.log.log_offsets import LogOffsets
from odradek.log.log_roller import LogRoller
from odradek.log.producers.producer_state import ProducerState
from odradek.log.segment_list import SegmentList
from odradek.log.segments.segment import Segment
from odradek.sim.world.disk import SimulatedDisk
from support.builders.logs import NOON_MS, HandClock
from support.builders.segments import append, data_batch

DIRECTORY = "/data/topic-0"
TOPIC_PARTITION = TopicPartition("topic", 0)


class Parts:
    """A roller of a log with one segment that holds the offsets 0 to 2, and what the roller changes."""

    def __init__(self, disk: SimulatedDisk) -> None:
        clock = HandClock()
        segment = Segment(disk, DIRECTORY, 0, now_ms=NOON_MS, create=True)
        append(segment, data_batch(0, 3))
        self.disk = disk
        self.health = LogHealth(TOPIC_PARTITION, DIRECTORY)
        self.producers = ProducerState(disk, TOPIC_PARTITION, DIRECTORY)
        config = CurrentConfig(LogConfig())
        self.segments = SegmentList([segment], disk, clock, self.health, config, self.producers.snapshots)
        epochs = LeaderEpochs(disk, DIRECTORY)
        self.offsets = LogOffsets(0, 3, 0, epochs, self.producers, self.health)
        self.flusher = LogFlusher(disk, clock, self.segments, self.offsets, epochs, self.producers, self.health)
        self.roller = LogRoller(self.segments, self.offsets, self.producers, self.flusher, self.health)


@pytest.fixture
def parts() -> Parts:
    disk = SimulatedDisk()
    disk.make_dirs(DIRECTORY)
    disk.settle()
    return Parts(disk)


class TestRoll:
    def test_the_new_segment_begins_at_the_log_end(self, parts: Parts) -> None:
        segment = parts.roller.roll()
        assert (segment.base_offset, segment.size) == (3, 0)
        assert parts.segments.base_offsets == [0, 3]
        assert parts.segments.active is segment

    @pytest.mark.parametrize(("expected_next_offset", "base_offset"), [(2, 3), (3, 3), (9, 9)])
    def test_the_later_of_log_end_and_expected_offset_is_used(
        self, parts: Parts, expected_next_offset: int, base_offset: int
    ) -> None:
        assert parts.roller.roll(expected_next_offset).base_offset == base_offset
        assert parts.producers.map_end_offset == base_offset

    def test_the_log_end_stays(self, parts: Parts) -> None:
        parts.roller.roll(9)
        assert parts.offsets.log_end_offset == 3

    def test_a_snapshot_is_taken_at_the_new_base_offset(self, parts: Parts) -> None:
        parts.roller.roll(9)
        assert parts.producers.snapshots.offsets == [9]
        assert parts.disk.exists(f"{DIRECTORY}/{9:020d}.snapshot")

    def test_the_next_flush_makes_the_snapshot_durable(self, parts: Parts) -> None:
        parts.roller.roll()
        path = f"{DIRECTORY}/{3:020d}.snapshot"
        assert not parts.disk.crash("none").exists(path)
        parts.flusher.flush()
        assert parts.disk.crash("none").read_file(path) == parts.disk.read_file(path) != b""

    def test_a_flush_of_the_sealed_segment_is_requested(self, parts: Parts) -> None:
        assert parts.flusher.requested_up_to is None
        parts.roller.roll()
        assert parts.flusher.requested_up_to == 3


class TestFaults:
    def test_an_offline_log_rejects_a_roll(self, parts: Parts) -> None:
        parts.health.close()
        journal = list(parts.disk.journal)
        with pytest.raises(KafkaStorageError):
            parts.roller.roll()
        assert parts.disk.journal == journal
        assert (parts.segments.base_offsets, parts.flusher.requested_up_to) == ([0], None)

    @pytest.mark.parametrize("path", [f"*/{3:020d}.log", f"*/{3:020d}.snapshot*"])
    def test_a_failed_creation_takes_the_log_offline(self, parts: Parts, path: str) -> None:
        parts.disk.fail(kind="create", path=path)
        with pytest.raises(StorageFault) as raised:
            parts.roller.roll()
        assert parts.health.fault is raised.value
        assert parts.flusher.requested_up_to is None
        with pytest.raises(KafkaStorageError):
            parts.roller.roll()
