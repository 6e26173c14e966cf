"""Compaction of one log: keep the last record of every key, forget the others.

Three stages, so that a driver can put each where it belongs:

* `cleaning_plan.make_plan`, on the loop: which sealed segments, and all that must be known about them.
* `Cleaning.steps`, in a worker: first the keys of the dirty section go into the offset map, then every segment from
  the start of the log is read again and what survives is written to a new segment with the suffix `.cleaned`. Sealed
  files are read and new files are written, nothing else is touched.
* `Cleaning.swap`, on the loop, whenever the worker has finished a segment and hands out a `Swap`: the log takes the new
  segment in place of the old ones.

`steps` is a generator and never waits: a `Pause` says how long the I/O limit wants it to wait, and may say 0; every
one of them is also the place to stop. Whoever closes the generator, or calls `abort`, has the unfinished `.cleaned`
files removed.

**What is durable when.** A cleaned segment and its indexes are synced before it is handed out; it becomes `.swap`, the
old segments become `.deleted`, the suffix `.swap` goes, in that order. A crash before `.swap` leaves the old segments,
one after it leaves the new one; the loader finishes or undoes. The cleaner's checkpoint is written last: at worst a
round is repeated.

If the map is full before the dirty section ends, the round ends where the map does: records beyond are kept as they
are, and the next round goes on from there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from odradek.common.failures import check
from odradek.common.ports import Clock, FileSystem
from odradek.log.cleaner.cleaning_plan import CleaningPlan, Source, group_sources
from odradek.log.cleaner.stats import CleanerStats
from odradek.log.cleaner.throttle import Throttle
from odradek.log.errors import storage_guard
from odradek.log.file_names import CLEANED_SUFFIX, LOG_SUFFIX, parse_segment_file, segment_path
from odradek.log.segments.segment import Segment
from odradek.log.unified_log import UnifiedLog

if TYPE_CHECKING:
    from odradek.log.cleaner.chunk_cleaner import ChunkCleaner


@dataclass(frozen=True, slots=True)
class CleanerConfig:
    """The broker's `log.cleaner.*`; field names and defaults are Kafka's."""

    threads: int = 1
    dedupe_buffer_size: int = 128 * 1024 * 1024
    io_buffer_size: int = 512 * 1024
    io_buffer_load_factor: float = 0.9
    io_max_bytes_per_second: float = float("inf")
    backoff_ms: int = 15_000
    enable: bool = True

    @property
    def chunk_bytes(self) -> int:
        """Size of one read: the buffers of all threads share `io_buffer_size`, half for reading."""
        return max(1, self.io_buffer_size // self.threads // 2)


@dataclass(frozen=True, slots=True)
class Pause:
    """The work may go on after this long."""

    ms: int


@dataclass(slots=True)
class Swap:
    """A finished segment that should take the place of those with these base offsets; see `Cleaning.swap`."""

    cleaned: Segment
    replaced: tuple[int, ...]
    done: bool = False


Step = Pause | Swap


class CleaningAborted(Exception):
    """The round was told to stop: the log is being truncated, moved or deleted. Not a failure."""


@dataclass(slots=True)
class Cleaning:
    """One round over one log. `end_offset` is where the clean section ends once all steps are done."""

    plan: CleaningPlan
    files: FileSystem
    clock: Clock
    config: CleanerConfig
    throttle: Throttle
    seed: bytes
    stats: CleanerStats = field(default_factory=CleanerStats)
    end_offset: int | None = None
    _aborted: bool = False

    def abort(self) -> None:
        """From any thread. Nothing is swapped afterwards, and the steps end at the next one."""
        self._aborted = True

    @property
    def is_aborted(self) -> bool:
        return self._aborted

    def swap(self, step: Swap, log: UnifiedLog) -> None:
        """On the loop: the log takes the cleaned segment, unless the round was aborted while it was on its way.

        Old segments that retention removed meanwhile are left alone."""
        if not self._aborted:
            old = [segment for base_offset in step.replaced if (segment := log.segments.get(base_offset)) is not None]
            log.replace_segments([step.cleaned], old)
            step.done = True

    def steps(self) -> Iterator[Step]:
        # Imported here: numpy takes longer to load than the rest of a node, which starts long before it compacts.
        from odradek.log.cleaner.chunk_cleaner import ChunkCleaner, build_offset_map
        from odradek.log.cleaner.offset_map import KeyHasher, OffsetMap

        plan = self.plan
        hasher = KeyHasher(self.seed)
        offset_map = OffsetMap(
            self.config.dedupe_buffer_size // self.config.threads,
            self.config.io_buffer_load_factor,
            most_keys=plan.first_uncleanable_offset - plan.first_dirty_offset,
        )
        chunk_bytes = self.config.chunk_bytes
        yield from self._paced(build_offset_map(plan, self.files, offset_map, hasher, chunk_bytes, self.stats))
        self.stats.buffer_utilization = offset_map.utilization
        end_offset = offset_map.latest_offset + 1
        chunks = ChunkCleaner(plan, self.files, offset_map, hasher, chunk_bytes)
        sources = [source for source in plan.sources if source.base_offset < end_offset]
        config = plan.config
        for group in group_sources(
            sources, config.segment_bytes, config.segment_index_bytes, plan.first_uncleanable_offset
        ):
            yield from self._clean_group(group, chunks)
        self.end_offset = max(end_offset, plan.first_dirty_offset)

    def _clean_group(self, group: list[Source], chunks: ChunkCleaner) -> Iterator[Step]:
        directory, base_offset = self.plan.directory, group[0].base_offset
        with storage_guard(self.plan.log_dir, segment_path(directory, base_offset, LOG_SUFFIX, CLEANED_SUFFIX)):
            cleaned = self._new_segment(base_offset)
        step = Swap(cleaned, tuple(source.base_offset for source in group))
        try:
            for source in group:
                yield from self._paced(chunks.clean_into(source, cleaned, self.stats))
            with storage_guard(self.plan.log_dir, cleaned.log_path):
                seal(cleaned, group[-1].modified_ms)
            self._check_aborted()
            yield step
            self._check_aborted()
            check(step.done, "a cleaned segment must be swapped in before the next one is begun")
        finally:
            if not step.done:
                with storage_guard(self.plan.log_dir, cleaned.log_path):
                    cleaned.delete()

    def _new_segment(self, base_offset: int) -> Segment:
        """Leftovers of an earlier attempt are removed first."""
        directory, config = self.plan.directory, self.plan.config
        for name in self.files.list_dir(directory):
            parsed = parse_segment_file(name)
            if parsed is not None and parsed.base_offset == base_offset and parsed.suffix == CLEANED_SUFFIX:
                self.files.remove(f"{directory}/{name}")
        return Segment(
            self.files,
            directory,
            base_offset,
            now_ms=self.plan.now_ms,
            index_interval_bytes=config.index_interval_bytes,
            max_index_bytes=config.segment_index_bytes,
            suffix=CLEANED_SUFFIX,
            create=True,
        )

    def _paced(self, moves: Iterator[int]) -> Iterator[Pause]:
        """Bytes moved become pauses; an abort ends them."""
        with storage_guard(self.plan.log_dir, self.plan.directory):
            for moved_bytes in moves:
                self._check_aborted()
                yield Pause(self.throttle.observe(moved_bytes, self.clock.monotonic_ms()))

    def _check_aborted(self) -> None:
        if self._aborted:
            raise CleaningAborted(str(self.plan.topic_partition))


def seal(cleaned: Segment, modified_ms: int) -> None:
    """Make a cleaned segment durable, with the age of the newest segment that it replaces: retention goes by it."""
    cleaned.become_inactive()
    for file in cleaned.flush_plan():
        file.sync()
    cleaned.flush_done()
    cleaned.set_modified_ms(modified_ms)


def run_steps(cleaning: Cleaning, log: UnifiedLog, pause: Callable[[int], None]) -> None:
    """The simplest driver: all stages in the calling thread."""
    for step in cleaning.steps():
        if isinstance(step, Swap):
            cleaning.swap(step, log)
        elif step.ms:
            pause(step.ms)
