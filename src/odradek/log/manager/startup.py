"""Starting and stopping: from directories to logs, and back.

Start. For every log directory its partitions are listed, the clean-shutdown marker is read and removed, and the
checkpoints are read; that gives one `LoadJob` per partition, plain data. `run_job` carries out one and touches nothing
but its directory, so a driver may run all of them in worker threads. `add_loaded` takes what came out of them, on the
loop. `load_all` is all of this in one call.

A partition whose data is damaged below its recovery point is not loaded and not repaired: it is remembered as damaged,
its checkpoints are kept as they are, and its directory gets no clean-shutdown marker, so that no later start mistakes
the damage for the torn end of a crash and cuts it away.

Stop. Every log is flushed and closed, then the checkpoints are written, then the marker, each durable before the next.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from odradek.common.failures import ApiError, Fault, InputError
from odradek.common.ids import TopicPartition
from odradek.common.ports import Clock, FileSystem
from odradek.log.errors import DamagedFile, StorageFault, storage_guard
from odradek.log.file_names import (
    CLEANER_CHECKPOINT,
    CLUSTER_METADATA_TOPIC,
    DELETE_DIR_SUFFIX,
    FUTURE_DIR_SUFFIX,
    LOG_START_CHECKPOINT,
    RECOVERY_POINT_CHECKPOINT,
    REPLICATION_CHECKPOINT,
    STRAY_DIR_SUFFIX,
    marked_partition_dir,
    parse_partition_dir,
)
from odradek.log.log_config import LogConfig
from odradek.log.manager import log_checkpoints as checkpoints
from odradek.log.manager.checkpoint_files import delete_clean_shutdown, read_clean_shutdown, write_clean_shutdown
from odradek.log.recovery.log_loader import LogOptions, load_log, new_log
from odradek.log.unified_log import UnifiedLog

if TYPE_CHECKING:
    from odradek.log.manager.log_manager import LogManager

#: Directories that may lie beside the partitions: what mkfs leaves in the root of a disk, and a cache of Kafka's.
_FOREIGN_DIRS = ("lost+found", "remote-log-index-cache")

#: Like the built-in `map`; a thread pool's `map` is another one.
Run = Callable[[Callable[[Any], Any], Iterable[Any]], Iterable[Any]]

IsStray = Callable[[UnifiedLog], bool]


@dataclass(frozen=True, slots=True)
class LoadJob:
    """One partition directory, with what the checkpoints say about it. `mark` is `-delete`, `-future`, `-stray`, ''."""

    log_dir: str
    directory: str
    topic_partition: TopicPartition
    mark: str
    config: LogConfig
    recovery_point: int
    log_start_offset: int
    high_watermark: int | None
    clean_shutdown: bool
    was_cleaned: bool


@dataclass(frozen=True, slots=True)
class Loaded:
    """Result of a job: a log, or the error."""

    job: LoadJob
    log: UnifiedLog | None
    error: Fault | None


def load_all(manager: LogManager, run: Run = map, is_stray: IsStray | None = None) -> None:
    """Load every partition of every live directory. `is_stray` knows which logs are no longer this node's."""
    options = log_options(manager)

    def load(job: LoadJob) -> Loaded:
        return run_job(manager.files, manager.clock, options, job)

    for loaded in list(run(load, load_jobs(manager))):
        add_loaded(manager, loaded, is_stray)


def load_jobs(manager: LogManager) -> list[LoadJob]:
    """Look at every directory before anything is changed in one; then begin, by removing the marker."""
    names_by_dir: dict[str, list[str]] = {}
    for log_dir in list(manager.live):
        try:
            with storage_guard(log_dir, log_dir):
                names_by_dir[log_dir] = _partition_dirs(manager.files, log_dir)
        except StorageFault as fault:
            manager.fail_dir(fault)
    jobs: list[LoadJob] = []
    for log_dir, names in names_by_dir.items():
        try:
            jobs += _jobs_in(manager, log_dir, names)
        except StorageFault as fault:
            manager.fail_dir(fault)
    return jobs


