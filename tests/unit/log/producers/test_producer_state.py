"""The producers of a partition: applying, transactions, expiry, snapshots."""

from pathlib import Path

import pytest

from odradek.common.failures import Fault
from odradek.common.ids import TopicPartition
from odradek.log.errors import CorruptSnapshot
from odradek.log.offsets import AppendOrigin, CompletedTxn, OffsetMetadata
from odradek.log.producers.producer_append import ProducerAppend
from odradek.log.producers.producer_entry import NO_VERIFICATION, BatchMetadata, ProducerEntry, VerificationGuard
from odradek.log.producers.producer_state import LATE_TRANSACTION_BUFFER_MS, ProducerState
from odradek.log.producers.snapshot_format import decode_snapshot, encode_snapshot
from support.builders.segments import FILES, START_MS, data_batch, marker

TP = TopicPartition("t", 0)
DAY_MS = 24 * 60 * 60 * 1000


def state_in(directory: Path, **options: int) -> ProducerState:
    return ProducerState(FILES, TP, str(directory), **options)  # type: ignore[arg-type]


def send(
    state: ProducerState,
    offset: int,
    producer_id: int = 7,
    *,
    epoch: int = 0,
    sequence: int = 0,
    txn: bool = False,
    timestamp: int = START_MS,
    origin: AppendOrigin = AppendOrigin.CLIENT,
) -> None:
    batch = data_batch(
        offset,
        producer_id=producer_id,
        producer_epoch=epoch,
        base_sequence=sequence,
        is_transactional=txn,
        timestamp=timestamp,
    )
    append = state.prepare_update(producer_id, origin)
    append.append(batch, OffsetMetadata(offset, 0, offset * 10))
    state.update(append)
    state.update_map_end_offset(offset + 1)


def end(
    state: ProducerState, offset: int, producer_id: int = 7, *, commit: bool = True, epoch: int = 0
) -> CompletedTxn:
    append = state.prepare_update(producer_id, AppendOrigin.COORDINATOR)
    completed = append.append(marker(offset, producer_id, commit=commit, producer_epoch=epoch), transaction_version=1)
    assert completed is not None
    state.update(append)
    state.update_map_end_offset(offset + 1)
    return completed


def names(directory: Path) -> list[str]:
    return sorted(path.name for path in directory.iterdir())


class TestIdempotence:
    def test_the_last_five_batches_are_known(self, tmp_path: Path) -> None:
        state = state_in(tmp_path)
        for i in range(8):
            send(state, 100 + i, sequence=i, timestamp=START_MS + i)
        entry = state.last_entry(7)
        assert entry is not None
        assert [batch.last_sequence for batch in entry.batches] == [3, 4, 5, 6, 7]
        assert entry.find_duplicate(0, 2, 2) is None
        found = entry.find_duplicate(0, 3, 3)
        assert found is not None
        assert (found.first_offset, found.last_offset, found.timestamp) == (103, 103, START_MS + 3)
        assert entry.find_duplicate(1, 3, 3) is None
        assert (entry.first_sequence, entry.first_data_offset, entry.last_data_offset) == (3, 103, 107)

    def test_a_duplicate_has_exactly_the_same_sequences(self) -> None:
        entry = ProducerEntry(7, 0, batches=[BatchMetadata(1, 203, 3, START_MS)])
        assert entry.find_duplicate(0, 2**31 - 2, 1) == (1, 203, 3, START_MS)
        assert entry.find_duplicate(0, 0, 1) is None

    def test_a_new_epoch_forgets_the_old_batches(self, tmp_path: Path) -> None:
        state = state_in(tmp_path)
        send(state, 0, sequence=0)
        send(state, 1, epoch=1, sequence=0)
        entry = state.last_entry(7)
        assert entry is not None
        assert (entry.producer_epoch, len(entry.batches)) == (1, 1)

    def test_a_batch_without_a_producer_is_a_fault(self, tmp_path: Path) -> None:
        with pytest.raises(Fault, match="no producer's id"):
            state_in(tmp_path).update(ProducerAppend(TP, -1, None, AppendOrigin.CLIENT, None))

    def test_idle_producers_expire_but_not_in_a_transaction(self, tmp_path: Path) -> None:
        state = state_in(tmp_path, expiration_ms=DAY_MS)
        send(state, 0, 7)
        send(state, 1, 8, txn=True)
        state.maybe_create_verification(9, 0, 0, False, START_MS)
        state.remove_expired(START_MS + DAY_MS - 1)
        assert set(state.producers) == {7, 8}
        assert state.verification_entry(9) is not None
        state.remove_expired(START_MS + DAY_MS)
        assert set(state.producers) == {8}
        assert state.verification_entry(9) is None


