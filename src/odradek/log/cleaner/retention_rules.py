"""Rules of what compaction retains and what it drops, independent of files and buffers.

A batch is judged first, its records after it. Three things can keep a batch whose records are all gone, as an empty
header: it holds the last sequence of a producer that is still active (or, if that producer only ever wrote a marker,
its epoch), or it is the last batch of the round, whose offset must not be lost.

Transactions. Data of an aborted transaction is dropped at once. A marker stays for as long as any data batch of its
transaction is still in the log, since a reader needs it to know how that data ended; once there is none, the marker
waits one delete horizon like a tombstone. A round reads the log from its start, so "is still there" means: a batch of
that transaction was read before its marker.

Tombstones. The first round that keeps a tombstone (or a marker without data) stamps `now + delete.retention.ms` into
its batch; a later round drops it when that moment has passed. Readers that begin within the horizon see the deletion.
"""

import heapq
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import Enum

from odradek.log.offsets import AbortedTxn
from odradek.records.batch import MAGIC_V2, Batch
from odradek.records.control import ControlType, control_type


class BatchRetention(Enum):
    DELETE = "delete"  # without looking at its records
    RETAIN_EMPTY = "retain empty"  # its header stays even if no record does
    DELETE_EMPTY = "delete empty"  # goes if no record stays


@dataclass(frozen=True, slots=True)
class BatchVerdict:
    """`drops_records`: all records go, whatever their keys. `marks_no_data`: a marker whose transaction has no data
    left, which therefore gets a delete horizon."""

    retention: BatchRetention
    drops_records: bool
    marks_no_data: bool


@dataclass(frozen=True, slots=True)
class LastRecord:
    """Source of an active producer's state: its last data offset, or its epoch alone if it wrote only markers."""

    last_data_offset: int | None
    producer_epoch: int


class CleanedTransactions:
    """Follows the transactions of a log as its batches are read from the start.

    `retained` gets every aborted transaction of which data is still seen when its abort marker comes by: those belong
    in the transaction index of the cleaned segment.
    """

    def __init__(self) -> None:
        self._waiting: list[tuple[int, int, AbortedTxn]] = []
        self._aborted: dict[int, AbortedTxn] = {}
        self._aborted_with_data: dict[int, bool] = {}
        self._with_committed_data: dict[int, None] = {}
        self._added = 0

    def add_aborted(self, transactions: Iterable[AbortedTxn]) -> None:
        for transaction in transactions:
            # The counter settles ties: entries themselves have no order.
            heapq.heappush(self._waiting, (transaction.first_offset, self._added, transaction))
            self._added += 1

    def read_control_batch(self, batch: Batch, retained: Callable[[AbortedTxn], None] | None = None) -> bool:
        """Return whether no data of the transaction that this marker ends is left."""
        self._begin_up_to(batch.last_offset)
        record = next(iter(batch.records()), None)
        if record is None:
            return True  # emptied by an earlier round
        kind = control_type(record.key)
        if kind is ControlType.ABORT:
            aborted = self._aborted.pop(batch.producer_id, None)
            had_data = self._aborted_with_data.pop(batch.producer_id, False)
            if aborted is not None and had_data:
                if retained is not None:
                    retained(aborted)
                return False
            return True
        if kind is ControlType.COMMIT:
            if batch.producer_id in self._with_committed_data:
                del self._with_committed_data[batch.producer_id]
                return False
            return True
        return False  # leader changes, snapshots, voters: not ours to drop

    def read_data_batch(self, batch: Batch) -> bool:
        """Return whether the batch belongs to an aborted transaction."""
        self._begin_up_to(batch.last_offset)
        if not batch.is_transactional:
            return False
        if batch.producer_id in self._aborted:
            self._aborted_with_data[batch.producer_id] = True
            return True
        self._with_committed_data[batch.producer_id] = None
        return False

    def _begin_up_to(self, offset: int) -> None:
        while self._waiting and self._waiting[0][0] <= offset:
            _, _, transaction = heapq.heappop(self._waiting)
            self._aborted.setdefault(transaction.producer_id, transaction)


def is_last_of_producer(batch: Batch, last_records: Mapping[int, LastRecord]) -> bool:
    """Return whether dropping this batch would lose the state of an active producer."""
    last = last_records.get(batch.producer_id) if batch.has_producer_id else None
    if last is None:
        return False
    if last.last_data_offset is not None:
        return batch.last_offset == last.last_data_offset
    return batch.is_control and batch.producer_epoch == last.producer_epoch


def judge_batch(
    batch: Batch,
    transactions: CleanedTransactions,
    last_records: Mapping[int, LastRecord],
    round_end_offset: int,
    now_ms: int,
    retained: Callable[[AbortedTxn], None] | None = None,
) -> BatchVerdict:
    """`round_end_offset` is the first offset that this round must not touch."""
    if batch.is_control:
        without_data = transactions.read_control_batch(batch, retained)
        horizon_ms = batch.delete_horizon_ms
        drops_records = without_data and horizon_ms is not None and horizon_ms <= now_ms
        marks_no_data = without_data
    else:
        drops_records = transactions.read_data_batch(batch)
        marks_no_data = False
    if is_last_of_producer(batch, last_records) or batch.next_offset == round_end_offset:
        retention = BatchRetention.RETAIN_EMPTY
    elif drops_records:
        retention = BatchRetention.DELETE
    else:
        retention = BatchRetention.DELETE_EMPTY
    return BatchVerdict(retention, drops_records, marks_no_data)


def keeps_tombstones(batch: Batch, now_ms: int, legacy_horizon_passed: bool) -> bool:
    """Formats before magic 2 cannot carry a horizon: theirs is the age of their segment."""
    if batch.magic < MAGIC_V2:
        return not legacy_horizon_passed
    horizon_ms = batch.delete_horizon_ms
    return horizon_ms is None or now_ms < horizon_ms