def run_job(files: FileSystem, clock: Clock, options: LogOptions, job: LoadJob) -> Loaded:
    """In any thread."""
    try:
        log = load_log(
            files,
            clock,
            job.directory,
            job.config,
            log_start_offset=job.log_start_offset,
            recovery_point=job.recovery_point,
            clean_shutdown=job.clean_shutdown,
            was_cleaned=job.was_cleaned,
            options=options,
        )
    except StorageFault as error:
        return Loaded(job, None, error)
    except (Fault, ApiError) as error:  # whatever is wrong with one partition is no reason not to start
        damage = error if isinstance(error, DamagedFile) else DamagedFile(job.directory, None, str(error))
        return Loaded(job, None, damage)
    if job.high_watermark is not None and not job.mark:
        log.offsets.set_high_watermark(job.high_watermark)
    return Loaded(job, log, None)


def add_loaded(manager: LogManager, loaded: Loaded, is_stray: IsStray | None = None) -> None:
    """On the loop: a log takes its place, or its failure is dealt with."""
    job, log = loaded.job, loaded.log
    if isinstance(loaded.error, StorageFault):
        manager.fail_dir(loaded.error)
    elif loaded.error is not None:
        manager.loaded[job.log_dir] = False
        manager.damaged[job.topic_partition] = Damaged(job, str(loaded.error))
    if log is None:
        return
    if job.log_dir not in manager.live:
        log.close_handlers()  # the directory failed while others of its logs were loading
        return
    tp = job.topic_partition
    if job.mark == DELETE_DIR_SUFFIX:
        manager.removals.add_log(log, log.config.value.file_delete_delay_ms)
    elif job.mark == STRAY_DIR_SUFFIX:
        manager.stray[tp] = log
    elif is_stray is not None and is_stray(log):
        try:
            log.rename_dir(marked_partition_dir(tp, manager.new_uuid().hex(), STRAY_DIR_SUFFIX), keep_state=False)
            manager.stray[tp] = log
        except StorageFault as fault:
            manager.fail_dir(fault)
    elif job.mark == FUTURE_DIR_SUFFIX:
        _add_once(manager.future, tp, log)
    elif tp in manager.current and manager.current[tp].topic_id != log.topic_id:
        manager.duplicates.append(log)
    else:
        _add_once(manager.current, tp, log)


@dataclass(frozen=True, slots=True)
class Damaged:
    """A partition that was found damaged at the start, and is left as it is."""

    job: LoadJob
    reason: str


def log_options(manager: LogManager) -> LogOptions:
    settings = manager.settings
    return LogOptions(
        producer_expiration_ms=settings.producer_id_expiration_ms,
        max_transaction_timeout_ms=settings.transaction_max_timeout_ms,
        verification_enabled=settings.transaction_partition_verification_enable,
        roll_jitter_ms=manager.roll_jitter_ms,
    )


def create_log(
    manager: LogManager, log_dir: str, name: str, topic_partition: TopicPartition, topic_id: bytes | None
) -> UnifiedLog:
    """A new, empty log. Raises `StorageFault`."""
    directory, config, options = f"{log_dir}/{name}", manager.config_for(topic_partition.topic), log_options(manager)
    if not manager.files.exists(directory):
        return new_log(manager.files, manager.clock, directory, config, topic_id, options)
    log = load_log(manager.files, manager.clock, directory, config, clean_shutdown=True, options=options)
    if topic_id is not None and log.topic_id is None:
        log.assign_topic_id(topic_id)
    return log


def shutdown(manager: LogManager, broker_epoch: int = -1, run: Run = map) -> None:
    """A clean stop. `run` may close logs in worker threads. Rounds of cleaning must have ended, or been aborted."""
    manager.cleaner.abort_all()

    def close(log: UnifiedLog) -> StorageFault | None:
        try:
            log.flusher.take_producer_snapshot()
            log.flusher.flush(include_active=True)
            log.close()
        except StorageFault as fault:
            return fault
        return None

    logs = [
        log for log in [*manager.all_logs(), *manager.stray.values(), *manager.duplicates] if log.health.fault is None
    ]
    for fault in list(run(close, logs)):
        if fault is not None:
            manager.offline.setdefault(fault.log_dir, str(fault))
    for log_dir, directory in manager.live.items():
        if log_dir not in manager.offline:
            try:
                _leave(manager, log_dir, broker_epoch)
            except StorageFault as fault:
                manager.offline[log_dir] = str(fault)
        directory.lock.release()


