"""Walks over the batches of a log file that look at headers and little else.

An index leads close to what is wanted; these take the last steps. They read the file in small chunks, so that a run of
tiny batches costs one read and a large batch is stepped over unread. A batch that is cut off by the end of the file
ends a scan quietly, since recovery will drop it, but not a search: where batches are looked for, all of them are whole.
A length or magic that cannot be raises `CorruptRecord` with file and position.
"""

import struct
from collections.abc import Iterator
from typing import NamedTuple

from odradek.common.ports import File
from odradek.log.offsets import NO_TIMESTAMP, BatchPosition, FoundTimestamp, TimestampOffset
from odradek.records.batch import (
    HEADER_BYTES,
    MAGIC_AT,
    MAGIC_V2,
    OVERHEAD_BYTES,
    PREFIX_BYTES,
    SMALLEST_LENGTH,
    Batch,
    header_at,
    read_batch,
)
from odradek.records.errors import CorruptRecord

#: One page: reading it costs hardly more than reading a header, and it holds all batches of an index interval.
SCAN_BYTES = 4096

_OFFSET_AND_LENGTH = struct.Struct(">qi")
_SMALLEST_V2_LENGTH = HEADER_BYTES - OVERHEAD_BYTES


class ScannedBatch(NamedTuple):
    position: int
    size_bytes: int
    base_offset: int
    last_offset: int
    max_timestamp: int
    leader_epoch: int


def batch_at(file: File, position: int, size_bytes: int) -> Batch:
    """The whole batch, read and checked."""
    try:
        batch = read_batch(file.read(position, size_bytes))
        batch.check()
    except CorruptRecord as error:
        raise CorruptRecord(f"{file.path}:{position}: {error.message}") from None
    return batch


def scan_batches(file: File, position: int, end: int) -> Iterator[ScannedBatch]:
    """Every whole batch from `position` up to `end`, by its header."""
    chunk, start = b"", position
    while position + PREFIX_BYTES <= end:
        at = position - start
        if at + HEADER_BYTES > len(chunk):
            chunk, start, at = file.read(position, min(SCAN_BYTES, end - position)), position, 0
        size_bytes = _size_at(file, chunk, at, position)
        if position + size_bytes > end:
            return
        if chunk[at + MAGIC_AT] == MAGIC_V2:
            base, _, epoch, _, _, _, delta, _, max_timestamp, _, _, _, _ = header_at(chunk, at)
            yield ScannedBatch(position, size_bytes, base, base + delta, max_timestamp, epoch)
        else:
            old = batch_at(file, position, size_bytes)  # a wrapper names its last offset; the first is within
            yield ScannedBatch(
                position, size_bytes, old.base_offset, old.last_offset, old.max_timestamp, old.leader_epoch
            )
        position += size_bytes


class WrongEntry(CorruptRecord):
    """An index entry led to a batch that is not the one it speaks of."""


def find_batch(
    file: File, position: int, end: int, offset: int, floor: int = 0, entry: int | None = None, exact: bool = False
) -> BatchPosition | None:
    """The first whole batch from `position` on whose last offset is `offset` or more. The hot one: every fetch walks
    here, so it unpacks a header a batch and builds nothing on the way.

    Offsets must ascend from `floor` on. `entry` is the offset that an index has for `position`: the first batch may not
    begin behind it, and with `exact` must end with it; else WrongEntry."""
    chunk, start = b"", position
    while position + PREFIX_BYTES <= end:
        at = position - start
        if at + HEADER_BYTES > len(chunk):
            chunk, start, at = file.read(position, min(SCAN_BYTES, end - position)), position, 0
        size_bytes = _size_at(file, chunk, at, position)
        if position + size_bytes > end:
            raise CorruptRecord(f"{file.path}:{position}: a batch of {size_bytes} bytes, but {end - position} are left")
        is_v2 = chunk[at + MAGIC_AT] == MAGIC_V2
        if is_v2:
            base, _, _, _, _, _, delta, _, _, _, _, _, _ = header_at(chunk, at)
            last = base + delta
        else:
            base = last = _OFFSET_AND_LENGTH.unpack_from(chunk, at)[0]
        if base < floor or last < base:
            raise CorruptRecord(f"{file.path}:{position}: offsets {base} to {last} where {floor} was expected")
        if entry is not None:
            if base > entry or (exact and last != entry):
                raise WrongEntry(f"{file.path}:{position}: offsets {base} to {last}, but the index says {entry}")
            entry = None
        if last >= offset:
            if not is_v2:
                base = batch_at(file, position, size_bytes).base_offset
            return BatchPosition(base, position, size_bytes)
        floor = last + 1
        position += size_bytes
    if entry is not None:
        raise WrongEntry(f"{file.path}:{position}: no batch begins here, but the index has one")
    if position != end:
        raise CorruptRecord(f"{file.path}:{position}: {end - position} bytes are too few for a batch")
    return None


def find_timestamp(file: File, position: int, end: int, timestamp: int, starting_offset: int) -> FoundTimestamp | None:
    """The first record from `position` on that is as late as `timestamp` and not before `starting_offset`."""
    for scanned in scan_batches(file, position, end):
        if scanned.max_timestamp < timestamp or scanned.last_offset < starting_offset:
            continue
        for record in batch_at(file, scanned.position, scanned.size_bytes).records():
            if record.timestamp >= timestamp and record.offset >= starting_offset:
                epoch = scanned.leader_epoch if scanned.leader_epoch >= 0 else None
                return FoundTimestamp(record.timestamp, record.offset, epoch)
    return None


def largest_timestamp(file: File, position: int, end: int) -> TimestampOffset:
    """The largest timestamp of a batch from `position` on, with the batch's last offset."""
    largest = TimestampOffset(NO_TIMESTAMP, -1)
    for scanned in scan_batches(file, position, end):
        if scanned.max_timestamp > largest.timestamp:
            largest = TimestampOffset(scanned.max_timestamp, scanned.last_offset)
    return largest


def _size_at(file: File, chunk: bytes, at: int, position: int) -> int:
    if len(chunk) - at < PREFIX_BYTES:
        raise CorruptRecord(f"{file.path}:{position}: the file is shorter than it was")
    length = _OFFSET_AND_LENGTH.unpack_from(chunk, at)[1]
    magic = chunk[at + MAGIC_AT]
    if magic > MAGIC_V2 or length < (_SMALLEST_V2_LENGTH if magic == MAGIC_V2 else SMALLEST_LENGTH):
        raise CorruptRecord(f"{file.path}:{position}: no batch has length {length} and magic {magic}")
    return int(length) + OVERHEAD_BYTES
