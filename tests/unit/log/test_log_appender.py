"""Appending as leader and as follower; producers, transactions and rolling."""

from pathlib import Path

import pytest

from odradek.common.files import OsFileSystem
from odradek.log.errors import FencedLeaderEpoch, InvalidProducerEpoch, InvalidTxnState, OutOfOrderSequence
from odradek.log.log_appender import UnexpectedAppendOffset
from odradek.log.offsets import AppendOrigin
from odradek.log.recovery.log_loader import LogOptions
from odradek.log.unified_log import UnifiedLog
from odradek.log.values import Isolation
from odradek.records.builder import end_transaction_marker
from odradek.records.errors import CorruptRecord, InvalidRecord
from odradek.sim.world.disk import SimulatedDisk
from support.builders.logs import (
    NOON_MS,
    HandClock,
    Rig,
    batch,
    committed_records,
    idempotent,
    stored_batches,
    stored_records,
    stored_values,
)


@pytest.fixture(params=["real", "simulated"])
def rig(request: pytest.FixtureRequest, tmp_path: Path) -> Rig:
    if request.param == "simulated":
        return Rig(SimulatedDisk())
    return Rig(OsFileSystem(), HandClock(), f"{tmp_path}/topic-0")


def transactional(log: UnifiedLog, producer_id: int, sequence: int, *values: str, epoch: int = 0) -> int:
    data = idempotent(producer_id, sequence, *values, epoch=epoch, is_transactional=True)
    return log.appender.append_as_leader(data, 0).first_offset


def end(log: UnifiedLog, producer_id: int, *, commit: bool, epoch: int = 0, coordinator_epoch: int = 0) -> int:
    marker = end_transaction_marker(
        commit=commit,
        timestamp=NOON_MS,
        producer_id=producer_id,
        producer_epoch=epoch,
        coordinator_epoch=coordinator_epoch,
    )
    return log.appender.append_as_leader(marker, 0, AppendOrigin.COORDINATOR, transaction_version=0).first_offset


class TestLeader:
    def test_offsets_are_handed_out_in_order(self, rig: Rig) -> None:
        log = rig.load()
        infos = [log.appender.append_as_leader(batch(*"ab"), 0) for _ in range(3)]
        assert [(info.first_offset, info.last_offset) for info in infos] == [(0, 1), (2, 3), (4, 5)]
        assert log.offsets.log_end_offset == 6
        assert stored_values(log) == [b"a", b"b"] * 3

    def test_the_first_batch_of_an_epoch_is_remembered(self, rig: Rig) -> None:
        log = rig.load()
        for epoch in (0, 0, 3, 3, 4):
            log.appender.append_as_leader(batch("a"), epoch)
        assert [tuple(entry) for entry in log.epochs.entries()] == [(0, 0), (3, 2), (4, 4)]
        assert log.epochs.latest_epoch == 4
        assert log.reader.end_offset_for_epoch(0) == (0, 2)
        assert log.reader.end_offset_for_epoch(2) == (0, 2)
        assert log.reader.end_offset_for_epoch(4) == (4, 5)
        assert log.reader.end_offset_for_epoch(5) is None

    def test_a_full_segment_is_followed_by_a_new_one(self, rig: Rig) -> None:
        size = len(batch("a"))
        log = rig.load(segment_bytes=2 * size)
        for _ in range(5):
            log.appender.append_as_leader(batch("a"), 0)
        assert log.segments.base_offsets == [0, 2, 4]
        assert log.flusher.requested_up_to == 4
        assert stored_values(log) == [b"a"] * 5

    def test_an_old_segment_is_followed_by_a_new_one(self, rig: Rig) -> None:
        """By the time of the records: from the first batch of the segment to the incoming one."""
        log = rig.load(segment_ms=1000, message_timestamp_after_max_ms=10_000)
        log.appender.append_as_leader(batch("a", timestamp=NOON_MS), 0)
        log.appender.append_as_leader(batch("a", timestamp=NOON_MS + 1000), 0)
        assert log.segments.base_offsets == [0]
        log.appender.append_as_leader(batch("a", timestamp=NOON_MS + 1001), 0)
        assert log.segments.base_offsets == [0, 2]

    def test_a_full_index_makes_the_log_roll(self, rig: Rig) -> None:
        log = rig.load(index_interval_bytes=0, segment_index_bytes=24)
        for _ in range(8):
            log.appender.append_as_leader(batch("a"), 0)
        assert len(log.segments) > 2
        assert stored_values(log) == [b"a"] * 8


