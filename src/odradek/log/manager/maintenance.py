"""Periodic maintenance of the logs of a node.

`make_schedule` gives the driver named jobs. Those that only decide and rename run on the loop; those that sync, clean
or remove much are offered in parts as well, so that a driver can do the slow part in a worker:

* flush: `flushes` gives pairs of a log and a plan; `plan.run()` in a worker, `log.flusher.finish(plan)` on the loop.
* cleaning: `begin_round`, the `steps()` of what it gives in a worker; on the loop its `swap` of each `Swap`, and
  `finish_round` at the end.
* removal: `take_removals`, each `run()` in a worker.
* high watermarks: `LogManager.plan_high_watermarks` of each directory; what it gives in a worker.

As jobs of the schedule they do all of it in the calling thread, which is what tests and the simulator want.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

from odradek.common.failures import ApiError, Fault
from odradek.log.cleaner.cleaner import Cleaning, CleaningAborted, run_steps
from odradek.log.errors import StorageFault
from odradek.log.log_flusher import FlushPlan
from odradek.log.manager.file_removal import PendingRemoval
from odradek.log.manager.maintenance_schedule import Job, Schedule
from odradek.log.unified_log import UnifiedLog

if TYPE_CHECKING:
    from odradek.log.manager.log_manager import LogManager

#: How often due removals are looked for; the delay itself is `file.delete.delay.ms`.
_REMOVAL_CHECK_MS = 1_000

#: Looking at a log that has nothing to delete takes some ten microseconds.
_RETENTION_PART = 200


def make_schedule(manager: LogManager, pause: Callable[[int], None]) -> Schedule:
    """Jobs by Kafka's names. `pause` waits as the cleaner's I/O limit demands; the first run of most is delayed,
    so that a node that starts has its disks for itself. High watermarks cost one small file, and a replica that crashed
    soon after its start would do without them; the cleaner has its own back-off."""
    settings, cleaner = manager.settings, manager.cleaner.config
    now_ms = manager.clock.monotonic_ms()
    first_ms = now_ms + settings.log_initial_task_delay_ms
    high_watermarks_ms = settings.replica_high_watermark_checkpoint_interval_ms
    jobs = [
        Job("kafka-log-retention", settings.log_retention_check_interval_ms, lambda: run_retention(manager)),
        Job("kafka-log-flusher", settings.log_flush_scheduler_interval_ms, lambda: flush_dirty(manager), True),
        Job("flush-after-roll", settings.flush_after_roll_check_ms, lambda: flush_rolled(manager), True),
        Job(
            "kafka-recovery-point-checkpoint",
            settings.log_flush_offset_checkpoint_interval_ms,
            lambda: write_recovery_points(manager),
        ),
        Job(
            "kafka-log-start-offset-checkpoint",
            settings.log_flush_start_offset_checkpoint_interval_ms,
            lambda: write_log_starts(manager),
        ),
        Job(
            "PeriodicProducerExpirationCheck",
            settings.producer_id_expiration_check_interval_ms,
            lambda: expire_producers(manager),
        ),
        Job("kafka-delete-logs", _REMOVAL_CHECK_MS, lambda: run_removals(manager), True),
    ]
    schedule = Schedule()
    for job in jobs:
        schedule.add(job, first_ms)
    if cleaner.enable:
        backoff_ms = max(1, cleaner.backoff_ms)
        schedule.add(Job("kafka-log-cleaner", backoff_ms, lambda: clean_all(manager, pause), True), now_ms + backoff_ms)
    job = Job("highwatermark-checkpoint", high_watermarks_ms, lambda: write_high_watermarks(manager))
    schedule.add(job, now_ms + high_watermarks_ms)
    return schedule


# -- retention and removal


def run_retention(manager: LogManager) -> None:
    """Old segments of logs that are not compacted, and of their future logs; the cleaner's job sees to the others."""
    for part in retention_parts(manager):
        delete_old(manager, part)


def retention_parts(manager: LogManager) -> Iterator[list[UnifiedLog]]:
    """The same a few logs at a time, for `delete_old`: there may be thousands."""
    logs = [log for log in manager.all_logs() if not log.config.value.compact]
    for start in range(0, len(logs), _RETENTION_PART):
        yield logs[start : start + _RETENTION_PART]


def run_retention_of_compacted(manager: LogManager) -> None:
    """Also where the policy is `compact` alone: segments may lie before the log start."""
    delete_old(manager, (log for log in manager.current.values() if log.config.value.compact))


