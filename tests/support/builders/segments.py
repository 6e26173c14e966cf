"""Batches and segments for tests of the parts of a log directory."""

from collections.abc import Iterable
from pathlib import Path

from odradek.common.files import OsFileSystem
from odradek.log.segments.segment import Segment
from odradek.records.batch import Batch, read_batch, read_batches
from odradek.records.builder import BatchBuilder, end_transaction_marker

FILES = OsFileSystem()
START_MS = 1_700_000_000_000


def data_batch(
    base_offset: int = 0,
    count: int = 1,
    *,
    timestamp: int = START_MS,
    value_bytes: int = 20,
    leader_epoch: int = 0,
    producer_id: int = -1,
    producer_epoch: int = -1,
    base_sequence: int = -1,
    is_transactional: bool = False,
) -> Batch:
    """Records one millisecond apart, the first at `timestamp`."""
    builder = BatchBuilder(
        base_offset=base_offset,
        leader_epoch=leader_epoch,
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        base_sequence=base_sequence,
        is_transactional=is_transactional,
    )
    for i in range(count):
        builder.append(timestamp + i, b"key", bytes([base_offset % 256]) * value_bytes)
    return read_batch(builder.build())


def marker(
    base_offset: int,
    producer_id: int,
    *,
    commit: bool = True,
    producer_epoch: int = 0,
    coordinator_epoch: int = 0,
    timestamp: int = START_MS,
    leader_epoch: int = 0,
) -> Batch:
    return read_batch(
        end_transaction_marker(
            commit=commit,
            timestamp=timestamp,
            producer_id=producer_id,
            producer_epoch=producer_epoch,
            coordinator_epoch=coordinator_epoch,
            base_offset=base_offset,
            leader_epoch=leader_epoch,
        )
    )


def new_segment(
    directory: Path, base_offset: int = 0, *, interval: int = 4096, max_index_bytes: int = 1 << 20
) -> Segment:
    return Segment(
        FILES,
        str(directory),
        base_offset,
        now_ms=START_MS,
        index_interval_bytes=interval,
        max_index_bytes=max_index_bytes,
        create=True,
    )


def open_segment(directory: Path, base_offset: int = 0, *, interval: int = 4096) -> Segment:
    return Segment(FILES, str(directory), base_offset, now_ms=START_MS, index_interval_bytes=interval)


def append(segment: Segment, *batches: Batch) -> None:
    """All of them in one chunk."""
    data = b"".join(batch.buffer for batch in batches)
    segment.append(batches[-1].last_offset, data, batches)


def fill(segment: Segment, count: int, *, records: int = 3, value_bytes: int = 50, step_ms: int = 10) -> list[Batch]:
    """`count` batches, one append each, with growing time."""
    batches = []
    offset = segment.base_offset
    for i in range(count):
        batch = data_batch(offset, records, timestamp=START_MS + i * step_ms, value_bytes=value_bytes)
        append(segment, batch)
        batches.append(batch)
        offset += records
    return batches


def batches_of(path: Path) -> Iterable[Batch]:
    return read_batches(path.read_bytes())
