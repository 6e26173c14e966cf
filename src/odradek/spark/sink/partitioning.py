"""Assigns rows to partitions. Pure: the first partition for rows without a key is an argument.

A row with a partition is sent there; a row with a key is assigned by its hash, as in Kafka's producer; rows without
either are assigned in runs of the size of a batch to one partition after the other.
"""

from collections.abc import Iterator

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.compute as pc  # type: ignore[import-untyped]
from numpy.typing import NDArray

from odradek.client.producer.key_columns import NO_KEY, partitions_for_keys
from odradek.common.failures import InputError
from odradek.records.columns.column_batches import ArrowRecords

#: Marks a row that may be sent to any partition.
_ANYWHERE = NO_KEY


class RowPartitioner:
    """Partitioner of one task: rows without a key continue at the partition of the previous ones."""

    def __init__(self, first_partition: int, run_bytes: int) -> None:
        self._next = first_partition
        self._run_bytes = run_bytes

    def partitions(
        self, topic: str, records: ArrowRecords, rows: NDArray[np.int64], explicit: NDArray[np.int32] | None, count: int
    ) -> Iterator[tuple[int, NDArray[np.int64]]]:
        """Return partitions with their rows, in the order of the rows. Raise InputError for an unknown partition.

        `explicit` is the column `partition`, `count` the number of partitions of the topic."""
        assigned = np.full(len(rows), _ANYWHERE, np.int32)
        if records.keys is not None:
            assigned = partitions_for_keys(records.keys, count)[rows]
        if explicit is not None:
            requested = explicit[rows]
            if len(requested) and int(requested.max()) >= count:
                valid = f"topic {topic} has {count} partition(s), 0 to {count - 1}"
                raise InputError(f"a row has partition {int(requested.max())}; {valid}")
            assigned = np.where(requested >= 0, requested, assigned)
        free = np.flatnonzero(assigned == _ANYWHERE)
        if len(free):
            assigned[free] = self._spread(records.values, rows[free], count)
        order = np.argsort(assigned, kind="stable")
        partitions, starts = np.unique(assigned[order], return_index=True)
        return zip(partitions.tolist(), np.split(rows[order], starts[1:]), strict=True)

    def _spread(self, values: pa.Array | None, rows: NDArray[np.int64], count: int) -> NDArray[np.int32]:
        sizes = np.zeros(len(rows), np.int64)
        if values is not None:
            sizes = pc.binary_length(values).fill_null(0).to_numpy(zero_copy_only=False)[rows]
        run = np.cumsum(sizes, dtype=np.int64) // self._run_bytes
        first, self._next = self._next, self._next + int(run[-1]) + 1
        spread: NDArray[np.int32] = ((first + run) % count).astype(np.int32)
        return spread
