"""A fetched chunk of one partition as columns: numpy arrays, or an Arrow record batch, one element per record.

Nothing is made per record. Keys and values are slices of the chunk once they are asked for, and go through the
consumer's deserializers then.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from odradek.client.consumer.completed_fetch import Reading
from odradek.client.types import TopicPartition
from odradek.common.extras import missing_extra
from odradek.records.columns.record_columns import Columns, Int8s, Int64s
from odradek.records.record import Header

if TYPE_CHECKING:
    import pyarrow  # type: ignore[import-untyped]


class RecordColumns:
    """`columns` has the rest: where each key and value lies in the chunk, which batch a record came in."""

    def __init__(self, partition: TopicPartition, columns: Columns, reading: Reading) -> None:
        self.topic, self.partition = partition
        self.columns = columns
        self._reading = reading

    def __len__(self) -> int:
        return len(self.columns)

    def __repr__(self) -> str:
        where = f"{self.topic}-{self.partition}"
        return f"RecordColumns({where}, {len(self)} records, offsets {self.offsets[0]}..{self.offsets[-1]})"

    @property
    def offsets(self) -> Int64s:
        return self.columns.offset

    @property
    def timestamps_ms(self) -> Int64s:
        return self.columns.timestamp

    @property
    def timestamp_types(self) -> Int8s:
        """Numbers of `TimestampType`."""
        return self.columns.timestamp_type

    @property
    def next_offset(self) -> int:
        """Where the partition goes on: what a commit of this chunk commits."""
        following = self.columns.next_offset
        return int(self.offsets[-1]) + 1 if following is None else following

    def keys(self) -> list[Any]:
        return _through(self._reading.key_deserializer, self.columns.keys())

    def values(self) -> list[Any]:
        return _through(self._reading.value_deserializer, self.columns.values())

    def headers(self, index: int) -> tuple[Header, ...]:
        return self.columns.headers(index)

    def to_arrow(self) -> "pyarrow.RecordBatch":
        """Columns topic, partition, offset, timestamp (ms, UTC), timestamp_type, key, value: those of Spark's Kafka
        source in Arrow's types. Keys and values are bytes. Raises InputError without pyarrow."""
        arrow = _pyarrow()
        count = len(self)
        columns = self.columns
        topic = arrow.DictionaryArray.from_arrays(arrow.array(np.zeros(count, np.int8)), arrow.array([self.topic]))
        arrays = {
            "topic": topic,
            "partition": arrow.array(np.full(count, self.partition, np.int32)),
            "offset": arrow.array(columns.offset),
            "timestamp": arrow.array(columns.timestamp).view(arrow.timestamp("ms", tz="UTC")),
            "timestamp_type": arrow.array(columns.timestamp_type),
            "key": columns.arrow_keys(),
            "value": columns.arrow_values(),
        }
        return arrow.RecordBatch.from_arrays(list(arrays.values()), names=list(arrays))


def _through(deserializer: Callable[[bytes], Any] | None, parts: list[bytes | None]) -> list[Any]:
    return parts if deserializer is None else [None if part is None else deserializer(part) for part in parts]


def _pyarrow() -> Any:
    try:
        import pyarrow
    except ImportError:
        raise missing_extra("arrow", "to_arrow()") from None
    return pyarrow