class TestIdempotence:
    def test_a_repeated_batch_is_answered_as_the_first_time(self, rig: Rig) -> None:
        log = rig.load()
        for sequence in range(5):
            log.appender.append_as_leader(idempotent(7, sequence * 2, "a", "b"), 0)
        for sequence in range(5):
            info = log.appender.append_as_leader(idempotent(7, sequence * 2, "a", "b"), 0)
            assert info.is_duplicate
            assert (info.first_offset, info.last_offset) == (sequence * 2, sequence * 2 + 1)
        assert log.offsets.log_end_offset == 10

    def test_only_five_batches_are_remembered(self, rig: Rig) -> None:
        log = rig.load()
        for sequence in range(6):
            log.appender.append_as_leader(idempotent(7, sequence, "a"), 0)
        with pytest.raises(OutOfOrderSequence):
            log.appender.append_as_leader(idempotent(7, 0, "a"), 0)

    def test_a_gap_in_the_sequence_is_refused(self, rig: Rig) -> None:
        log = rig.load()
        log.appender.append_as_leader(idempotent(7, 0, "a"), 0)
        with pytest.raises(OutOfOrderSequence):
            log.appender.append_as_leader(idempotent(7, 2, "a"), 0)
        assert log.offsets.log_end_offset == 1

    def test_an_old_epoch_is_fenced(self, rig: Rig) -> None:
        log = rig.load()
        log.appender.append_as_leader(idempotent(7, 0, "a", epoch=2), 0)
        with pytest.raises(InvalidProducerEpoch):
            log.appender.append_as_leader(idempotent(7, 1, "a", epoch=1), 0)

    @pytest.mark.parametrize("clean", [True, False])
    def test_duplicates_are_known_after_a_restart(self, rig: Rig, clean: bool) -> None:
        log = rig.load(segment_bytes=200)
        for sequence in range(8):
            log.appender.append_as_leader(idempotent(7, sequence, "a" * 40), 0)
        log.flusher.flush(include_active=True)
        log.close()
        log = rig.load(clean_shutdown=clean)
        # Of the five batches only the last one is in a snapshot; see test_loader_recall for the others.
        assert log.appender.append_as_leader(idempotent(7, 7, "a" * 40), 0).is_duplicate
        assert log.appender.append_as_leader(idempotent(7, 8, "a" * 40), 0).first_offset == 8

    def test_a_quiet_producer_is_forgotten(self, rig: Rig) -> None:
        log = rig.load(options=LogOptions(producer_expiration_ms=1000))
        log.appender.append_as_leader(idempotent(7, 3, "a"), 0)
        rig.clock.now_ms += 999
        log.producers.remove_expired(log.clock.wall_ms())
        assert 7 in log.producers.producers
        rig.clock.now_ms += 1
        log.producers.remove_expired(log.clock.wall_ms())
        assert 7 not in log.producers.producers


