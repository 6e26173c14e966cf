"""Plan of a cleaning round, made on the loop as plain data for a worker.

A log has a clean section, up to the cleaner's checkpoint, and a dirty one behind it. What may be cleaned ends before
the first of: the last stable offset (and so the high watermark), the active segment, the first segment with a record
younger than `min.compaction.lag.ms`. A log is worth cleaning when the dirty part of what may be cleaned is larger than
`min.cleanable.dirty.ratio`, or when something in it is older than `max.compaction.lag.ms`.

A plan names files, positions and sizes of sealed segments only. Nothing that the loop changes later is shared with the
worker: it opens the files itself, so that even a segment that is taken away while it reads stays readable to it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from odradek.common.failures import check
from odradek.common.ids import TopicPartition
from odradek.log.cleaner.retention_rules import LastRecord
from odradek.log.log_config import LogConfig
from odradek.log.offsets import AbortedTxn

if TYPE_CHECKING:
    from odradek.log.segments.segment import Segment
    from odradek.log.unified_log import UnifiedLog

#: An index entry holds the distance from the segment's base offset in four bytes, signed.
MAX_OFFSET_RANGE = 2**31 - 1

OFFSET_ENTRY_BYTES = 8
TIME_ENTRY_BYTES = 12


@dataclass(frozen=True, slots=True)
class CleanableOffsets:
    """`reset_checkpoint`: the checkpoint lay outside of the log, and must be set to `first_dirty_offset`."""

    first_dirty_offset: int
    first_uncleanable_offset: int
    reset_checkpoint: bool


@dataclass(frozen=True, slots=True)
class DirtyLog:
    """Dirty section of a log. `overdue_ms` is the time by which its oldest segment exceeds `max.compaction.lag.ms`."""

    log: UnifiedLog
    first_dirty_offset: int
    first_uncleanable_offset: int
    clean_bytes: int
    cleanable_bytes: int
    overdue_ms: int

    @property
    def total_bytes(self) -> int:
        return self.clean_bytes + self.cleanable_bytes

    @property
    def cleanable_ratio(self) -> float:
        return self.cleanable_bytes / self.total_bytes if self.total_bytes else 0.0

    @property
    def is_cleanable(self) -> bool:
        if not self.total_bytes:
            return False
        must = self.overdue_ms > 0 and self.cleanable_bytes > 0
        return must or self.cleanable_ratio > self.log.config.value.min_cleanable_dirty_ratio


@dataclass(frozen=True, slots=True)
class Source:
    """One sealed segment to read. `dirty_position` is where its dirty records begin; `aborted` are the aborted
    transactions that touch it."""

    base_offset: int
    next_base_offset: int
    path: str
    size_bytes: int
    index_bytes: int
    time_index_bytes: int
    modified_ms: int
    dirty_position: int
    aborted: tuple[AbortedTxn, ...]


@dataclass(frozen=True, slots=True)
class CleaningPlan:
    """All that a worker needs. `sources` reach from the start of the log to `first_uncleanable_offset`."""

    topic_partition: TopicPartition
    directory: str
    log_dir: str
    config: LogConfig
    first_dirty_offset: int
    first_uncleanable_offset: int
    sources: tuple[Source, ...]
    dirty_aborted: tuple[AbortedTxn, ...]
    last_records: Mapping[int, LastRecord]
    legacy_horizon_ms: int
    now_ms: int

    @property
    def dirty_sources(self) -> list[Source]:
        return [source for source in self.sources if source.next_base_offset > self.first_dirty_offset]


def cleanable_offsets(log: UnifiedLog, checkpoint: int | None, now_ms: int) -> CleanableOffsets:
    """`checkpoint` is where the last round ended; outside of the log it says nothing, and all of the log is dirty."""
    start = log.offsets.log_start_offset
    dirty = start if checkpoint is None else checkpoint
    reset = not start <= dirty <= log.offsets.log_end_offset
    if reset:
        dirty = start
    bounds = [log.offsets.last_stable_offset, log.segments.active.base_offset]
    lag_ms = max(log.config.value.min_compaction_lag_ms, 0)
    if lag_ms > 0:
        sealed = sealed_segments_from(log, dirty)
        bounds += [segment.base_offset for segment in sealed if segment.largest_timestamp() > now_ms - lag_ms][:1]
    return CleanableOffsets(dirty, max(dirty, min(bounds)), reset)


def overdue_ms(log: UnifiedLog, first_dirty_offset: int, now_ms: int) -> int:
    """Return the time since the oldest dirty segment reached `max.compaction.lag.ms`; 0 if none has."""
    stamps = [segment.first_batch_timestamp() or 0 for segment in sealed_segments_from(log, first_dirty_offset)]
    earliest = min((stamp for stamp in stamps if stamp > 0), default=None)
    clean_until_ms = now_ms - max(log.config.value.max_compaction_lag_ms, 0)
    return max(0, clean_until_ms - earliest) if earliest is not None else 0


def measure(log: UnifiedLog, offsets: CleanableOffsets, now_ms: int) -> DirtyLog:
    dirty, uncleanable = offsets.first_dirty_offset, offsets.first_uncleanable_offset
    # A segment is cleaned whole or not at all: the one in which the bound lies stays.
    beyond = sealed_segments_from(log, uncleanable)
    first_uncleanable = (beyond[0] if beyond else log.segments.active).base_offset
    cleanable = log.segments.between(min(dirty, first_uncleanable), first_uncleanable)
    return DirtyLog(
        log=log,
        first_dirty_offset=dirty,
        first_uncleanable_offset=first_uncleanable,
        clean_bytes=_total(log.segments.between(-1, dirty)),
        cleanable_bytes=_total(cleanable),
        overdue_ms=overdue_ms(log, dirty, now_ms),
    )


def make_plan(dirty: DirtyLog, now_ms: int) -> CleaningPlan:
    log = dirty.log
    clean = log.segments.between(0, dirty.first_dirty_offset)
    legacy_horizon_ms = clean[-1].modified_ms() - log.config.value.delete_retention_ms if clean else 0
    segments = log.segments.between(0, dirty.first_uncleanable_offset)
    check(log.segments.active not in segments, f"{log.topic_partition}: the active segment is never cleaned")
    return CleaningPlan(
        topic_partition=log.topic_partition,
        directory=log.directory,
        log_dir=log.log_dir,
        config=log.config.value,
        first_dirty_offset=dirty.first_dirty_offset,
        first_uncleanable_offset=dirty.first_uncleanable_offset,
        sources=tuple(_source(log, segment, dirty.first_dirty_offset) for segment in segments),
        dirty_aborted=tuple(collect_aborted(log, dirty.first_dirty_offset, dirty.first_uncleanable_offset)),
        last_records=last_records(log),
        legacy_horizon_ms=legacy_horizon_ms,
        now_ms=now_ms,
    )


def last_records(log: UnifiedLog) -> dict[int, LastRecord]:
    """Taken once for a round: a producer that writes on only leaves one empty batch more than needed behind."""
    records = {}
    for producer_id, entry in log.producers.producers.items():
        offset = entry.last_data_offset
        records[producer_id] = LastRecord(offset if offset >= 0 else None, entry.producer_epoch)
    return records


def collect_aborted(log: UnifiedLog, start: int, end: int) -> list[AbortedTxn]:
    """Aborted transactions with data below `end`, from the segment of `start` on; a marker may lie far behind."""
    first = log.segments.floor(start)
    return [] if first is None else log.reader.collect_aborted(first, log.offsets.log_start_offset, end)


def group_sources(
    sources: Sequence[Source], max_bytes: int, max_index_bytes: int, first_uncleanable_offset: int
) -> list[list[Source]]:
    """Neighbours that fit into one segment, so that segments do not become ever smaller.

    The size of log and indexes counts as it is before cleaning. The last offset must be within reach of the group's
    base offset; it is taken from the start of the next segment, and an empty segment always is."""
    groups: list[list[Source]] = []
    for index, source in enumerate(sources):
        if index + 1 < len(sources):
            last_offset = sources[index + 1].base_offset - 1
        else:
            last_offset = first_uncleanable_offset - 1
        if groups and _fits(groups[-1], source, max_bytes, max_index_bytes, last_offset):
            groups[-1].append(source)
        else:
            groups.append([source])
    return groups


def _fits(group: list[Source], source: Source, max_bytes: int, max_index_bytes: int, last_offset: int) -> bool:
    return (
        sum(member.size_bytes for member in group) + source.size_bytes <= max_bytes
        and sum(member.index_bytes for member in group) + source.index_bytes <= max_index_bytes
        and sum(member.time_index_bytes for member in group) + source.time_index_bytes <= max_index_bytes
        and (source.size_bytes == 0 or last_offset - group[0].base_offset <= MAX_OFFSET_RANGE)
    )


def sealed_segments_from(log: UnifiedLog, offset: int) -> list[Segment]:
    """All but the active one, from the segment in which `offset` is."""
    active = log.segments.active.base_offset
    return [] if offset > active else log.segments.between(offset, active)


def _source(log: UnifiedLog, segment: Segment, first_dirty_offset: int) -> Source:
    following = log.segments.higher(segment.base_offset)
    check(following is not None, f"{log.topic_partition}: segment {segment.base_offset} is active")
    assert following is not None
    upper = following.base_offset
    dirty_position = 0
    if segment.base_offset < first_dirty_offset < upper:
        dirty_position = segment.offset_index.lookup(first_dirty_offset).position
    return Source(
        base_offset=segment.base_offset,
        next_base_offset=upper,
        path=segment.log_path,
        size_bytes=segment.size,
        index_bytes=segment.offset_index.entry_count * OFFSET_ENTRY_BYTES,
        time_index_bytes=segment.time_index.entry_count * TIME_ENTRY_BYTES,
        modified_ms=segment.modified_ms(),
        dirty_position=dirty_position,
        aborted=tuple(collect_aborted(log, segment.base_offset, upper)),
    )


def _total(segments: Iterable[Segment]) -> int:
    return sum(segment.size for segment in segments)