class TestTransactions:
    def test_the_first_unstable_offset(self, tmp_path: Path) -> None:
        state = state_in(tmp_path)
        assert state.first_unstable_offset() is None
        send(state, 10, 7, txn=True)
        send(state, 11, 8, txn=True)
        assert state.first_unstable_offset() == OffsetMetadata(10, 0, 100)
        assert state.first_undecided_offset() == 10
        completed = end(state, 12, 7)
        assert state.last_stable_offset(completed) == 11
        state.complete_txn(completed)
        assert state.first_undecided_offset() == 11
        assert state.first_unstable_offset() == OffsetMetadata(10, 0, 100)  # its marker may still be lost
        state.on_high_watermark_updated(12)
        assert state.first_unstable_offset() == OffsetMetadata(10, 0, 100)
        state.on_high_watermark_updated(13)
        assert state.first_unstable_offset() == OffsetMetadata(11, 0, 110)
        completed = end(state, 14, 8, commit=False)
        assert state.last_stable_offset(completed) == 15
        state.complete_txn(completed)
        assert not state.is_empty
        state.on_high_watermark_updated(15)
        assert state.first_unstable_offset() is None

    def test_the_earliest_counts_whichever_ended_first(self, tmp_path: Path) -> None:
        state = state_in(tmp_path)
        for offset, producer_id in ((10, 7), (11, 8), (12, 9)):
            send(state, offset, producer_id, txn=True)
        state.complete_txn(end(state, 13, 9))
        state.complete_txn(end(state, 14, 7))
        assert state.first_unstable_offset() == OffsetMetadata(10, 0, 100)
        state.on_high_watermark_updated(14)
        assert state.first_unstable_offset() == OffsetMetadata(10, 0, 100)
        state.on_high_watermark_updated(15)
        assert state.first_unstable_offset() == OffsetMetadata(11, 0, 110)

    def test_ongoing_means_in_this_epoch(self, tmp_path: Path) -> None:
        state = state_in(tmp_path)
        send(state, 10, 7, txn=True)
        assert state.has_ongoing_transaction(7, 0)
        assert not state.has_ongoing_transaction(7, 1)
        assert not state.has_ongoing_transaction(8, 0)

    def test_what_was_never_started_cannot_be_completed(self, tmp_path: Path) -> None:
        with pytest.raises(Fault, match="was never started"):
            state_in(tmp_path).complete_txn(CompletedTxn(7, 1, 2, False))

    def test_late_transactions(self, tmp_path: Path) -> None:
        state = state_in(tmp_path, max_transaction_timeout_ms=1000)
        limit = START_MS + 1000 + LATE_TRANSACTION_BUFFER_MS
        assert not state.has_late_transaction(limit + 1)
        send(state, 10, 7, txn=True)
        assert not state.has_late_transaction(limit)
        assert state.has_late_transaction(limit + 1)
        send(state, 11, 7, sequence=1, txn=True, timestamp=START_MS + 1)
        assert not state.has_late_transaction(limit + 1)
        state.complete_txn(end(state, 12, 7))
        assert not state.has_late_transaction(limit * 2)

    def test_verification(self, tmp_path: Path) -> None:
        state = state_in(tmp_path)
        entry = state.maybe_create_verification(7, 5, 1, False, START_MS)
        assert state.maybe_create_verification(7, 3, 1, False, START_MS + 1) is entry
        assert (entry.lowest_sequence, entry.epoch, entry.timestamp) == (3, 1, START_MS)
        state.maybe_create_verification(7, 9, 1, False, START_MS)
        assert entry.lowest_sequence == 3
        state.maybe_create_verification(7, 9, 2, False, START_MS)
        assert (entry.lowest_sequence, entry.epoch) == (9, 2)
        state.maybe_create_verification(7, 0, 1, False, START_MS)
        assert (entry.lowest_sequence, entry.epoch) == (9, 2)
        assert state.is_verified(7, state.verification_guard(7))
        for guard in (NO_VERIFICATION, VerificationGuard(), state.verification_guard(8)):
            assert not state.is_verified(7, guard)
            assert not state.is_verified(8, guard)

    def test_a_guard_serves_one_transaction(self, tmp_path: Path) -> None:
        state = state_in(tmp_path)
        guard = state.maybe_create_verification(7, 0, 0, False, START_MS).guard
        decided = state.prepare_update(7, AppendOrigin.CLIENT)
        decided.append(data_batch(10, producer_id=7, producer_epoch=0, base_sequence=0, is_transactional=True))
        assert state.is_verified(7, guard)  # deciding changes nothing
        state.update(decided)
        assert not state.is_verified(7, guard)
        state.maybe_create_verification(7, 1, 0, False, START_MS)
        assert not state.is_verified(7, guard)


