"""Check one segment: its batches and records, and that its indexes say where they are.

Index entries are compared with the batches themselves: an entry must name the start of a batch. Which batches have one
depends on settings and on when the node was restarted, so a missing entry is no fault; a wrong one is.
"""

import os
from array import array
from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

from odradek.common.failures import ApiError
from odradek.inspection.damaged_walk import Damage, walk_batches
from odradek.inspection.directory_listing import LogFile
from odradek.inspection.index_entries import read_offset_index, read_time_index
from odradek.inspection.progress import Progress
from odradek.inspection.record_decoding import Undecodable, decode_control, decoder_for
from odradek.inspection.safe_reading import mapped
from odradek.records.batch import HEADER_BYTES, Batch, Compression, TimestampType
from odradek.records.batch_walk import walk

#: Offsets are written relative to the segment's first one, in 31 bits.
_MAX_RELATIVE_OFFSET = 2**31 - 1

_OFFSET_ENTRY_BYTES = 8
_TIME_ENTRY_BYTES = 12

#: Takes path, position and what is wrong.
Complain = Callable[[str, int | None, str], None]


def _longs() -> "array[int]":
    return array("q")


@dataclass(slots=True)
class SegmentFacts:
    """Contents of a segment, batch by batch, for the checks of its indexes."""

    base_offset: int
    size_bytes: int
    next_offset: int
    records: int = 0
    positions: "array[int]" = field(default_factory=_longs)
    base_offsets: "array[int]" = field(default_factory=_longs)
    last_offsets: "array[int]" = field(default_factory=_longs)
    max_timestamps: "array[int]" = field(default_factory=_longs)

    @property
    def max_timestamp(self) -> int:
        return max(self.max_timestamps, default=-1)


def check_segment(
    file: LogFile, next_offset: int, complain: Complain, visit: Callable[[Batch, int], None], progress: Progress
) -> SegmentFacts:
    """`next_offset` is where the segment before ended. `visit` sees every readable batch with its position."""
    if file.base_offset < next_offset:
        complain(file.path, None, f"the segment before it ends at offset {next_offset}")
    with mapped(file.path) as view:
        facts = SegmentFacts(file.base_offset, len(view), max(next_offset, file.base_offset))
        for walked in walk_batches(view, lambda position: progress.at(file.path, position, len(view))):
            if isinstance(walked, Damage):
                complain(file.path, walked.position, walked.reason)
                continue
            batch, position = walked.batch, walked.position
            for reason in _order_flaws(batch, facts):
                complain(file.path, position, reason)
            try:
                facts.records += _check_records(file, batch, partial(complain, file.path, position))
                visit(batch, position)
            except ApiError as error:
                complain(file.path, position, error.message)
            _remember(facts, batch, position)
    return facts


def _order_flaws(batch: Batch, facts: SegmentFacts) -> list[str]:
    flaws = []
    if batch.base_offset < facts.next_offset:
        flaws.append(f"offset {batch.base_offset}, but {facts.next_offset} comes next")
    if batch.last_offset < batch.base_offset:
        flaws.append(f"last offset {batch.last_offset} before the first, {batch.base_offset}")
    if batch.last_offset - facts.base_offset > _MAX_RELATIVE_OFFSET:
        flaws.append(f"offset {batch.last_offset} is too far from the segment's first, {facts.base_offset}")
    return flaws


def _remember(facts: SegmentFacts, batch: Batch, position: int) -> None:
    facts.positions.append(position)
    facts.base_offsets.append(batch.base_offset)
    facts.last_offsets.append(batch.last_offset)
    facts.max_timestamps.append(batch.max_timestamp)
    facts.next_offset = max(facts.next_offset, batch.next_offset)


