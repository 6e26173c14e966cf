"""A fetched chunk of one partition as columns: numpy arrays, or an Arrow table, one element per record.

Nothing is made per record. Keys and values are slices of the chunk when they are asked for.
"""

from typing import TYPE_CHECKING, Any

from odradek.records.columns import Columns, Int64s

if TYPE_CHECKING:
    import pyarrow


class RecordColumns:
    """`batch.offsets`, `batch.timestamps_ms`, `batch.keys()`, `batch.values()`, `batch.to_arrow()`."""

    def __init__(self, topic: str, partition: int, columns: Columns) -> None:
        self.topic = topic
        self.partition = partition
        self.columns = columns

    @property
    def offsets(self) -> Int64s:
        return self.columns.offset

    @property
    def timestamps_ms(self) -> Int64s:
        return self.columns.timestamp

    def __len__(self) -> int:
        return len(self.columns)

    def keys(self) -> list[Any]:
        return self.columns.keys()

    def values(self) -> list[Any]:
        return self.columns.values()

    def to_arrow(self) -> "pyarrow.RecordBatch":
        raise NotImplementedError
