"""The batches of a segment's file, one after the other."""

from __future__ import annotations

from collections.abc import Iterator

from odradek.log.segments.segment import Segment
from odradek.records.batch import OVERHEAD_BYTES, Batch, read_batches, size_at

#: Read at a time: large enough that the calls do not count, small enough for many logs to be loaded at once.
CHUNK_BYTES = 1024 * 1024


def segment_batches(segment: Segment, position: int) -> Iterator[Batch]:
    """Every whole batch of the file from `position` on, read in chunks."""
    while position < segment.size:
        data = segment.file.read(position, CHUNK_BYTES)
        chunk_bytes = 0
        for batch in read_batches(data):
            chunk_bytes += batch.size_bytes
            yield batch
        if chunk_bytes == 0:
            size_bytes = size_at(data, 0) if len(data) >= OVERHEAD_BYTES else len(data) + 1
            if size_bytes <= len(data) or position + size_bytes > segment.size:
                return
            data = segment.file.read(position, size_bytes)
            yield from read_batches(data)
            chunk_bytes = size_bytes
        position += chunk_bytes
