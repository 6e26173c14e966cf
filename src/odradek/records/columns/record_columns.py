"""A fetched chunk of many batches as columns: numpy arrays, one element per record.

For those who take records by the thousand (Spark, the console, compaction's key map): no object is made per record.
One pass per record finds where each begins (`walk.record_ends`), everything after it works on whole arrays.

A chunk is what Fetch gives: whole batches, of any codec and format, and perhaps part of one at the end. Starts are
positions in `Columns.data`: the bytes that the chunk is part of (the answer that it came in, uncopied) if nothing in it
is compressed, and otherwise its unfolded payloads one after the other.

What a consumer does not see is left out: control batches (their positions are told), records before the offset that was
asked for, and, given the aborted transactions that came with the chunk, the records of those.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple, overload

import numpy as np
from numpy.typing import NDArray

from odradek.common.extras import missing_extra
from odradek.common.ports import Buffer
from odradek.records.aborted import AbortedTransaction, AbortedTransactions
from odradek.records.batch import (
    APPEND_TIME_BIT,
    ATTRIBUTES_AT,
    COMPRESSION_MASK,
    CONTROL_BIT,
    HEADER_BYTES,
    MAGIC_V2,
    OVERHEAD_BYTES,
    Batch,
    header_at,
    read_batch,
    read_batches,
)
from odradek.records.batch_walk import record_ends
from odradek.records.builder import BatchBuilder
from odradek.records.columns.layout import lay_out
from odradek.records.compression import DEFAULT_LIMIT_BYTES
from odradek.records.crc import crc32c
from odradek.records.decode import decode_headers
from odradek.records.errors import ExpandedTooLarge, InvalidRecord
from odradek.records.record import Header, TimestampType

if TYPE_CHECKING:
    import pyarrow  # type: ignore[import-untyped]

Int64s = NDArray[np.int64]
Int8s = NDArray[np.int8]
Bools = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class Columns:
    data: bytes
    offset: Int64s
    timestamp: Int64s
    timestamp_type: Int8s
    key_start: Int64s
    key_length: Int64s  # -1 is null, here and in value_length
    value_start: Int64s
    value_length: Int64s
    header_start: Int64s
    record_end: Int64s
    batch_index: Int64s  # into `batches`
    batches: Sequence[Batch]  # every whole batch of the chunk
    control_positions: tuple[int, ...]  # in the chunk
    consumed_bytes: int  # of the chunk: the whole batches

    def __len__(self) -> int:
        return len(self.offset)

    @property
    def next_offset(self) -> int | None:
        """Offset at which the next fetch continues; None if there was no complete batch."""
        return self.batches[-1].next_offset if self.batches else None

    def before(self, offset: int) -> "Columns":
        """Without the records from this offset on."""
        count = int(np.searchsorted(self.offset, offset))
        if count == len(self):
            return self
        return replace(self, **{name: getattr(self, name)[:count] for name in _BY_RECORD})

    def keys(self) -> list[bytes | None]:
        return _slices(self.data, self.key_start, self.key_length)

    def values(self) -> list[bytes | None]:
        return _slices(self.data, self.value_start, self.value_length)

    def arrow_keys(self) -> "pyarrow.Array":
        """Return the keys as an array of binary over one buffer. Needs pyarrow, here and in `arrow_values`."""
        return _arrow(self.data, self.key_start, self.key_length)

    def arrow_values(self) -> "pyarrow.Array":
        return _arrow(self.data, self.value_start, self.value_length)

    def has_headers(self) -> Bools:
        return self.header_start + 1 < self.record_end

    def headers(self, index: int) -> tuple[Header, ...]:
        """Return the headers of one record. Raises InvalidRecord if malformed: they were not checked before."""
        start, end = int(self.header_start[index]), int(self.record_end[index])
        if start + 1 == end:
            return ()
        try:
            headers, next_position = decode_headers(self.data, start, end)
        except IndexError:
            next_position = -1
        if next_position != end:
            raise InvalidRecord(f"record {index}: its headers do not end where it ends")
        return headers


#: Attributes of a batch that is not read as it lies there.
_NOT_PLAIN = COMPRESSION_MASK | CONTROL_BIT

#: The columns, among the fields.
_BY_RECORD = (
    *("offset", "timestamp", "timestamp_type", "key_start", "key_length", "value_start", "value_length"),
    *("header_start", "record_end", "batch_index"),
)


class _Span(NamedTuple):
    """The records of one batch: where they lie in the data."""

    batch_index: int
    batch: Batch
    start: int
    end: int


class _Runs(NamedTuple):
    """Batches with records that are seen, by columns: of each where its records lie, and what its header says."""

    starts: list[int]
    ends: list[int]
    counts: list[int]
    base_offset: Int64s
    base_timestamp: Int64s
    max_timestamp: Int64s
    is_stamped: Bools
    timestamp_type: Int8s
    batch_index: Int64s


def read_columns(
    chunk: Buffer,
    *,
    from_offset: int | None = None,
    aborted: Sequence[AbortedTransaction] = (),
    check: bool = True,
    limit_bytes: int = DEFAULT_LIMIT_BYTES,
) -> Columns:
    """`aborted` makes it read_committed; `limit_bytes` is what each batch may unfold to; `check` verifies each CRC."""
    data, begin = _bytes_around(chunk)
    view = memoryview(data)[begin : begin + len(chunk)]  # of a copy, where there is one: nobody else's buffer is kept
    plain = None if aborted else _read_plain(view, begin, check)
    if plain is not None:
        runs, batches = plain
        return _columns(data, runs, from_offset, batches, (), batches.end)
    found = tuple(read_batches(view))
    transactions = AbortedTransactions(aborted)
    position = 0
    visible: list[_Span] = []
    control_positions = []
    for index, batch in enumerate(found):
        if check:
            batch.check()
        end = position + batch.size_bytes
        if batch.is_control:
            control_positions.append(position)
        if transactions.shows(batch) and batch.count and (from_offset is None or batch.last_offset >= from_offset):
            visible.append(_Span(index, batch, begin + position + HEADER_BYTES, begin + end))
        position = end
    data, spans = _unfolded(data, visible, limit_bytes)
    return _columns(data, _runs(spans, found), from_offset, found, tuple(control_positions), position)


def _bytes_around(chunk: Buffer) -> tuple[bytes, int]:
    """The bytes that the chunk is part of, and where in them it begins. Copied only if they are no bytes."""
    owner = chunk.obj if isinstance(chunk, memoryview) and chunk.c_contiguous else chunk
    if type(owner) is not bytes or not len(chunk):
        return bytes(chunk), 0
    return owner, _address(chunk) - _address(owner)


def _address(buffer: Buffer) -> int:
    return int(np.frombuffer(buffer, np.uint8).__array_interface__["data"][0])


class _PlainBatches(Sequence[Batch]):
    """Batches that hardly anybody looks at, made when somebody does."""

    def __init__(self, view: memoryview, starts: list[int], end: int) -> None:
        self.end = end
        self._view = view
        self._starts = starts

    def __len__(self) -> int:
        return len(self._starts)

    @overload
    def __getitem__(self, index: int) -> Batch: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Batch]: ...
    def __getitem__(self, index: int | slice) -> Batch | Sequence[Batch]:
        if isinstance(index, slice):
            return [read_batch(self._view, start) for start in self._starts[index]]
        return read_batch(self._view, self._starts[index])


def _read_plain(view: memoryview, begin: int, check: bool) -> tuple[_Runs, _PlainBatches] | None:
    """The way for most chunks: nothing compressed, no markers, no old formats, nothing damaged. None otherwise.
    `begin` is where the chunk lies in the data.

    Batches of many producers are small, so that what is done for each counts: one look at its header, one checksum."""
    total, position = len(view), 0
    headers: list[tuple[int, ...]] = []
    starts: list[int] = []
    ends: list[int] = []
    while position + HEADER_BYTES <= total:
        header = header_at(view, position)
        end = position + header[1] + OVERHEAD_BYTES
        if header[3] != MAGIC_V2 or header[5] & _NOT_PLAIN or not header[12] or end < position + HEADER_BYTES:
            return None
        if end > total:
            break
        if check and crc32c(view[position + ATTRIBUTES_AT : end]) != header[4]:
            return None
        headers.append(header)
        starts.append(position)
        ends.append(end)
        position = end
    if not headers or (position < total and total - position < HEADER_BYTES):
        return None
    fields = np.array(headers, np.int64)
    is_stamped = (fields[:, 5] & APPEND_TIME_BIT).astype(np.bool_)
    runs = _Runs(
        starts=[begin + start + HEADER_BYTES for start in starts],
        ends=[begin + end for end in ends],
        counts=fields[:, 12].tolist(),
        base_offset=fields[:, 0],
        base_timestamp=fields[:, 7],
        max_timestamp=fields[:, 8],
        is_stamped=is_stamped,
        timestamp_type=is_stamped.astype(np.int8),
        batch_index=np.arange(len(headers)),
    )
    return runs, _PlainBatches(view, starts, position)


def _runs(spans: Sequence[_Span], batches: Sequence[Batch]) -> _Runs:
    def column(values: Iterable[int]) -> Int64s:
        return np.fromiter(values, np.int64, len(spans))

    return _Runs(
        starts=[span.start for span in spans],
        ends=[span.end for span in spans],
        counts=[span.batch.count for span in spans],
        base_offset=column(span.batch.base_offset for span in spans),
        base_timestamp=column(span.batch.base_timestamp for span in spans),
        max_timestamp=column(span.batch.max_timestamp for span in spans),
        is_stamped=column(span.batch.attributes & APPEND_TIME_BIT for span in spans).astype(np.bool_),
        timestamp_type=column(batches[span.batch_index].timestamp_type for span in spans).astype(np.int8),
        batch_index=column(span.batch_index for span in spans),
    )


def _columns(
    data: bytes,
    runs: _Runs,
    from_offset: int | None,
    batches: Sequence[Batch],
    control_positions: tuple[int, ...],
    consumed_bytes: int,
) -> Columns:
    starts, ends = _extents(data, runs)
    layout = lay_out(data, starts, ends)
    counts = np.array(runs.counts, np.int64)
    timestamp = np.repeat(runs.base_timestamp, counts) + layout.timestamp_delta
    if runs.is_stamped.any():
        timestamp = np.where(np.repeat(runs.is_stamped, counts), np.repeat(runs.max_timestamp, counts), timestamp)
    offset = np.repeat(runs.base_offset, counts) + layout.offset_delta
    # Offsets ascend: what lies before the one asked for is at the front.
    seen = slice(0 if from_offset is None else int(np.searchsorted(offset, from_offset)), None)
    return Columns(
        data=data,
        offset=offset[seen],
        timestamp=timestamp[seen],
        timestamp_type=np.repeat(runs.timestamp_type, counts)[seen],
        key_start=layout.key_start[seen],
        key_length=layout.key_length[seen],
        value_start=layout.value_start[seen],
        value_length=layout.value_length[seen],
        header_start=layout.header_start[seen],
        record_end=ends[seen],
        batch_index=np.repeat(runs.batch_index, counts)[seen],
        batches=batches,
        control_positions=control_positions,
        consumed_bytes=consumed_bytes,
    )


def _extents(data: bytes, runs: _Runs) -> tuple[Int64s, Int64s]:
    """Start and end of every record. The one loop over records."""
    record_positions: list[int] = []
    for start, end, count in zip(runs.starts, runs.ends, runs.counts, strict=True):
        record_positions.append(start)
        record_positions += record_ends(data, start, end, count)
    if not record_positions:
        return np.empty(0, np.int64), np.empty(0, np.int64)
    # Of each batch: its start, then the end of each record. Left of a record's end is its start.
    bounds = np.array(record_positions, np.int64)
    firsts = np.cumsum(np.array([0, *runs.counts], np.int64) + 1) - 1
    is_record_end = np.ones(len(bounds), np.bool_)
    is_record_end[firsts[:-1]] = False
    is_record_start = np.ones(len(bounds), np.bool_)
    is_record_start[firsts[1:] - 1] = False
    return bounds[is_record_start], bounds[is_record_end]


def _unfolded(data: bytes, visible: list[_Span], limit_bytes: int) -> tuple[bytes, list[_Span]]:
    """The data that records lie in, and where. Without compression it stays as it is."""
    if all(span.batch.magic == MAGIC_V2 and not span.batch.attributes & COMPRESSION_MASK for span in visible):
        return data, visible
    parts: list[bytes] = []
    spans: list[_Span] = []
    position = 0
    for span in visible:
        batch = span.batch if span.batch.magic == MAGIC_V2 else _renewed(span.batch, limit_bytes)
        payload = batch.payload(limit_bytes)
        spans.append(_Span(span.batch_index, batch, position, position + len(payload)))
        parts.append(payload)
        position += len(payload)
    return b"".join(parts), spans


def _renewed(batch: Batch, limit_bytes: int) -> Batch:
    """A message of an older format as a batch of magic 2 with the same records."""
    records = list(batch.records(limit_bytes))
    stamped = batch.timestamp_type == TimestampType.LOG_APPEND_TIME
    builder = BatchBuilder(
        base_offset=records[0].offset,
        timestamp_type=TimestampType.LOG_APPEND_TIME if stamped else TimestampType.CREATE_TIME,
        append_time_ms=batch.max_timestamp if stamped else None,
    )
    for record in records:
        builder.append(record.timestamp, record.key, record.value, offset=record.offset)
    return read_batch(builder.build())


def _slices(data: bytes, start: Int64s, length: Int64s) -> list[bytes | None]:
    ends = (start + length).tolist()  # just before its start for a null
    return [data[first:end] if end >= first else None for first, end in zip(start.tolist(), ends, strict=True)]


def _arrow(data: bytes, start: Int64s, length: Int64s) -> "pyarrow.Array":
    """The data is told to Arrow as an array of what is wanted and what lies between in turn, of which every other
    element is taken: a copy in one go, where a slice for each record would cost thirty times as much."""
    try:
        import pyarrow
    except ImportError:
        raise missing_extra("arrow", "a column of Arrow") from None

    if len(data) > np.iinfo(np.int32).max:
        raise ExpandedTooLarge(f"{len(data)} bytes do not fit into one array; read smaller chunks")
    is_null = length < 0
    if is_null.all():
        return pyarrow.nulls(len(length), pyarrow.binary())
    bounds = np.empty(2 * len(length), np.int32)
    bounds[::2] = start
    bounds[1::2] = start + np.maximum(length, 0)
    buffers = [None, pyarrow.py_buffer(bounds), pyarrow.py_buffer(data)]
    in_turn = pyarrow.Array.from_buffers(pyarrow.binary(), len(bounds) - 1, buffers)
    # Not by `pyarrow.array`, which would load pandas to see whether it is given some of that.
    mask = pyarrow.py_buffer(np.packbits(~is_null, bitorder="little")) if is_null.any() else None
    wanted = [mask, pyarrow.py_buffer(np.arange(0, len(bounds), 2, dtype=np.int32))]
    return in_turn.take(pyarrow.Array.from_buffers(pyarrow.int32(), len(length), wanted))