def _check_records(file: LogFile, batch: Batch, complain: Callable[[str], None]) -> int:
    """Return the number of records. Raises ApiError for records that cannot be read."""
    decode = decode_control if batch.is_control else decoder_for(file.partition.topic)
    if decode is None and batch.magic == 2 and batch.count == batch.last_offset_delta + 1:
        _check_dense(batch, complain)
        return batch.count
    expected = batch.base_offset
    largest = -1
    count = 0
    for record in batch.records():
        if not expected <= record.offset <= batch.last_offset:
            complain(f"a record with offset {record.offset} in the batch {batch.base_offset}..{batch.last_offset}")
        expected = record.offset + 1
        largest = max(largest, record.timestamp)
        count += 1
        if decode is not None:
            try:
                decode(record)
            except Undecodable as error:
                complain(f"record {record.offset}: {error}")
    if count and largest != batch.max_timestamp:
        complain(f"largest timestamp {batch.max_timestamp} in the header, {largest} in the records")
    return count


def _check_dense(batch: Batch, complain: Callable[[str], None]) -> None:
    """The quick way for a batch that no cleaner has touched."""
    if batch.compression is Compression.NONE:
        walked = walk(bytes(batch.buffer), HEADER_BYTES, batch.size_bytes, batch.count)
    else:
        payload = batch.payload()
        walked = walk(payload, 0, len(payload), batch.count)
    largest = batch.base_timestamp + walked.max_timestamp_delta
    if batch.timestamp_type is TimestampType.CREATE_TIME and largest != batch.max_timestamp:
        complain(f"largest timestamp {batch.max_timestamp} in the header, {largest} in the records")


def check_offset_index(file: LogFile, facts: SegmentFacts, complain: Complain, progress: Progress) -> int:
    """Return the number of entries."""
    size_bytes = os.path.getsize(file.path)
    last = -1
    count = 0
    for count, (offset, position) in enumerate(read_offset_index(file.path, file.base_offset), start=1):
        at = (count - 1) * _OFFSET_ENTRY_BYTES
        progress.at(file.path, at, size_bytes)
        index_of_batch = bisect_left(facts.positions, position)
        if offset <= last:
            complain(file.path, at, f"offset {offset} after offset {last}")
        if index_of_batch == len(facts.positions) or facts.positions[index_of_batch] != position:
            complain(file.path, at, f"offset {offset} should be at position {position}, but no batch starts there")
        elif not facts.base_offsets[index_of_batch] <= offset or not _ends_at(facts, offset):
            complain(
                file.path,
                at,
                f"offset {offset} at position {position}, where offset {facts.base_offsets[index_of_batch]} is",
            )
        last = offset
    return count


def _ends_at(facts: SegmentFacts, offset: int) -> bool:
    """Return whether the offset is the last one of a batch: only those are indexed."""
    index = bisect_left(facts.last_offsets, offset)
    return index < len(facts.last_offsets) and facts.last_offsets[index] == offset


def check_time_index(
    file: LogFile, facts: SegmentFacts, complain: Complain, progress: Progress, *, sealed: bool
) -> None:
    """`sealed`: the segment will not grow, so the last entry must hold its largest timestamp."""
    size_bytes = os.path.getsize(file.path)
    last_timestamp, last_offset = -1, -1
    for slot, (timestamp, offset) in enumerate(read_time_index(file.path, file.base_offset)):
        at = slot * _TIME_ENTRY_BYTES
        progress.at(file.path, at, size_bytes)
        if timestamp < last_timestamp or offset <= last_offset:
            complain(file.path, at, f"timestamp {timestamp} and offset {offset} do not follow the entry before")
        index_of_batch = bisect_left(facts.last_offsets, offset)
        if index_of_batch == len(facts.last_offsets) or facts.base_offsets[index_of_batch] > offset:
            complain(file.path, at, f"offset {offset} is in no batch")
        elif facts.max_timestamps[index_of_batch] != timestamp:
            complain(
                file.path,
                at,
                f"timestamp {timestamp} for offset {offset}: {facts.max_timestamps[index_of_batch]} is there",
            )
        last_timestamp, last_offset = timestamp, offset
    if sealed and facts.max_timestamp > max(last_timestamp, -1):
        complain(file.path, None, f"the last entry has timestamp {last_timestamp}, the segment {facts.max_timestamp}")