class TestTransactions:
    def test_an_open_transaction_holds_back_the_last_stable_offset(self, rig: Rig) -> None:
        log = rig.load()
        log.appender.append_as_leader(batch("plain"), 0)
        assert transactional(log, 7, 0, "a", "b") == 1
        log.appender.append_as_leader(batch("later"), 0)
        log.offsets.raise_high_watermark(log.offsets.log_end_offset)
        assert (log.offsets.first_unstable_offset, log.offsets.last_stable_offset, log.offsets.high_watermark) == (
            1,
            1,
            4,
        )
        assert stored_values(log, Isolation.TXN_COMMITTED) == [b"plain"]
        end(log, 7, commit=True)
        assert log.offsets.last_stable_offset == 1, "until the marker is replicated"
        log.offsets.raise_high_watermark(log.offsets.log_end_offset)
        assert (log.offsets.first_unstable_offset, log.offsets.last_stable_offset) == (None, 5)

    def test_aborted_records_are_told_to_the_reader(self, rig: Rig) -> None:
        log = rig.load(segment_bytes=400)
        transactional(log, 7, 0, "a", "b")
        transactional(log, 8, 0, "c")
        log.appender.append_as_leader(batch("d"), 0)
        end(log, 7, commit=False)
        transactional(log, 7, 2, "e")
        end(log, 8, commit=True)
        end(log, 7, commit=True)
        transactional(log, 8, 1, "f")
        end(log, 8, commit=False)
        log.offsets.raise_high_watermark(log.offsets.log_end_offset)
        assert [record.value for record in committed_records(log)] == [b"c", b"d", b"e"]
        found = log.reader.read(0, 1 << 20, Isolation.TXN_COMMITTED)
        assert found.aborted is not None
        assert [(txn.producer_id, txn.first_offset) for txn in found.aborted] == [(7, 0)]
        assert log.reader.read(0, 1 << 20, Isolation.HIGH_WATERMARK).aborted is None

    @pytest.mark.parametrize("clean", [True, False])
    def test_transactions_survive_a_restart(self, rig: Rig, clean: bool) -> None:
        log = rig.load(segment_bytes=300)
        transactional(log, 7, 0, "aborted")
        end(log, 7, commit=False)
        log.appender.append_as_leader(batch("plain"), 0)
        transactional(log, 8, 0, "open")
        log.flusher.flush(include_active=True)
        log.close()
        log = rig.load(clean_shutdown=clean)
        log.offsets.set_high_watermark(log.offsets.log_end_offset)
        assert log.offsets.last_stable_offset == 3
        assert [record.value for record in committed_records(log)] == [b"plain"]
        end(log, 8, commit=True)
        log.offsets.set_high_watermark(log.offsets.log_end_offset)
        assert [record.value for record in committed_records(log)] == [b"plain", b"open"]

    def test_a_first_batch_must_be_verified(self, rig: Rig) -> None:
        log = rig.load(options=LogOptions())
        data = idempotent(7, 0, "a", is_transactional=True)
        with pytest.raises(InvalidTxnState):
            log.appender.append_as_leader(data, 0)
        guard = log.appender.start_verification(7, 0, 0, False)
        with pytest.raises(InvalidTxnState):
            log.appender.append_as_leader(data, 0, guard=log.appender.start_verification(8, 0, 0, False))
        log.appender.append_as_leader(data, 0, guard=guard)
        log.appender.append_as_leader(idempotent(7, 1, "b", is_transactional=True), 0)
        with pytest.raises(InvalidProducerEpoch):
            log.appender.start_verification(7, 0, -1, False)

    def test_an_old_epoch_cannot_begin_a_transaction(self, rig: Rig) -> None:
        log = rig.load()
        transactional(log, 7, 0, "a", epoch=3)
        end(log, 7, commit=True, epoch=3)
        with pytest.raises(InvalidProducerEpoch):
            transactional(log, 7, 0, "a", epoch=2)