class TestSnapshots:
    def test_taken_once_an_offset(self, tmp_path: Path) -> None:
        state = state_in(tmp_path)
        assert state.take_snapshot() is None
        send(state, 9)
        path = state.take_snapshot()
        assert path == f"{tmp_path}/00000000000000000010.snapshot"
        assert state.take_snapshot() is None
        assert state.snapshot_file(10) == path
        assert (state.latest_snapshot_offset, state.oldest_snapshot_offset) == (10, 10)
        assert state_in(tmp_path).latest_snapshot_offset == 10

    def test_reloaded_with_open_transactions(self, tmp_path: Path) -> None:
        state = state_in(tmp_path)
        send(state, 0, 9, txn=True)
        send(state, 1, 7, sequence=0)
        send(state, 2, 8, txn=True)
        state.take_snapshot()
        again = state_in(tmp_path)
        again.truncate_and_reload(0, 3, START_MS)
        assert again.map_end_offset == 3
        assert again.first_unstable_offset() == OffsetMetadata(0)
        assert again.has_ongoing_transaction(8, 0)
        assert (
            encode_snapshot(again.producers[pid] for pid in (9, 7, 8))
            == Path(f"{tmp_path}/00000000000000000003.snapshot").read_bytes()
        )
        again.complete_txn(end(again, 3, 9))
        assert again.first_undecided_offset() == 2

    def test_expired_producers_are_not_loaded(self, tmp_path: Path) -> None:
        state = state_in(tmp_path)
        send(state, 0, 7)
        send(state, 1, 8, txn=True)
        state.take_snapshot()
        again = state_in(tmp_path)
        again.truncate_and_reload(0, 2, START_MS + DAY_MS)
        assert set(again.producers) == {8}

    def test_truncation_takes_the_latest_in_range(self, tmp_path: Path) -> None:
        state = state_in(tmp_path)
        for offset in range(5):
            send(state, offset, sequence=offset)
            state.take_snapshot()
        state.truncate_and_reload(1, 3, START_MS)
        assert names(tmp_path) == [f"{offset:020d}.snapshot" for offset in (2, 3)]
        assert state.map_end_offset == 3
        entry = state.last_entry(7)
        assert entry is not None and entry.last_sequence == 2

    def test_truncation_to_where_the_state_ends_keeps_it(self, tmp_path: Path) -> None:
        state = state_in(tmp_path)
        for offset in range(3):
            send(state, offset, sequence=offset)
            state.take_snapshot()
        state.truncate_and_reload(3, 3, START_MS)
        assert names(tmp_path) == []
        entry = state.last_entry(7)
        assert entry is not None and len(entry.batches) == 3
        assert state.take_snapshot() is None

    def test_a_damaged_one_gives_way_to_the_one_before(self, tmp_path: Path) -> None:
        state = state_in(tmp_path)
        send(state, 0, sequence=0)
        state.take_snapshot()
        send(state, 1, sequence=1)
        path = state.take_snapshot()
        assert path is not None
        Path(path).write_bytes(Path(path).read_bytes()[:-1])
        again = state_in(tmp_path)
        again.truncate_and_reload(0, 5, START_MS)
        assert again.map_end_offset == 1
        assert names(tmp_path) == ["00000000000000000001.snapshot"]

    def test_without_any_the_state_starts_at_the_log(self, tmp_path: Path) -> None:
        state = state_in(tmp_path)
        state.truncate_and_reload(5, 9, START_MS)
        assert (state.map_end_offset, state.is_empty) == (5, True)

    def test_full_truncation(self, tmp_path: Path) -> None:
        state = state_in(tmp_path)
        send(state, 0, txn=True)
        state.take_snapshot()
        state.truncate_fully_and_start_at(100)
        assert names(tmp_path) == []
        assert (state.map_end_offset, state.is_empty, state.first_unstable_offset()) == (100, True, None)
        assert state.take_snapshot() == f"{tmp_path}/00000000000000000100.snapshot"
        state.truncate_fully_and_reload_snapshots()
        assert state.map_end_offset == 0

    def test_the_log_start_moves_the_state_forward(self, tmp_path: Path) -> None:
        state = state_in(tmp_path)
        send(state, 0, txn=True)
        state.complete_txn(end(state, 1))
        state.on_log_start_offset_incremented(50)
        assert state.map_end_offset == 50
        assert state.first_unstable_offset() is None
        assert set(state.producers) == {7}  # known until it expires, KIP-360
        assert state.take_snapshot() is None

    @pytest.mark.parametrize(
        ("snapshots", "segments", "left"),
        [
            ([5, 10, 15], [0, 5, 10], [5, 10, 15]),  # the last one was written at a clean stop
            ([5, 10, 15, 17], [0, 5, 10], [5, 10, 17]),
            ([3, 5, 7, 10], [0, 5, 10], [5, 10]),
            ([3, 5, 7], [0, 5, 10], [5]),
            ([3, 7], [], [7]),
            ([], [0], []),
            ([10], [10], [10]),
        ],
    )
    def test_strays(self, tmp_path: Path, snapshots: list[int], segments: list[int], left: list[int]) -> None:
        for offset in snapshots:
            (tmp_path / f"{offset:020d}.snapshot").write_bytes(encode_snapshot([]))
        state = state_in(tmp_path)
        state.remove_stray_snapshots(segments)
        assert state.snapshots.offsets == left
        assert names(tmp_path) == [f"{offset:020d}.snapshot" for offset in left]

    def test_going_with_their_segments(self, tmp_path: Path) -> None:
        for offset in (5, 10, 15):
            (tmp_path / f"{offset:020d}.snapshot").write_bytes(encode_snapshot([]))
        state = state_in(tmp_path)
        marked = state.mark_snapshot_for_deletion(5)
        assert marked == f"{tmp_path}/00000000000000000005.snapshot.deleted"
        assert state.mark_snapshot_for_deletion(5) is None
        (tmp_path / "00000000000000000010.snapshot").unlink()
        assert state.mark_snapshot_for_deletion(10) is None
        state.delete_snapshots_before(15)
        assert state.snapshots.offsets == [15]
        assert state_in(tmp_path).snapshots.offsets == [15]

    def test_a_renamed_directory(self, tmp_path: Path) -> None:
        (tmp_path / "a").mkdir()
        state = state_in(tmp_path / "a")
        send(state, 0)
        (tmp_path / "a").rename(tmp_path / "b")
        state.update_directory(str(tmp_path / "b"))
        state.take_snapshot()
        assert names(tmp_path / "b") == ["00000000000000000001.snapshot"]


