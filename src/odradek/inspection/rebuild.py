"""Producer state and transactions of a partition, rebuilt from its batches.

`odradek log verify` holds snapshots and transaction indexes against this. It repeats in forty lines what the log's own
producer state does, on purpose: a check that shares the code it checks would share its mistakes.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from odradek.log.offsets import AbortedTxn
from odradek.records.batch import Batch
from odradek.records.control import read_end_transaction

NOTHING = -1


@dataclass(slots=True)
class Producer:
    """The fields of a snapshot's entry. `has_data` and `has_marker` say whether the log still held evidence."""

    epoch: int
    last_sequence: int = NOTHING
    last_offset: int = NOTHING
    offset_delta: int = 0
    timestamp: int = NOTHING
    coordinator_epoch: int = NOTHING
    current_txn_first_offset: int = NOTHING
    has_txn_records: bool = False
    has_data: bool = False
    has_marker: bool = False


@dataclass(frozen=True, slots=True)
class AbortedInLog:
    """An aborted transaction as its batches show it. `has_records`: compaction has not emptied all of them."""

    entry: AbortedTxn
    has_records: bool

    @property
    def marker(self) -> tuple[int, int]:
        """Producer id and offset of the marker."""
        return self.entry.producer_id, self.entry.last_offset


class Rebuild:
    """Fed with every batch in order. `take_aborted` returns the transactions that ended since it was last called."""

    def __init__(self) -> None:
        self.producers: dict[int, Producer] = {}
        self._aborted: list[AbortedInLog] = []

    def add(self, batch: Batch) -> None:
        """Raises InvalidRecord for a marker that is none."""
        if not batch.has_producer_id:
            return
        producer = self.producers.setdefault(batch.producer_id, Producer(batch.producer_epoch))
        if producer.epoch != batch.producer_epoch:  # what was said under the old epoch no longer counts
            producer.epoch = batch.producer_epoch
            producer.last_sequence, producer.last_offset, producer.offset_delta = NOTHING, NOTHING, 0
        if batch.is_control:
            self._end(producer, batch)
            return
        producer.has_data = True
        producer.last_sequence = batch.last_sequence
        producer.last_offset = batch.last_offset
        producer.offset_delta = batch.last_offset - batch.base_offset
        producer.timestamp = batch.max_timestamp
        if batch.is_transactional:
            if producer.current_txn_first_offset == NOTHING:
                producer.current_txn_first_offset = batch.base_offset
                producer.has_txn_records = False
            producer.has_txn_records |= batch.count > 0

    def take_aborted(self) -> list[AbortedInLog]:
        aborted, self._aborted = self._aborted, []
        return aborted

    def _end(self, producer: Producer, batch: Batch) -> None:
        marker = read_end_transaction(batch)
        if marker is None:
            return
        first_offset = producer.current_txn_first_offset
        producer.has_marker = True
        producer.coordinator_epoch = marker.coordinator_epoch
        producer.timestamp = batch.max_timestamp
        producer.current_txn_first_offset = NOTHING
        if first_offset != NOTHING and not marker.committed:
            last_stable_offset = _first_open(self.producers.values(), batch.last_offset + 1)
            entry = AbortedTxn(batch.producer_id, first_offset, batch.last_offset, last_stable_offset)
            self._aborted.append(AbortedInLog(entry, producer.has_txn_records))


def _first_open(producers: Iterable[Producer], end_offset: int) -> int:
    """Return the first offset of the oldest open transaction; read_committed stops there."""
    open_offsets = [p.current_txn_first_offset for p in producers if p.current_txn_first_offset != NOTHING]
    return min(open_offsets, default=end_offset)