class TestFollower:
    def copy(self, leader: UnifiedLog) -> bytes:
        return b"".join(bytes(stored.buffer) for stored in stored_batches(leader))

    def test_a_copy_is_equal_byte_by_byte(self, rig: Rig) -> None:
        leader = Rig(SimulatedDisk()).load(segment_bytes=300)
        for epoch, values in ((0, "abc"), (0, "d"), (2, "ef"), (5, "g")):
            leader.appender.append_as_leader(idempotent(7, leader.offsets.log_end_offset, *values), epoch)
        follower = rig.load(segment_bytes=300)
        info = follower.appender.append_as_follower(self.copy(leader), 5)
        assert (info.first_offset, info.last_offset, info.last_leader_epoch) == (0, 6, 5)
        assert self.copy(follower) == self.copy(leader)
        assert follower.epochs.entries() == leader.epochs.entries()
        assert repr(follower.producers.producers) == repr(leader.producers.producers)

    def test_a_cut_off_batch_at_the_end_is_left_out(self, rig: Rig) -> None:
        first, second = batch("a", leader_epoch=0), batch("b", base_offset=1, leader_epoch=0)
        log = rig.load()
        log.appender.append_as_follower(first + second[:-1], 0)
        assert log.offsets.log_end_offset == 1
        log.appender.append_as_follower(second, 0)
        assert stored_values(log) == [b"a", b"b"]

    def test_offsets_must_ascend(self, rig: Rig) -> None:
        log = rig.load()
        with pytest.raises(UnexpectedAppendOffset):
            log.appender.append_as_follower(
                batch("a", base_offset=4, leader_epoch=0) + batch("b", base_offset=4, leader_epoch=0), 0
            )
        log.appender.append_as_follower(batch("a", base_offset=4, leader_epoch=0), 0)
        with pytest.raises(UnexpectedAppendOffset) as refused:
            log.appender.append_as_follower(batch("b", "c", base_offset=3, leader_epoch=0), 0)
        assert (refused.value.first_offset, refused.value.last_offset) == (3, 4)
        log.appender.append_as_follower(batch("b", base_offset=9, leader_epoch=0), 0)
        assert [record.offset for record in stored_records(log)] == [4, 9]

    def test_batches_from_the_future_are_left_out(self, rig: Rig) -> None:
        """What a deposed leader sends of a newer leader's epoch is not taken until the follower knows of it."""
        log = rig.load()
        data = (
            batch("a", leader_epoch=1)
            + batch("b", base_offset=1, leader_epoch=3)
            + batch("c", base_offset=2, leader_epoch=1)
        )
        assert log.appender.append_as_follower(data, 2).last_offset == 0
        assert stored_values(log) == [b"a"]

    def test_a_damaged_batch_is_refused(self, rig: Rig) -> None:
        log = rig.load()
        damaged = bytearray(batch("abcdef", leader_epoch=0))
        damaged[-3] ^= 1
        with pytest.raises(CorruptRecord):
            log.appender.append_as_follower(damaged, 0)
        assert log.offsets.log_end_offset == 0

    def test_the_raft_leaders_batches_carry_its_epoch(self, rig: Rig) -> None:
        log = rig.load()
        two = batch("a", leader_epoch=4) + batch("b", base_offset=1, leader_epoch=4)
        info = log.appender.append_from_raft(two, 4)
        assert (info.first_offset, info.last_offset) == (0, 1)
        with pytest.raises(InvalidRecord, match="expected 5"):
            log.appender.append_from_raft(batch("c", base_offset=2, leader_epoch=4), 5)


class TestLeaderEpochs:
    def test_a_leader_of_an_old_epoch_is_refused(self, rig: Rig) -> None:
        log = rig.load()
        log.appender.append_as_leader(batch("a"), 5)
        with pytest.raises(FencedLeaderEpoch, match="leader epoch 3, after 5"):
            log.appender.append_as_leader(batch("b"), 3)
        log.appender.append_as_leader(batch("c"), 5)
        assert stored_values(log) == [b"a", b"c"]

    def test_a_follower_takes_no_epoch_that_falls(self, rig: Rig) -> None:
        log = rig.load()
        data = batch("a", base_offset=0, leader_epoch=5) + batch("b", base_offset=1, leader_epoch=3)
        with pytest.raises(FencedLeaderEpoch):
            log.appender.append_as_follower(data, 5)
        assert log.offsets.log_end_offset == 0
