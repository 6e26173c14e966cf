"""State of the producers of a partition: sequences (idempotence), transactions, and how both survive a restart.

Decide and apply are apart: `prepare_update` gives a `ProducerAppend` that checks a producer's batches and changes
nothing; once they are in the log, `update` applies it. A marker's `CompletedTxn` is entered into the transaction index
with `last_stable_offset`, and only then `complete_txn` is called; several of one append in the order of their markers.

A transaction passes through two maps, both by its first offset. `_ongoing`: data written, no marker. `_unreplicated`:
marker written, but the high watermark has not passed it, so it could still be lost. The first offset of both together
is the first unstable offset, which bounds what `read_committed` may see.

State is in memory and reaches to `map_end_offset`. A snapshot of it is taken with every roll and at a clean stop; after
a restart the latest one in range is loaded and the log behind it replayed. A producer that was idle for
`producer.id.expiration.ms`, with no open transaction, is forgotten.
"""

from collections.abc import Iterable, Mapping

from odradek.common.failures import check, fail
from odradek.common.ids import TopicPartition
from odradek.common.ports import FileSystem
from odradek.log.errors import CorruptSnapshot
from odradek.log.offsets import AppendOrigin, CompletedTxn, OffsetMetadata
from odradek.log.producers.producer_append import ProducerAppend
from odradek.log.producers.producer_entry import (
    BATCHES_TO_RETAIN,
    NO_VERIFICATION,
    BatchMetadata,
    ProducerEntry,
    VerificationEntry,
    VerificationGuard,
)
from odradek.log.producers.snapshot_files import ProducerSnapshots

#: How long after its greatest possible time-out a transaction may still be on its way to being ended.
LATE_TRANSACTION_BUFFER_MS = 5 * 60 * 1000


class OpenTxn:
    """A transaction with data in this partition; `last_offset` is its marker's, once there is one."""

    __slots__ = ("first_offset", "last_offset", "producer_id")

    def __init__(self, producer_id: int, first_offset: OffsetMetadata) -> None:
        self.producer_id = producer_id
        self.first_offset = first_offset
        self.last_offset: int | None = None


