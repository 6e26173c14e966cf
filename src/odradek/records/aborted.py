"""Filter for batches of aborted transactions in a fetched chunk, which read_committed leaves out."""

from collections.abc import Sequence
from typing import NamedTuple

from odradek.records.batch import Batch
from odradek.records.control import read_end_transaction


class AbortedTransaction(NamedTuple):
    """Aborted transaction of a Fetch response: the producer's records from `first_offset` to the abort marker."""

    producer_id: int
    first_offset: int


class AbortedTransactions:
    """Follows a chunk's batches in order, each of which is shown to it once."""

    def __init__(self, aborted: Sequence[AbortedTransaction]) -> None:
        self._coming = sorted(aborted, key=lambda transaction: transaction.first_offset, reverse=True)
        self._aborting: dict[int, int] = {}

    def shows(self, batch: Batch) -> bool:
        """Return whether an application may see the batch: no control batch, and not of an aborted transaction."""
        while self._coming and self._coming[-1].first_offset <= batch.last_offset:
            producer_id, first_offset = self._coming.pop()
            self._aborting[producer_id] = first_offset
        if batch.is_control:
            if batch.producer_id in self._aborting:
                marker = read_end_transaction(batch)
                if marker is not None and not marker.committed:
                    del self._aborting[batch.producer_id]
            return False
        return not (batch.is_transactional and batch.producer_id in self._aborting)