class TestSnapshotFormat:
    def test_every_cut_and_every_flipped_bit_is_found(self) -> None:
        entries = [
            ProducerEntry(7, 3, 2, START_MS, 55, [BatchMetadata(9, 60, 4, START_MS)]),
            ProducerEntry(8, 0, -1, START_MS, None, []),
        ]
        data = encode_snapshot(entries)
        assert len(data) == 10 + 2 * 46
        decoded = decode_snapshot(data, "s")
        assert [repr(entry) for entry in decoded] == [repr(entry) for entry in entries]
        for end_at in range(len(data)):
            with pytest.raises(CorruptSnapshot):
                decode_snapshot(data[:end_at], "s")
        for bit in range(8 * len(data)):
            damaged = bytearray(data)
            damaged[bit // 8] ^= 1 << bit % 8
            with pytest.raises(CorruptSnapshot):
                decode_snapshot(bytes(damaged), "s")

    def test_what_is_wrong_is_told(self) -> None:
        with pytest.raises(CorruptSnapshot, match="s:0: version 2 is unknown"):
            decode_snapshot(b"\0\2" + bytes(8), "s")
        with pytest.raises(CorruptSnapshot, match="s:2: stored CRC 0x00000000"):
            decode_snapshot(b"\0\1" + bytes(8), "s")
