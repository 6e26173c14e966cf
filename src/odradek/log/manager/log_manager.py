"""All logs of a node: where they live, and what is done with them again and again.

A node has one or more log directories; a partition lives in one of them, as a directory `topic-partition`. Besides the
current logs there are future ones (a copy that grows in another directory, to take the place of the current one),
deleted ones (renamed, and removed a while later) and stray ones (they belong to a topic that is no longer ours; kept
for a person to look at).

**Failure of a directory.** Any `StorageFault` takes its whole directory offline: its logs are forgotten, their files
let go of, and nothing in it is touched again until the node restarts. All other directories go on. When the last one is
gone, the node cannot go on: that is a `Fault`. What a caller is told is `KafkaStorageError`.

**A clean stop.** Every log is flushed and closed, the checkpoints are written, and last of all a marker with the broker
epoch. At start the marker is read and removed before any log is loaded, so that a crash while loading is a crash.

The manager runs on the loop and never waits. Work that takes time is data: load jobs, flushes, rounds of cleaning and
removals have a part that may run in a worker. `maintenance_schedule` says what is due when (see `maintenance`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager

from odradek.common.failures import Fault, check
from odradek.common.ids import TopicPartition, uuid_to_text
from odradek.common.ports import Clock, FileSystem
from odradek.log.cleaner.cleaner import CleanerConfig
from odradek.log.cleaner.cleaner_manager import CleanerManager
from odradek.log.errors import InconsistentTopicId, KafkaStorageError, StorageFault
from odradek.log.file_names import (
    FUTURE_DIR_SUFFIX,
    marked_partition_dir,
    partition_dir,
)
from odradek.log.log_config import LogConfig
from odradek.log.manager import log_checkpoints as checkpoints
from odradek.log.manager.file_removal import Removals
from odradek.log.manager.log_directories import LogDir, OpenedDirs
from odradek.log.manager.settings import ManagerSettings
from odradek.log.manager.startup import Damaged, IsStray, Run, create_log, load_all, shutdown
from odradek.log.segment_list import no_jitter
from odradek.log.unified_log import UnifiedLog

Logs = dict[TopicPartition, UnifiedLog]


class LogManager:
    """`current` and `future` are public to read; everything that changes them goes through a method."""

    def __init__(
        self,
        files: FileSystem,
        clock: Clock,
        opened: OpenedDirs,
        default_config: LogConfig,
        *,
        topic_configs: Mapping[str, LogConfig] | None = None,
        settings: ManagerSettings | None = None,
        cleaner_config: CleanerConfig | None = None,
        new_uuid: Callable[[], bytes],
        roll_jitter_ms: Callable[[], int] = no_jitter,
    ) -> None:
        """`new_uuid` draws 16 random bytes, `roll_jitter_ms` the jitter of a segment."""
        self.files = files
        self.clock = clock
        self.settings = settings or ManagerSettings()
        self.default_config = default_config
        self.topic_configs = dict(topic_configs or {})
        self.new_uuid = new_uuid
        self.roll_jitter_ms = roll_jitter_ms
        self.live: dict[str, LogDir] = {directory.path: directory for directory in opened.live}
        #: Why each directory that is not live is not.
        self.offline: dict[str, str] = dict(opened.offline)
        #: `cordoned.log.dirs`: logs that are there stay, and no new one is made there if it can be helped.
        self.cordoned: tuple[str, ...] = ()
        self.current: Logs = {}
        self.future: Logs = {}
        self.stray: Logs = {}
        #: Logs beside those in `current`, of the same partitions of topics with other ids: a directory was offline when
        #: its topic was deleted and created again. See `log_changes.settle_duplicates`.
        self.duplicates: list[UnifiedLog] = []
        #: Partitions that were found damaged at the start; see `startup`.
        self.damaged: dict[TopicPartition, Damaged] = {}
        self.removals = Removals(clock)
        #: Directories that logs have left since; see `log_changes.settle_deletions`.
        self.unsettled: dict[str, None] = {}
        #: Directories in which every log was loaded, so that a stop may call itself clean.
        self.loaded: dict[str, bool] = {}
        self.had_clean_shutdown: dict[str, bool] = {}
        self._checkpoints = checkpoints.CheckpointFiles(files)
        self._preferred: dict[TopicPartition, str] = {}
        self._on_offline: list[Callable[[str, tuple[TopicPartition, ...]], None]] = []
        config = cleaner_config or CleanerConfig()
        self.cleaner = CleanerManager(files, clock, config, self.current, (), new_uuid)
        for log_dir in opened.live:
            try:
                self.cleaner.add_dir(log_dir.path)
            except StorageFault as fault:
                self.fail_dir(fault)

    # -- start and stop

    def load_all(self, run: Run = map, is_stray: IsStray | None = None) -> None:
        """Load every log; `run` may be the `map` of a thread pool."""
        load_all(self, run, is_stray)

    def shutdown(self, broker_epoch: int = -1, run: Run = map) -> None:
        """Flush and close every log, write the checkpoints, mark the stop as clean."""
        shutdown(self, broker_epoch, run)

    # -- finding

    def log(self, tp: TopicPartition, *, is_future: bool = False) -> UnifiedLog | None:
        return (self.future if is_future else self.current).get(tp)

    def all_logs(self) -> list[UnifiedLog]:
        return [*self.current.values(), *self.future.values()]

    def logs_in(self, log_dir: str) -> Logs:
        """Current and future ones; a partition never has both in one directory."""
        logs = [*self.current.items(), *self.future.items()]
        return {tp: log for tp, log in logs if log.log_dir == log_dir}

    def directory_id(self, log_dir: str) -> bytes | None:
        directory = self.live.get(log_dir)
        return directory.directory_id if directory is not None else None

    def directory_path(self, directory_id: bytes) -> str | None:
        paths = [path for path, directory in self.live.items() if directory.directory_id == directory_id]
        return paths[0] if paths else None

    def config_for(self, topic: str) -> LogConfig:
        return self.topic_configs.get(topic, self.default_config)

    # -- failure

    def on_offline(self, listener: Callable[[str, tuple[TopicPartition, ...]], None]) -> None:
        """Be told of a directory that went offline, and of the partitions that went with it."""
        self._on_offline.append(listener)

    def fail_dir(self, fault: StorageFault) -> None:
        """Take the fault's directory offline with everything in it; to say it again does no harm."""
        log_dir = fault.log_dir
        directory = self.live.pop(log_dir, None)
        if directory is None:
            return
        self.offline[log_dir] = str(fault)
        self.cleaner.drop_dir(log_dir)
        self.removals.drop_dir(log_dir)
        affected: list[TopicPartition] = []
        for logs in (self.current, self.future, self.stray):
            for tp in [tp for tp, log in logs.items() if log.log_dir == log_dir]:
                log = logs.pop(tp)
                log.health.take_offline(fault)
                log.close_handlers()
                affected.append(tp)
        for log in [log for log in self.duplicates if log.log_dir == log_dir]:
            self.duplicates.remove(log)
            log.close_handlers()
        directory.lock.release()
        for listener in self._on_offline:
            listener(log_dir, tuple(affected))
        if not self.live:
            raise Fault(f"all log directories have failed: {'; '.join(f'{d}: {r}' for d, r in self.offline.items())}")

    @contextmanager
    def watched(self) -> Iterator[None]:
        """Take the directory of a failing disk offline, and raise `KafkaStorageError` for the caller."""
        try:
            yield
        except StorageFault as fault:
            self.fail_dir(fault)
            raise KafkaStorageError(str(fault)) from fault

    def for_each(self, logs: Iterable[UnifiedLog], action: Callable[[UnifiedLog], None]) -> None:
        """`action` on every log that is online; one whose disk fails, here or earlier, takes its directory offline, and
        the others go on."""
        for log in list(logs):
            try:
                if isinstance(log.health.fault, StorageFault):
                    raise log.health.fault
                if log.health.fault is None and log.log_dir in self.live:
                    action(log)
            except StorageFault as fault:
                self.fail_dir(fault)

    # -- checkpoints of one directory

    def write_recovery_points(self, log_dir: str) -> None:
        retained = {tp: damaged.job.recovery_point for tp, damaged in self._damaged_in(log_dir)}
        checkpoints.write_recovery_points(self._checkpoints, log_dir, self.logs_in(log_dir), retained)

    def write_log_starts(self, log_dir: str) -> None:
        retained = {tp: damaged.job.log_start_offset for tp, damaged in self._damaged_in(log_dir)}
        checkpoints.write_log_starts(self._checkpoints, log_dir, self.logs_in(log_dir), retained)

    def write_high_watermarks(self, log_dir: str) -> None:
        self.plan_high_watermarks(log_dir)()

    def plan_high_watermarks(self, log_dir: str) -> Callable[[], None]:
        """Return a function that writes the current ones: it waits for the disk, and so may run in a worker."""
        retained = {tp: damaged.job.high_watermark or 0 for tp, damaged in self._damaged_in(log_dir)}
        return checkpoints.plan_high_watermarks(self._checkpoints, log_dir, self.logs_in(log_dir), retained)

    def _damaged_in(self, log_dir: str) -> list[tuple[TopicPartition, Damaged]]:
        return [(tp, damaged) for tp, damaged in self.damaged.items() if damaged.job.log_dir == log_dir]

    # -- creating

    def prefer_dir(self, tp: TopicPartition, log_dir: str) -> None:
        """Set the directory of the partition's next log (a replica move); no effect if it has a log there."""
        homes = [log.log_dir for log in (self.current.get(tp), self.future.get(tp)) if log is not None]
        if log_dir not in homes:
            self._preferred[tp] = log_dir

    def next_dirs(self) -> list[str]:
        """Live directories, the one with the fewest logs first; ties in the order of `log.dirs`."""
        if len(self.live) == 1:
            return list(self.live)
        counts = dict.fromkeys(self.live, 0)
        for log in self.all_logs():
            counts[log.log_dir] += 1
        allowed = [log_dir for log_dir in counts if log_dir not in self.cordoned]
        return sorted(allowed, key=lambda log_dir: counts[log_dir]) or list(self.live)[:1]

    def get_or_create(
        self,
        tp: TopicPartition,
        topic_id: bytes | None = None,
        *,
        is_new: bool = False,
        is_future: bool = False,
        directory_id: bytes | None = None,
    ) -> UnifiedLog:
        """A log that should exist (`is_new` False) is not made while a directory is offline: it may be in there."""
        log = self.log(tp, is_future=is_future)
        if log is None:
            if tp in self.damaged:
                raise KafkaStorageError(f"{tp} is damaged: {self.damaged[tp].reason}")
            if not is_new and self.offline:
                raise KafkaStorageError(f"{tp} may be in one of the offline log directories {', '.join(self.offline)}")
            log = self._create(tp, topic_id, is_future, directory_id)
        if topic_id is not None and log.topic_id is not None and log.topic_id != topic_id:
            raise InconsistentTopicId(f"{tp} has topic id {uuid_to_text(log.topic_id)}, not {uuid_to_text(topic_id)}")
        return log

    def _create(
        self, tp: TopicPartition, topic_id: bytes | None, is_future: bool, directory_id: bytes | None
    ) -> UnifiedLog:
        preferred = self._preferred.get(tp)
        if preferred is None and directory_id is not None:
            preferred = self.directory_path(directory_id)
        if is_future:
            check(preferred is not None, f"{tp}: a future log needs a directory to grow in")
            current = self.current.get(tp)
            check(current is None or current.log_dir != preferred, f"{tp}: already is in {preferred}")
        name = partition_dir(tp)
        if is_future:
            name = marked_partition_dir(tp, self.new_uuid().hex(), FUTURE_DIR_SUFFIX)
        log = self._create_in([preferred] if preferred is not None else self.next_dirs(), name, tp, topic_id)
        (self.future if is_future else self.current)[tp] = log
        self._preferred.pop(tp, None)
        return log

    def _create_in(self, log_dirs: list[str], name: str, tp: TopicPartition, topic_id: bytes | None) -> UnifiedLog:
        """In the first of the directories that is able to."""
        for log_dir in log_dirs:
            if log_dir not in self.live:
                continue
            try:
                return create_log(self, log_dir, name, tp, topic_id)
            except StorageFault as fault:
                self.fail_dir(fault)
        raise KafkaStorageError(f"{tp}: no log directory is available; tried {', '.join(log_dirs)}")