def delete_old(manager: LogManager, logs: Iterable[UnifiedLog]) -> None:
    """Delete old segments of those logs that are still open and not being cleaned."""

    def delete(log: UnifiedLog) -> None:
        log.retention.delete_old_segments()

    free = [log for log in logs if not log.health.is_closed and manager.cleaner.may_touch(log.topic_partition)]
    manager.for_each(free, delete)


def take_removals(manager: LogManager) -> list[PendingRemoval]:
    """Return the removals that are due. The delay of segments that were dropped since the last call begins."""
    for log in manager.all_logs():
        for removal in log.segments.take_removals():
            manager.removals.add_segments(log, removal)
    return manager.removals.take_due(manager.clock.monotonic_ms())


def run_removals(manager: LogManager) -> None:
    for removal in take_removals(manager):
        if removal.log_dir in manager.live:
            try:
                removal.run()
            except StorageFault as fault:
                manager.fail_dir(fault)


# -- durability


def flushes(manager: LogManager, *, rolled_only: bool) -> list[tuple[UnifiedLog, FlushPlan]]:
    """Logs whose last flush is `flush.ms` ago, or with `rolled_only` those that rolled, up to where they did."""
    now_ms = manager.clock.monotonic_ms()
    plans: list[tuple[UnifiedLog, FlushPlan]] = []

    def plan_flush(log: UnifiedLog) -> None:
        flusher = log.flusher
        if rolled_only:
            plan = flusher.plan(flusher.requested_up_to) if flusher.requested_up_to is not None else None
        else:
            is_due = now_ms - flusher.last_flush_ms >= log.config.value.flush_ms
            plan = flusher.plan() if is_due else None
        if plan is not None:
            plans.append((log, plan))

    logs = [log for log in manager.all_logs() if not rolled_only or log.flusher.requested_up_to is not None]
    manager.for_each(logs, plan_flush)
    return plans


def flush_dirty(manager: LogManager) -> None:
    _flush(manager, flushes(manager, rolled_only=False))


def flush_rolled(manager: LogManager) -> None:
    """Segments that were rolled are made durable soon, whatever `flush.ms` says, so that recovery stays short."""
    _flush(manager, flushes(manager, rolled_only=True))


def _flush(manager: LogManager, plans: Iterable[tuple[UnifiedLog, FlushPlan]]) -> None:
    for log, plan in plans:

        def carry_out(log: UnifiedLog, plan: FlushPlan = plan) -> None:
            plan.run()
            log.flusher.finish(plan)

        manager.for_each((log,), carry_out)


# -- checkpoints and producers


def write_recovery_points(manager: LogManager) -> None:
    _in_each_dir(manager, manager.write_recovery_points)


def write_log_starts(manager: LogManager) -> None:
    _in_each_dir(manager, manager.write_log_starts)


def write_high_watermarks(manager: LogManager) -> None:
    _in_each_dir(manager, manager.write_high_watermarks)


def expire_producers(manager: LogManager) -> None:
    for log in manager.all_logs():
        log.producers.remove_expired(manager.clock.wall_ms())


def _in_each_dir(manager: LogManager, action: Callable[[str], None]) -> None:
    for log_dir in list(manager.live):
        try:
            action(log_dir)
        except StorageFault as fault:
            manager.fail_dir(fault)


# -- cleaning


def clean_all(manager: LogManager, pause: Callable[[int], None]) -> None:
    """Rounds until no log is worth one, each followed by the retention of compacted logs."""
    while clean_once(manager, pause):
        pass


def clean_once(manager: LogManager, pause: Callable[[int], None]) -> bool:
    """One round over the dirtiest log; False if there was none."""
    cleaning = begin_round(manager)
    if cleaning is not None:
        error: Exception | None = None
        try:
            run_steps(cleaning, manager.current[cleaning.plan.topic_partition], pause)
        except (ApiError, Fault, CleaningAborted) as caught:
            error = caught
        finish_round(manager, cleaning, error)
    run_retention_of_compacted(manager)
    return cleaning is not None


def begin_round(manager: LogManager) -> Cleaning | None:
    try:
        return manager.cleaner.next_round()
    except StorageFault as fault:
        manager.fail_dir(fault)
        return None


def finish_round(manager: LogManager, cleaning: Cleaning, error: Exception | None) -> None:
    """On the loop, when the steps have ended, with the exception that ended them.

    A round that was aborted may have lost its files under its feet: its errors say nothing of the disk."""
    try:
        manager.cleaner.finish(cleaning, error)
    except StorageFault as fault:
        error = fault
    if isinstance(error, StorageFault) and not cleaning.is_aborted:
        manager.fail_dir(error)
