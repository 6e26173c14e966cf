"""Selection of the log to clean next, of logs that must not be cleaned, and the progress of each.

A partition is in one of these states; everything not listed is free to be cleaned:

* in progress: a round is running. At most one per partition.
* paused n times: somebody (truncation, retention, a move, a deletion) must not meet the cleaner; each pause is undone
  by one `resume`. Pausing a partition in progress aborts its round: nothing of it is swapped in any more, from that
  moment on. Its worker may still be writing `.cleaned` files, so no new round begins before `finish` was called.
* uncleanable: a round met damage or something else that it cannot handle. The reason is kept; the partition is left
  alone until it is deleted or the node restarts.

How far a log is clean is in `cleaner-offset-checkpoint` of its log directory. It is read once, kept in memory and
written when it changes. A checkpoint that cannot be read makes every log of its directory wholly dirty, no worse.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from odradek.common.failures import ApiError, Fault, check
from odradek.common.ids import TopicPartition
from odradek.common.ports import Clock, FileSystem
from odradek.log.cleaner.cleaner import CleanerConfig, Cleaning, CleaningAborted
from odradek.log.cleaner.cleaning_plan import DirtyLog, cleanable_offsets, make_plan, measure
from odradek.log.cleaner.throttle import Throttle
from odradek.log.errors import CorruptCheckpoint, StorageFault, storage_guard
from odradek.log.file_names import CLEANER_CHECKPOINT
from odradek.log.manager.checkpoint_files import read_offset_checkpoint, write_offset_checkpoint
from odradek.log.unified_log import UnifiedLog


class CleanerManager:
    """`logs` is the log manager's own mapping of current logs, always up to date."""

    def __init__(
        self,
        files: FileSystem,
        clock: Clock,
        config: CleanerConfig,
        logs: Mapping[TopicPartition, UnifiedLog],
        log_dirs: Iterable[str],
        new_seed: Callable[[], bytes],
    ) -> None:
        """`new_seed` draws at least 16 random bytes: they key the hashes of one round."""
        self.config = config
        self.throttle = Throttle(config.io_max_bytes_per_second, clock.monotonic_ms())
        #: Why each partition is not cleaned any more.
        self.uncleanable: dict[TopicPartition, str] = {}
        #: The largest cleanable ratio that `next_round` met, for metrics.
        self.dirtiest_ratio = 0.0
        self._files = files
        self._clock = clock
        self._logs = logs
        self._new_seed = new_seed
        self._running: dict[TopicPartition, Cleaning] = {}
        self._pauses: dict[TopicPartition, int] = {}
        self._checkpoints: dict[str, dict[TopicPartition, int]] = {}
        for log_dir in log_dirs:
            self.add_dir(log_dir)

    def add_dir(self, log_dir: str) -> None:
        """Clean logs of this directory too. Raises `StorageFault`."""
        self._checkpoints[log_dir] = self._read_checkpoint(log_dir)

    def reconfigure(self, config: CleanerConfig) -> None:
        """The I/O limit changes at once, everything else with the next round."""
        self.config = config
        self.throttle.bytes_per_second = config.io_max_bytes_per_second

    # -- rounds

    def next_round(self) -> Cleaning | None:
        """Begin a round over the dirtiest log that is worth it. The caller runs its steps and calls `finish`."""
        now_ms = self._clock.wall_ms()
        self._forget_deleted()
        dirty = [dirty_log for tp in list(self._logs) if (dirty_log := self._measure(tp, now_ms)) is not None]
        self.dirtiest_ratio = max((dirty_log.cleanable_ratio for dirty_log in dirty), default=0.0)
        candidates = [dirty_log for dirty_log in dirty if dirty_log.is_cleanable]
        if not candidates:
            return None
        selected = max(candidates, key=lambda dirty_log: dirty_log.cleanable_ratio)
        tp = selected.log.topic_partition
        with storage_guard(selected.log.log_dir, selected.log.directory):
            plan = make_plan(selected, now_ms)
        cleaning = Cleaning(plan, self._files, self._clock, self.config, self.throttle, self._new_seed())
        self._running[tp] = cleaning
        return cleaning

    def finish(self, cleaning: Cleaning, error: Exception | None = None) -> None:
        """A round has ended, with the exception that ended it if one did.

        A `StorageFault` is for the log manager; anything else makes the partition uncleanable."""
        tp = cleaning.plan.topic_partition
        check(self._running.pop(tp, None) is cleaning, f"{tp}: no such round is running")
        if cleaning.is_aborted or isinstance(error, CleaningAborted | StorageFault):
            return
        if error is not None:
            self.mark_uncleanable(tp, f"{type(error).__name__}: {error}")
            return
        check(cleaning.end_offset is not None, f"{tp}: the round has not come to its end")
        assert cleaning.end_offset is not None
        self.set_checkpoint(cleaning.plan.log_dir, tp, cleaning.end_offset)

    def is_in_progress(self, tp: TopicPartition) -> bool:
        return tp in self._running

    def may_touch(self, tp: TopicPartition) -> bool:
        """Return whether retention may delete segments of the log now."""
        return tp not in self._running and tp not in self._pauses

    def mark_uncleanable(self, tp: TopicPartition, reason: str) -> None:
        self.uncleanable[tp] = reason

    def _measure(self, tp: TopicPartition, now_ms: int) -> DirtyLog | None:
        log = self._logs[tp]
        if not log.config.value.compact or tp in self._running or tp in self._pauses or tp in self.uncleanable:
            return None
        log_dir = log.log_dir
        if log_dir not in self._checkpoints or log.health.fault is not None:
            return None
        try:
            with storage_guard(log_dir, log.directory):
                offsets = cleanable_offsets(log, self._checkpoints[log_dir].get(tp), now_ms)
                if offsets.reset_checkpoint:
                    self.set_checkpoint(log_dir, tp, offsets.first_dirty_offset)
                return measure(log, offsets, now_ms)
        except StorageFault:
            raise
        except (ApiError, Fault) as error:
            self.mark_uncleanable(tp, f"{type(error).__name__}: {error}")
            return None

    def _forget_deleted(self) -> None:
        for tp in [tp for tp in self.uncleanable if tp not in self._logs]:
            del self.uncleanable[tp]

    # -- pauses

    def abort_and_pause(self, tp: TopicPartition) -> None:
        self._pauses[tp] = self._pauses.get(tp, 0) + 1
        if tp in self._running:
            self._running[tp].abort()

    def resume(self, tp: TopicPartition) -> None:
        check(self._pauses.get(tp, 0) > 0, f"{tp}: cleaning is not paused, so it cannot be resumed")
        self._pauses[tp] -= 1
        if not self._pauses[tp]:
            del self._pauses[tp]

    def abort(self, tp: TopicPartition) -> None:
        self.abort_and_pause(tp)
        self.resume(tp)

    def abort_all(self) -> None:
        """The node stops: no round swaps anything in any more."""
        for cleaning in self._running.values():
            cleaning.abort()

    # -- checkpoints

    def checkpoint(self, tp: TopicPartition) -> int | None:
        """Return the end of a log's clean section; None if it was never cleaned."""
        log = self._logs.get(tp)
        return self._checkpoints.get(log.log_dir, {}).get(tp) if log is not None else None

    def set_checkpoint(self, log_dir: str, tp: TopicPartition, offset: int) -> None:
        if log_dir in self._checkpoints:
            self._checkpoints[log_dir][tp] = offset
            self._write_checkpoint(log_dir)

    def forget(self, log_dir: str, tps: Iterable[TopicPartition]) -> None:
        """The logs are gone from this directory."""
        offsets = self._checkpoints.get(log_dir, {})
        checkpointed = [tp for tp in tps if offsets.pop(tp, None) is not None]
        if checkpointed:
            self._write_checkpoint(log_dir)

    def move(self, tp: TopicPartition, source_dir: str, target_dir: str) -> None:
        """The log's home has changed; what is clean stays clean."""
        offset = self._checkpoints.get(source_dir, {}).get(tp)
        if offset is not None:
            self.forget(source_dir, (tp,))
            self.set_checkpoint(target_dir, tp, offset)

    def truncate_checkpoint(self, log: UnifiedLog) -> None:
        """After a truncation: nothing at or above the active segment can be clean."""
        offsets = self._checkpoints.get(log.log_dir, {})
        active = log.segments.active.base_offset
        if log.config.value.compact and offsets.get(log.topic_partition, 0) > active:
            self.set_checkpoint(log.log_dir, log.topic_partition, active)

    def drop_dir(self, log_dir: str) -> None:
        """The directory is offline: no round of it may touch the disk again."""
        self._checkpoints.pop(log_dir, None)
        for cleaning in self._running.values():
            if cleaning.plan.log_dir == log_dir:
                cleaning.abort()

    def _read_checkpoint(self, log_dir: str) -> dict[TopicPartition, int]:
        path = f"{log_dir}/{CLEANER_CHECKPOINT}"
        try:
            with storage_guard(log_dir, path):
                return read_offset_checkpoint(self._files, path)
        except CorruptCheckpoint:
            return {}

    def _write_checkpoint(self, log_dir: str) -> None:
        """Entries of logs that are no more are left out, as Kafka does."""
        offsets = {tp: offset for tp, offset in self._checkpoints[log_dir].items() if tp in self._logs}
        self._checkpoints[log_dir] = offsets
        path = f"{log_dir}/{CLEANER_CHECKPOINT}"
        with storage_guard(log_dir, path):
            write_offset_checkpoint(self._files, path, dict(offsets))
