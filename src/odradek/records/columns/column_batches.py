"""Batches of magic 2 built from Arrow's columns: the way back from `odradek.records.columns.record_columns`.

For those who write records by the thousand (Spark's sink): no object is made for a record. What stands between keys and
values is computed for all records at once, and Arrow joins it with them, row by row: a tenth of what one slice for each
key and value costs. The bytes are those of `odradek.records.builder`.

    records = ArrowRecords(keys=..., values=..., timestamps=now_ms)
    for batch in build_batches(records, rows_of_the_partition, plan, base_sequence=0):
        ...  # batch.data goes into a Produce request; the sequence after it is batch.next_sequence

A batch is made when it is asked for, in two steps: which records still fit is found by their sizes, then they are
written. Needs pyarrow.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from odradek.records.batch import HEADER_BYTES, NO_PRODUCER_EPOCH, NO_PRODUCER_ID
from odradek.records.builder import batch_of_payload
from odradek.records.columns.varints import Packed, Varints, packed, same_varints, total_sizes, varints
from odradek.records.compression import Compression, compress
from odradek.records.record import NO_SEQUENCE, NO_TIMESTAMP, add_to_sequence
from odradek.records.record_packer import Headers, headers_bytes

if TYPE_CHECKING:
    import pyarrow  # type: ignore[import-untyped]

Int64s = NDArray[np.int64]

_NO_HEADERS = b"\x00"

#: The least that a record has besides key, value and headers: length, attributes, two deltas, two lengths.
_LEAST_BYTES = 6


@dataclass(frozen=True, slots=True, eq=False)
class ArrowRecords:
    """Columns of one length. Keys and values are arrays of binary, large_binary, string or large_string, with nulls or
    without; None where all are null."""

    keys: "pyarrow.Array | None"
    values: "pyarrow.Array | None"
    #: One for all, or one for each.
    timestamps: int | Int64s
    #: One for each record, names with their values; None where no record has any.
    headers: Sequence[Headers] | None = None


@dataclass(frozen=True, slots=True)
class BatchPlan:
    """Fields that all batches of a producer share."""

    #: Of a batch before compression, with its header; a record that is larger by itself becomes a batch of one.
    max_bytes: int
    compression: Compression = Compression.NONE
    level: int | None = None
    producer_id: int = NO_PRODUCER_ID
    producer_epoch: int = NO_PRODUCER_EPOCH
    is_transactional: bool = False


@dataclass(frozen=True, slots=True)
class BuiltBatch:
    data: bytes
    count: int
    #: Of the batch that comes after this one in its partition.
    next_sequence: int


def build_batches(
    records: ArrowRecords, rows: Int64s | range, plan: BatchPlan, *, base_sequence: int = NO_SEQUENCE
) -> Iterator[BuiltBatch]:
    """The records of these rows, in this order, in as many batches as it takes; base offsets are 0, as producers have
    them. `rows` are numbers into the columns; a range (of step 1) is read without copying."""
    selected = _Chosen(records, rows)
    start, sequence = 0, base_sequence
    while start < selected.count:
        fields = selected.fields(start, plan.max_bytes - HEADER_BYTES)
        payload, timestamps = selected.payload(start, fields), selected.timestamps[start : start + fields.records]
        data = batch_of_payload(
            compress(plan.compression, payload, plan.level) if plan.compression else payload,
            fields.records,
            compression=plan.compression,
            base_timestamp=int(timestamps[0]),
            max_timestamp=max(int(timestamps.max()), NO_TIMESTAMP),
            producer=(plan.producer_id, plan.producer_epoch, sequence),
            is_transactional=plan.is_transactional,
        )
        start += fields.records
        if sequence != NO_SEQUENCE:
            sequence = add_to_sequence(sequence, fields.records)
        yield BuiltBatch(data, fields.records, sequence)


class _Fields(NamedTuple):
    """The numbers of records that follow one another, in their order: all but keys, values and headers."""

    length: Varints
    attributes: Varints
    timestamp_delta: Varints
    offset_delta: Varints
    key_length: Varints
    value_length: Varints

    @property
    def records(self) -> int:
        """Number of records."""
        return len(self.length.raw)

    def before(self, count: int) -> "_Fields":
        return _Fields(*(field.before(count) for field in self))


class _Chosen:
    """The rows that are to be written, in their order."""

    def __init__(self, records: ArrowRecords, rows: Int64s | range) -> None:
        self.count = len(rows)
        self._keys, self._values = _Column(records.keys, rows), _Column(records.values, rows)
        content_sizes = np.maximum(self._keys.lengths, 0) + np.maximum(self._values.lengths, 0)
        self._headers: list[bytes] | None = None
        if records.headers is not None:
            self._headers = [headers_bytes(records.headers[row]) for row in rows]
            content_sizes += np.fromiter(map(len, self._headers), np.int64, self.count)
        else:
            content_sizes += len(_NO_HEADERS)
        self._content_sizes = content_sizes
        #: That the records before this one take at the least.
        self._least_before = np.concatenate(([0], np.cumsum(content_sizes + _LEAST_BYTES)))
        stamps = records.timestamps
        self._is_one_time = isinstance(stamps, int)
        self.timestamps = np.full(self.count, stamps) if isinstance(stamps, int) else stamps[_index(rows)]

    def fields(self, start: int, limit_bytes: int) -> _Fields:
        """Return the fields of as many records from `start` on as fit, at least one."""
        fitting = int(np.searchsorted(self._least_before, self._least_before[start] + limit_bytes, "right")) - 1
        some = slice(start, max(fitting, start + 1))
        count = some.stop - start
        timestamps = self.timestamps[some]
        zeros = same_varints(0, count)
        timestamp_delta = zeros if self._is_one_time else varints(timestamps - timestamps[0])
        deltas = timestamp_delta, varints(np.arange(count))
        lengths = self._keys.length_varints(some), self._values.length_varints(some)
        sizes = self._content_sizes[some] + total_sizes((zeros, *deltas, *lengths))
        length = varints(sizes)
        fields = _Fields(length, zeros, *deltas, *lengths)
        fitting = int(np.searchsorted(np.cumsum(sizes + length.sizes), limit_bytes, "right"))
        return fields if fitting == count else fields.before(max(fitting, 1))

    def payload(self, start: int, fields: _Fields) -> memoryview:
        """The records themselves."""
        from pyarrow import compute

        end = start + fields.records
        if self._keys.is_null:  # nothing lies between the numbers
            parts = [_array(packed(fields))]
        else:
            parts = [_array(packed(fields[:-1])), self._keys.array(start, end), _array(packed(fields[-1:]))]
        parts.append(self._values.array(start, end))
        parts.append(_NO_HEADERS if self._headers is None else _binary(self._headers[start:end]))
        joined = compute.binary_join_element_wise(*parts, b"", null_handling="replace")
        size = int(np.frombuffer(joined.buffers()[1], np.int32)[fields.records])
        return memoryview(joined.buffers()[2])[:size]


class _Column:
    """Keys or values of the rows that are to be written."""

    def __init__(self, array: "pyarrow.Array | None", rows: Int64s | range) -> None:
        self.is_null = array is None
        self._array = array
        self._rows = rows
        self.lengths: Int64s = np.full(len(rows), -1) if array is None else _lengths(array)[_index(rows)]

    def length_varints(self, some: slice) -> Varints:
        return same_varints(-1, some.stop - some.start) if self.is_null else varints(self.lengths[some])

    def array(self, start: int, end: int) -> Any:
        """Return the slice as an array of binary."""
        import pyarrow

        if self._array is None:
            return b""
        rows = self._rows[start:end]
        values = self._array.slice(rows.start, len(rows)) if isinstance(rows, range) else self._array.take(rows)
        return values.cast(pyarrow.binary())


def _lengths(array: "pyarrow.Array") -> Int64s:
    from pyarrow import compute

    lengths = compute.fill_null(compute.binary_length(array), -1)
    return np.asarray(lengths).astype(np.int64)


def _index(rows: Int64s | range) -> Int64s | slice:
    return slice(rows.start, rows.stop) if isinstance(rows, range) else rows


def _array(rows: Packed) -> "pyarrow.Array":
    import pyarrow

    buffers = [None, pyarrow.py_buffer(rows.offsets), pyarrow.py_buffer(rows.data)]
    return pyarrow.Array.from_buffers(pyarrow.binary(), len(rows.offsets) - 1, buffers)


def _binary(values: Sequence[bytes]) -> "pyarrow.Array":
    import pyarrow

    return pyarrow.array(values, pyarrow.binary())