class ProducerState:
    def __init__(
        self,
        files: FileSystem,
        topic_partition: TopicPartition,
        directory: str,
        *,
        expiration_ms: int = 24 * 60 * 60 * 1000,
        max_transaction_timeout_ms: int = 15 * 60 * 1000,
        verification_enabled: bool = True,
        is_new: bool = False,
    ) -> None:
        """Looks which snapshots there are, unless the directory is new, and reads none."""
        self.topic_partition = topic_partition
        self.expiration_ms = expiration_ms
        self.max_transaction_timeout_ms = max_transaction_timeout_ms
        self.verification_enabled = verification_enabled
        self.map_end_offset = 0
        #: No producer has written from this offset up to `map_end_offset`; None if one has.
        self.idle_since: int | None = 0
        self.snapshots = ProducerSnapshots(files, directory, is_new=is_new)
        self._snapshot_offset = 0
        self._producers: dict[int, ProducerEntry] = {}
        self._verifications: dict[int, VerificationEntry] = {}
        # Both in the order in which offsets grow: `_ongoing` by first offset, `_unreplicated` by last offset.
        self._ongoing: dict[int, OpenTxn] = {}
        self._unreplicated: dict[int, OpenTxn] = {}
        self._oldest_txn_timestamp = -1

    # Producers

    @property
    def producers(self) -> Mapping[int, ProducerEntry]:
        return self._producers

    @property
    def is_empty(self) -> bool:
        return not self._producers and not self._unreplicated

    def last_entry(self, producer_id: int) -> ProducerEntry | None:
        return self._producers.get(producer_id)

    def prepare_update(self, producer_id: int, origin: AppendOrigin) -> ProducerAppend:
        """Decide: hand the batches to `append` of what is returned; nothing changes."""
        return ProducerAppend(
            self.topic_partition,
            producer_id,
            self._producers.get(producer_id),
            origin,
            self._verifications.get(producer_id) if self._verifications else None,
        )

    def update(self, append: ProducerAppend) -> None:
        """Apply what was decided, once the batches are in the log."""
        producer_id = append.producer_id
        if producer_id < 0:
            fail(f"{producer_id} is no producer's id")
        self.idle_since = None
        entry = self._producers.get(producer_id)
        if entry is None:
            entry = self._producers[producer_id] = ProducerEntry(producer_id)
        batches = entry.batches
        if entry.producer_epoch != append.producer_epoch:
            entry.producer_epoch = append.producer_epoch
            batches.clear()
        batches += append.batches
        if len(batches) > BATCHES_TO_RETAIN:
            del batches[:-BATCHES_TO_RETAIN]
        entry.coordinator_epoch = append.coordinator_epoch
        entry.current_txn_first_offset = append.current_txn_first_offset
        entry.last_timestamp = append.last_timestamp
        if append.started is not None:
            for first_offset in append.started:
                self._add_ongoing(first_offset.message_offset, OpenTxn(producer_id, first_offset))
        if append.clears_verification:
            self._verifications.pop(producer_id, None)
        if self._ongoing:
            self._note_oldest_txn()

    def update_map_end_offset(self, offset: int) -> None:
        self.map_end_offset = offset

    def remove_expired(self, now_ms: int) -> None:
        """Forget idle producers, and verifications that nobody finished."""
        expired = [entry.producer_id for entry in self._producers.values() if self._is_expired(entry, now_ms)]
        for producer_id in expired:
            del self._producers[producer_id]
        limit_ms = now_ms - self.expiration_ms
        lingering = [producer_id for producer_id, entry in self._verifications.items() if entry.timestamp <= limit_ms]
        for producer_id in lingering:
            del self._verifications[producer_id]

    # Verification of transactions with their coordinator, KIP-890

    def maybe_create_verification(
        self, producer_id: int, sequence: int, epoch: int, supports_epoch_bump: bool, now_ms: int
    ) -> VerificationEntry:
        entry = self._verifications.get(producer_id)
        if entry is None:
            entry = self._verifications[producer_id] = VerificationEntry(now_ms, sequence, epoch, supports_epoch_bump)
        entry.note(sequence, epoch)
        return entry

    def verification_entry(self, producer_id: int) -> VerificationEntry | None:
        return self._verifications.get(producer_id)

    def verification_guard(self, producer_id: int) -> VerificationGuard:
        entry = self._verifications.get(producer_id)
        return NO_VERIFICATION if entry is None else entry.guard

    def is_verified(self, producer_id: int, guard: VerificationGuard) -> bool:
        entry = self._verifications.get(producer_id)
        return entry is not None and entry.verify(guard)

    # Transactions

    def has_ongoing_transaction(self, producer_id: int, producer_epoch: int) -> bool:
        entry = self._producers.get(producer_id)
        return (
            entry is not None and entry.current_txn_first_offset is not None and entry.producer_epoch == producer_epoch
        )

    def first_unstable_offset(self) -> OffsetMetadata | None:
        """Start of the earliest transaction that is open, or whose marker is not yet below the high watermark."""
        first = min(self._unreplicated) if self._unreplicated else None
        ongoing = next(iter(self._ongoing)) if self._ongoing else None
        if first is not None and (ongoing is None or first <= ongoing):
            return self._unreplicated[first].first_offset
        return None if ongoing is None else self._ongoing[ongoing].first_offset

    def first_undecided_offset(self) -> int | None:
        return next(iter(self._ongoing), None)

    def last_stable_offset(self, completed: CompletedTxn) -> int:
        """The last stable offset right behind the marker of `completed`: for the transaction index.

        One append may bring many transactions, and all of them are entered before the first is completed. Those that
        begin behind the marker do not count: the last stable offset is never beyond the offset after the marker."""
        for first_offset, txn in self._ongoing.items():
            if first_offset > completed.last_offset:
                break
            if txn.producer_id != completed.producer_id:
                return first_offset
        return completed.last_offset + 1

    def complete_txn(self, completed: CompletedTxn) -> None:
        """Its marker is written, and the transaction index has it if it was aborted."""
        txn = self._ongoing.pop(completed.first_offset, None)
        check(txn is not None, f"{completed} of {self.topic_partition} was never started")
        if txn is not None:
            txn.last_offset = completed.last_offset
            self._unreplicated[completed.first_offset] = txn
        self._note_oldest_txn()

    def on_high_watermark_updated(self, high_watermark: int) -> None:
        if self._unreplicated:
            self._forget_unreplicated(high_watermark)

    def on_log_start_offset_incremented(self, log_start_offset: int) -> None:
        self._forget_unreplicated(log_start_offset)
        self.map_end_offset = max(self.map_end_offset, log_start_offset)
        latest = self.snapshots.latest
        self._snapshot_offset = log_start_offset if latest is None else latest

    def has_late_transaction(self, now_ms: int) -> bool:
        """Return whether the oldest open transaction should have been ended by its coordinator long ago."""
        oldest = self._oldest_txn_timestamp
        return oldest > 0 and now_ms - oldest > self.max_transaction_timeout_ms + LATE_TRANSACTION_BUFFER_MS

    # Snapshots

    def take_snapshot(self, *, sync: bool = True) -> str | None:
        """At `map_end_offset`, unless there is one; its path. Without `sync` the caller syncs it later."""
        if self.map_end_offset <= self._snapshot_offset:
            return None
        path = self.snapshots.write(self.map_end_offset, self._producers.values(), sync=sync)
        self._snapshot_offset = self.map_end_offset
        return path

    @property
    def latest_snapshot_offset(self) -> int | None:
        return self.snapshots.latest

    @property
    def oldest_snapshot_offset(self) -> int | None:
        return self.snapshots.oldest

    def snapshot_file(self, offset: int) -> str | None:
        return self.snapshots.path(offset) if offset in self.snapshots.offsets else None

    def remove_stray_snapshots(self, segment_base_offsets: Iterable[int]) -> None:
        """Drop the snapshots of no segment, except a last one beyond all segments (written at a clean stop)."""
        self.snapshots.remove_stray(segment_base_offsets)

    def delete_snapshots_before(self, offset: int) -> None:
        for old in [old for old in self.snapshots.offsets if old < offset]:
            self.snapshots.delete(old)

    def mark_snapshot_for_deletion(self, offset: int) -> str | None:
        """Rename the snapshot at `offset` to `.deleted` and forget it; its new path, or None if there is none."""
        return self.snapshots.mark_for_deletion(offset)

    def update_directory(self, directory: str) -> None:
        self.snapshots.update_directory(directory)

    # Truncation and loading

    def truncate_and_reload(self, log_start_offset: int, log_end_offset: int, now_ms: int) -> None:
        """Drop snapshots out of range; unless the state already ends at `log_end_offset`, reload from the latest.

        Snapshots at the log start or before go, but what came from them stays in memory until the next restart. That
        transactions whose marker is not replicated are forgotten is safe only below the high watermark."""
        self.snapshots.delete_outside(log_start_offset + 1, log_end_offset)
        if log_end_offset == self.map_end_offset:
            self.on_log_start_offset_incremented(log_start_offset)
            return
        self._clear()
        self._load_latest_snapshot(log_start_offset, now_ms)

    def truncate_fully_and_start_at(self, offset: int) -> None:
        self._clear()
        for old in list(self.snapshots.offsets):
            self.snapshots.delete(old)
        self._snapshot_offset = 0
        self.map_end_offset = self.idle_since = offset

    def truncate_fully_and_reload_snapshots(self) -> None:
        self.truncate_fully_and_start_at(0)
        self.snapshots.reload()

    def load_entry(self, entry: ProducerEntry) -> None:
        """Add an entry read from a snapshot."""
        self._producers[entry.producer_id] = entry
        first = entry.current_txn_first_offset
        if first is not None:
            self._add_ongoing(first, OpenTxn(entry.producer_id, OffsetMetadata(first)))

    def recall(self, producer_id: int, batches: list[BatchMetadata]) -> None:
        """Batches of a producer's epoch, the last of which is the one that its snapshot has."""
        entry = self._producers[producer_id]
        last = entry.batches[-1:]
        if last and batches and batches[-1][:3] == last[0][:3]:
            entry.batches = [*batches[-BATCHES_TO_RETAIN:-1], *last]

    def _add_ongoing(self, first_offset: int, txn: OpenTxn) -> None:
        """Producers are updated one by one, so a transaction may come after one that began later; seldom, and few."""
        in_order = not self._ongoing or first_offset > next(reversed(self._ongoing))
        self._ongoing[first_offset] = txn
        if not in_order:
            self._ongoing = dict(sorted(self._ongoing.items()))

    def _load_latest_snapshot(self, log_start_offset: int, now_ms: int) -> None:
        while (offset := self.snapshots.latest) is not None:
            try:
                entries = self.snapshots.read(offset)
            except CorruptSnapshot:
                self.snapshots.delete(offset)  # the log makes up for it, from the one before on
                continue
            live = [entry for entry in entries if not self._is_expired(entry, now_ms)]
            for entry in sorted(live, key=_txn_order):
                self.load_entry(entry)
            self._snapshot_offset = self.map_end_offset = self.idle_since = offset
            self._note_oldest_txn()
            return
        self._snapshot_offset = self.map_end_offset = self.idle_since = log_start_offset

    def _clear(self) -> None:
        self._producers.clear()
        self._ongoing.clear()
        self._unreplicated.clear()
        self._oldest_txn_timestamp = -1

    def _is_expired(self, entry: ProducerEntry, now_ms: int) -> bool:
        return entry.current_txn_first_offset is None and now_ms - entry.last_timestamp >= self.expiration_ms

    def _forget_unreplicated(self, offset: int) -> None:
        """The transactions that ended before `offset`: markers lie in the order in which they were written."""
        passed = []
        for first_offset, txn in self._unreplicated.items():
            if txn.last_offset is None or txn.last_offset >= offset:
                break
            passed.append(first_offset)
        for first_offset in passed:
            del self._unreplicated[first_offset]

    def _note_oldest_txn(self) -> None:
        oldest = next(iter(self._ongoing.values()), None)
        entry = self._producers.get(oldest.producer_id) if oldest is not None else None
        self._oldest_txn_timestamp = entry.last_timestamp if entry is not None else -1


def _txn_order(entry: ProducerEntry) -> int:
    return -1 if entry.current_txn_first_offset is None else entry.current_txn_first_offset
