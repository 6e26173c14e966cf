"""The two passes of a round, chunk by chunk: keys into the offset map, then survivors into a new segment.

A chunk is as many whole batches as fit the read buffer, at least one, however large: a batch that is in the log must be
readable. Keys of all batches of a chunk are hashed and looked up together, since numpy pays per call.

Every batch's CRC is checked before it is believed. A batch that is copied keeps its bytes; one that loses records is
written with a CRC of its own, and damage that was visible before would be hidden for good. So damage ends the round,
and the log is not cleaned any more until somebody has looked at it.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from odradek.common.ports import File, FileSystem
from odradek.log.cleaner.batch_rewrite import Int64s, Rows, keep_records
from odradek.log.cleaner.cleaning_plan import CleaningPlan, Source
from odradek.log.cleaner.offset_map import KeyHasher, OffsetMap
from odradek.log.cleaner.retention_rules import (
    BatchRetention,
    BatchVerdict,
    CleanedTransactions,
    judge_batch,
    keeps_tombstones,
)
from odradek.log.cleaner.stats import CleanerStats
from odradek.log.segments.segment import Segment
from odradek.records.batch import MAGIC_V2, PREFIX_BYTES, Batch, read_batch, read_batches, size_at
from odradek.records.builder import empty_batch
from odradek.records.compression import DEFAULT_LIMIT_BYTES
from odradek.records.errors import CorruptRecord

#: What a compressed batch may unfold to: it was let in under the same limit.
_EXPANSION_LIMIT_BYTES = DEFAULT_LIMIT_BYTES


class Written(NamedTuple):
    """Fields of a batch that the indexes of the new segment require."""

    last_offset: int
    max_timestamp: int
    size_bytes: int


def read_chunks(file: File, position: int, end: int, chunk_bytes: int) -> Iterator[list[Batch]]:
    """All batches from `position` to `end`, some at a time, each with its CRC checked."""
    chunk_bytes = max(chunk_bytes, PREFIX_BYTES)
    while position < end:
        data = file.read(position, min(chunk_bytes, end - position))
        batches = list(read_batches(data))
        if not batches:
            batches = [_read_large(file, position, end, data)]
        for batch in batches:
            try:
                batch.check()
            except CorruptRecord as error:
                raise CorruptRecord(f"{file.path}:{position}: {error}") from error
            position += batch.size_bytes
        yield batches


def _read_large(file: File, position: int, end: int, data: bytes) -> Batch:
    """The one batch here, which is larger than the read buffer."""
    size_bytes = size_at(data, 0) if len(data) >= PREFIX_BYTES else end - position + 1
    if size_bytes > end - position:
        raise CorruptRecord(f"{file.path}:{position}: the segment ends within a batch")
    (batch,) = read_batches(file.read(position, size_bytes))
    return batch


def build_offset_map(
    plan: CleaningPlan,
    files: FileSystem,
    offset_map: OffsetMap,
    hasher: KeyHasher,
    chunk_bytes: int,
    stats: CleanerStats,
) -> Iterator[int]:
    """Yields the bytes read of each chunk. Ends early when the map is full."""
    transactions = CleanedTransactions()
    transactions.add_aborted(plan.dirty_aborted)
    for source in plan.dirty_sources:
        file = files.open(source.path, writable=False)
        try:
            for batches in read_chunks(file, source.dirty_position, source.size_bytes, chunk_bytes):
                full = _map_chunk(plan, batches, transactions, offset_map, hasher, stats)
                yield sum(batch.size_bytes for batch in batches)
                if full:
                    return
        finally:
            file.close()
        # Offsets may be missing before the next segment, and those are mapped too.
        offset_map.latest_offset = min(source.next_base_offset, plan.first_uncleanable_offset) - 1


def _map_chunk(
    plan: CleaningPlan,
    batches: Sequence[Batch],
    transactions: CleanedTransactions,
    offset_map: OffsetMap,
    hasher: KeyHasher,
    stats: CleanerStats,
) -> bool:
    """Add the keys of a chunk; return whether the map is full: the first key that does not fit ends it."""
    start = plan.first_dirty_offset
    mapped: list[Batch] = []
    for batch in batches:
        stats.map_bytes_read += batch.size_bytes
        if batch.is_control:
            transactions.read_control_batch(batch)
        elif not transactions.read_data_batch(batch):
            mapped.append(batch)
    rows = Rows(mapped, _EXPANSION_LIMIT_BYTES)
    stats.map_messages_read += len(rows)
    keyed_rows = np.flatnonzero((rows.offsets >= start) & (rows.key_lengths >= 0))
    offsets = rows.offsets[keyed_rows]
    digests = hasher.hash_ranges(rows.data, rows.key_starts[keyed_rows], rows.key_lengths[keyed_rows])
    position = 0
    while position < len(offsets):
        free_keys = offset_map.max_keys - offset_map.size
        if free_keys <= 0:
            passed = [batch.last_offset for batch in batches if batch.last_offset < offsets[position]]
            offset_map.latest_offset = max([offset_map.latest_offset, *passed[-1:]])
            return True
        offset_map.put_many(digests[position : position + free_keys], offsets[position : position + free_keys])
        position += free_keys
    if batches[-1].last_offset >= start:
        offset_map.latest_offset = batches[-1].last_offset
    return False


class ChunkCleaner:
    """The second pass. Transactions are followed from the start of the log on, over all segments of the round."""

    def __init__(
        self, plan: CleaningPlan, files: FileSystem, offset_map: OffsetMap, hasher: KeyHasher, chunk_bytes: int
    ) -> None:
        self._plan = plan
        self._files = files
        self._map = offset_map
        self._hasher = hasher
        self._chunk_bytes = chunk_bytes
        self._transactions = CleanedTransactions()

    def clean_into(self, source: Source, cleaned: Segment, stats: CleanerStats) -> Iterator[int]:
        """Append what survives of `source`; yields the bytes moved with each chunk."""
        self._transactions.add_aborted(source.aborted)
        legacy_horizon_passed = source.modified_ms <= self._plan.legacy_horizon_ms
        file = self._files.open(source.path, writable=False)
        try:
            for batches in read_chunks(file, 0, source.size_bytes, self._chunk_bytes):
                chunk = self._judge(batches, cleaned, legacy_horizon_passed, stats)
                pieces: list[bytes | memoryview] = []
                written: list[Written] = []
                for piece, entry in self._survivors(chunk, stats):
                    pieces.append(piece)
                    written.append(entry)
                written_bytes = sum(entry.size_bytes for entry in written)
                if written:
                    cleaned.append(written[-1].last_offset, b"".join(pieces), written)
                read_bytes = sum(batch.size_bytes for batch in batches)
                stats.bytes_read += read_bytes
                stats.bytes_written += written_bytes
                yield read_bytes + written_bytes
        finally:
            file.close()

    def _judge(
        self, batches: Sequence[Batch], cleaned: Segment, legacy_horizon_passed: bool, stats: CleanerStats
    ) -> "_Chunk":
        plan = self._plan
        retained: list[Batch] = []
        verdicts: list[BatchVerdict] = []
        for batch in batches:
            verdict = judge_batch(
                batch,
                self._transactions,
                plan.last_records,
                plan.first_uncleanable_offset,
                plan.now_ms,
                cleaned.txn_index.append,
            )
            if verdict.retention is not BatchRetention.DELETE:
                retained.append(batch)
                verdicts.append(verdict)
        chunk = _Chunk(retained, verdicts)
        may_keep = [keeps_tombstones(batch, plan.now_ms, legacy_horizon_passed) for batch in retained]
        chunk.decide(may_keep, self._map, self._hasher, stats)
        return chunk

    def _survivors(self, chunk: "_Chunk", stats: CleanerStats) -> Iterator[tuple[bytes | memoryview, Written]]:
        horizon_ms = self._plan.now_ms + self._plan.config.delete_retention_ms
        for index, (batch, verdict) in enumerate(zip(chunk.batches, chunk.verdicts, strict=True)):
            retained = chunk.retained_rows(index)
            if not len(retained):
                if verdict.retention is BatchRetention.RETAIN_EMPTY:
                    empty = empty_batch(batch)
                    yield empty, Written(batch.last_offset, batch.max_timestamp, len(empty))
                continue
            stats.messages_written += len(retained)
            needs_horizon = verdict.marks_no_data or chunk.has_tombstone(retained)
            new_horizon_ms = horizon_ms if needs_horizon and batch.delete_horizon_ms is None else None
            if len(retained) == batch.count and new_horizon_ms is None and batch.magic >= MAGIC_V2:
                yield batch.buffer, Written(batch.last_offset, batch.max_timestamp, batch.size_bytes)
            else:
                rebuilt = keep_records(batch, chunk.rows, retained, new_horizon_ms)
                view = read_batch(rebuilt)
                yield rebuilt, Written(view.last_offset, view.max_timestamp, len(rebuilt))


class _Chunk:
    """The batches of a chunk whose records are looked at, and which of their rows stay."""

    def __init__(self, batches: Sequence[Batch], verdicts: Sequence[BatchVerdict]) -> None:
        self.batches = batches
        self.verdicts = verdicts
        self.rows = Rows(batches, _EXPANSION_LIMIT_BYTES)
        self._retained: Int64s = np.empty(0, dtype=np.int64)
        self._retained_bounds: list[int] = []

    def decide(
        self, keeps_tombstones: Sequence[bool], offset_map: OffsetMap, hasher: KeyHasher, stats: CleanerStats
    ) -> None:
        rows = self.rows
        counts = np.diff(rows.bounds)
        keyless = rows.key_lengths < 0
        mapped = rows.offsets <= offset_map.latest_offset
        digests = hasher.hash_ranges(rows.data, rows.key_starts, np.maximum(rows.key_lengths, 0))
        latest = rows.offsets >= offset_map.get_many(digests)
        tombstones = np.repeat(np.array(keeps_tombstones, dtype=np.bool_), counts)
        stays = ~mapped | (latest & ~keyless & ((rows.value_lengths >= 0) | tombstones))
        for index, verdict in enumerate(self.verdicts):
            span = slice(rows.bounds[index], rows.bounds[index + 1])
            if verdict.drops_records or self.batches[index].is_control:
                stays[span] = not verdict.drops_records
                keyless[span] = False
        stats.messages_read += len(rows)
        stats.invalid_messages += int(np.count_nonzero(keyless & mapped))
        self._retained = np.flatnonzero(stays)
        self._retained_bounds = np.searchsorted(self._retained, rows.bounds).tolist()

    def retained_rows(self, index: int) -> Int64s:
        return self._retained[self._retained_bounds[index] : self._retained_bounds[index + 1]]

    def has_tombstone(self, retained: Int64s) -> bool:
        return bool((self.rows.value_lengths[retained] < 0).any())
