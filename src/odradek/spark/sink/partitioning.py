"""Which rows of a topic go to which partition. Pure: where rows without a key begin comes in.

A row that names its partition goes there; one with a key where its hash says, as with Kafka's producer; those without
either go in runs of a batch's size to one partition after the other.
"""

from collections.abc import Iterator

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.compute as pc  # type: ignore[import-untyped]
from numpy.typing import NDArray

from odradek.client.producer.key_columns import NO_KEY, partitions_for_keys
from odradek.common.failures import InputError
from odradek.records.column_batches import ArrowRecords

#: A row that may go anywhere.
_ANYWHERE = NO_KEY


class Spreading:
    """Of one task: rows without a key go on where those before have stopped."""

    def __init__(self, first_partition: int, run_bytes: int) -> None:
        self._next = first_partition
        self._run_bytes = run_bytes

    def partitions(
        self, topic: str, records: ArrowRecords, rows: NDArray[np.int64], asked: NDArray[np.int32] | None, count: int
    ) -> Iterator[tuple[int, NDArray[np.int64]]]:
        """Partitions with their rows, in the order of the rows. `asked` is the column `partition`, `count` how many the
        topic has. Raises InputError for one that is not there."""
        chosen = np.full(len(rows), _ANYWHERE, np.int32)
        if records.keys is not None:
            chosen = partitions_for_keys(records.keys, count)[rows]
        if asked is not None:
            wanted = asked[rows]
            if len(wanted) and int(wanted.max()) >= count:
                has = f"topic {topic} has {count} partition(s), 0 to {count - 1}"
                raise InputError(f"a row asks for partition {int(wanted.max())}; {has}")
            chosen = np.where(wanted >= 0, wanted, chosen)
        free = np.flatnonzero(chosen == _ANYWHERE)
        if len(free):
            chosen[free] = self._spread(records.values, rows[free], count)
        order = np.argsort(chosen, kind="stable")
        found, starts = np.unique(chosen[order], return_index=True)
        return zip(found.tolist(), np.split(rows[order], starts[1:]), strict=True)

    def _spread(self, values: pa.Array | None, rows: NDArray[np.int64], count: int) -> NDArray[np.int32]:
        sizes = np.zeros(len(rows), np.int64)
        if values is not None:
            sizes = pc.binary_length(values).fill_null(0).to_numpy(zero_copy_only=False)[rows]
        run = np.cumsum(sizes, dtype=np.int64) // self._run_bytes
        first, self._next = self._next, self._next + int(run[-1]) + 1
        spread: NDArray[np.int32] = ((first + run) % count).astype(np.int32)
        return spread