def _leave(manager: LogManager, log_dir: str, broker_epoch: int) -> None:
    manager.write_recovery_points(log_dir)
    manager.write_log_starts(log_dir)
    manager.write_high_watermarks(log_dir)
    healthy = all(log.health.fault is None for log in manager.logs_in(log_dir).values())
    if healthy and (manager.had_clean_shutdown.get(log_dir) or manager.loaded.get(log_dir)):
        with storage_guard(log_dir, log_dir):
            write_clean_shutdown(manager.files, log_dir, broker_epoch)


def broker_epoch_of_last_stop(manager: LogManager) -> int | None:
    """The epoch in the clean-shutdown markers, before `load_jobs` removes them; None unless all directories agree."""
    if manager.offline:
        return None
    epochs: dict[int | None, None] = {}
    for log_dir in manager.live:
        with storage_guard(log_dir, log_dir):
            marker = read_clean_shutdown(manager.files, log_dir)
        epochs[marker.broker_epoch if marker is not None else None] = None
    return next(iter(epochs)) if len(epochs) == 1 else None


def _partition_dirs(files: FileSystem, log_dir: str) -> list[str]:
    names = []
    for name in files.list_dir(log_dir):
        if name in _FOREIGN_DIRS or not files.is_dir(f"{log_dir}/{name}"):
            continue
        parsed = parse_partition_dir(name)
        if parsed is None:
            raise InputError(
                f"{log_dir}/{name}: a directory in a log directory must be a partition, named topic-partition.\n"
                "  Move it elsewhere, or point log.dirs at a directory that holds nothing else."
            )
        if parsed.topic_partition.topic != CLUSTER_METADATA_TOPIC:
            names.append(name)
    return names


def _jobs_in(manager: LogManager, log_dir: str, names: Iterable[str]) -> list[LoadJob]:
    files = manager.files
    with storage_guard(log_dir, log_dir):
        clean = read_clean_shutdown(files, log_dir) is not None
        delete_clean_shutdown(files, log_dir)
    manager.had_clean_shutdown[log_dir] = clean
    manager.loaded[log_dir] = True
    recovery_points = checkpoints.read_or_empty(files, log_dir, RECOVERY_POINT_CHECKPOINT)
    log_starts = checkpoints.read_or_empty(files, log_dir, LOG_START_CHECKPOINT)
    high_watermarks = checkpoints.read_or_empty(files, log_dir, REPLICATION_CHECKPOINT)
    cleaned = checkpoints.read_or_empty(files, log_dir, CLEANER_CHECKPOINT)
    jobs = []
    for name in names:
        parsed = parse_partition_dir(name)
        assert parsed is not None
        tp = parsed.topic_partition
        jobs.append(
            LoadJob(
                log_dir=log_dir,
                directory=f"{log_dir}/{name}",
                topic_partition=tp,
                mark=parsed.mark,
                config=manager.config_for(tp.topic),
                recovery_point=recovery_points.get(tp, 0),
                log_start_offset=log_starts.get(tp, 0),
                high_watermark=high_watermarks.get(tp),
                clean_shutdown=clean,
                was_cleaned=tp in cleaned,
            )
        )
    return jobs


def _add_once(logs: dict[TopicPartition, UnifiedLog], tp: TopicPartition, log: UnifiedLog) -> None:
    other = logs.get(tp)
    if other is not None:
        raise InputError(
            f"{tp} is in two log directories: {other.directory} and {log.directory}.\n"
            "  One of the two was offline while the replica was moved or created again. Delete that one: the other has "
            "the newer records."
        )
    logs[tp] = log
