"""Changes of a whole log: deletion, a move between directories, truncation, another configuration.

Each of these must not meet the cleaner half-way: its round over the log is aborted first, and cleaning is paused for as
long as it takes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING

from odradek.common.failures import check
from odradek.common.ids import TopicPartition
from odradek.log.errors import KafkaStorageError, StorageFault, storage_guard
from odradek.log.file_names import DELETE_DIR_SUFFIX, STRAY_DIR_SUFFIX, marked_partition_dir, partition_dir
from odradek.log.log_config import LogConfig
from odradek.log.unified_log import UnifiedLog

if TYPE_CHECKING:
    from odradek.log.manager.log_manager import LogManager


def delete_log(manager: LogManager, tp: TopicPartition, *, is_future: bool = False, is_stray: bool = False) -> None:
    """Rename the log out of the way; a stray one is kept for a person to look at, any other is removed later."""
    _rename_log(manager, tp, is_future=is_future, is_stray=is_stray)
    settle_deletions(manager)


def _rename_log(manager: LogManager, tp: TopicPartition, *, is_future: bool, is_stray: bool) -> None:
    logs = manager.future if is_future else manager.current
    log = logs.get(tp)
    if log is None:
        if manager.offline:
            raise KafkaStorageError(f"{tp} may be in one of the offline log directories {', '.join(manager.offline)}")
        return
    log_dir = log.log_dir
    with manager.watched():
        if not is_future:
            manager.cleaner.abort(tp)
        del logs[tp]
        if not is_future:
            manager.cleaner.forget(log_dir, (tp,))
        _rename_away(manager, log, STRAY_DIR_SUFFIX if is_stray else DELETE_DIR_SUFFIX, keep_state=False)
        if is_stray:
            manager.stray[tp] = log
        manager.unsettled[log_dir] = None


def delete_logs(
    manager: LogManager, tps: Iterable[TopicPartition], *, is_stray: bool = False
) -> dict[TopicPartition, KafkaStorageError]:
    """Current and future logs of many partitions; what could not be deleted, and why. `settle_deletions` comes next."""
    failed: dict[TopicPartition, KafkaStorageError] = {}
    for tp in tps:
        if tp in manager.damaged:
            try:
                rename_damaged_to_stray(manager, tp)
            except KafkaStorageError as error:
                failed[tp] = error
        for is_future in (False, True):
            if manager.log(tp, is_future=is_future) is not None:
                try:
                    _rename_log(manager, tp, is_future=is_future, is_stray=is_stray)
                except KafkaStorageError as error:
                    failed[tp] = error
    return failed


def rename_damaged_to_stray(manager: LogManager, tp: TopicPartition) -> str:
    """A log that was found damaged, when it was loaded or later, is renamed to `-stray`; its new path."""
    log = manager.current.get(tp)
    directory, log_dir = (
        (log.directory, log.log_dir)
        if log is not None
        else (manager.damaged[tp].job.directory, manager.damaged[tp].job.log_dir)
    )
    target = f"{log_dir}/{marked_partition_dir(tp, manager.new_uuid().hex(), STRAY_DIR_SUFFIX)}"
    with manager.watched():
        if log is not None:
            manager.cleaner.abort(tp)
            manager.cleaner.forget(log_dir, (tp,))
            log.close_handlers()
        with storage_guard(log_dir, directory):
            manager.files.rename(directory, target)
            manager.files.sync_dir(log_dir)
        manager.current.pop(tp, None)
        manager.damaged.pop(tp, None)
        checkpoint_dir(manager, log_dir)
    return target


def settle_deletions(manager: LogManager) -> None:
    """Once for any number of logs that left their directories: their new names are durable, and the checkpoints do not
    speak of them any more. It must come before a log of the same name is made."""
    directories, manager.unsettled = list(manager.unsettled), {}
    for log_dir in directories:
        if log_dir not in manager.live:
            continue
        try:
            with storage_guard(log_dir, log_dir):
                manager.files.sync_dir(log_dir)
            checkpoint_dir(manager, log_dir)
        except StorageFault as fault:
            manager.fail_dir(fault)


def settle_duplicates(manager: LogManager, is_stray: Callable[[UnifiedLog], bool]) -> list[UnifiedLog]:
    """Keep the log of this broker's replica where a partition is in several directories. Return the others, which are
    renamed and kept as stray; one that cannot be renamed takes its directory offline."""
    duplicates, manager.duplicates = manager.duplicates, []
    stray: list[UnifiedLog] = []
    for log in duplicates:
        tp = log.topic_partition
        current = manager.current.get(tp)
        if current is None or (is_stray(current) and not is_stray(log)):
            manager.cleaner.abort(tp)
            manager.current[tp] = log
            log.config.update(manager.config_for(tp.topic))
            if current is None:
                continue
            log = current
        try:
            with manager.watched():
                manager.cleaner.forget(log.log_dir, (tp,))
                _rename_away(manager, log, STRAY_DIR_SUFFIX, keep_state=False)
        except KafkaStorageError:
            continue
        manager.stray[tp] = log
        manager.unsettled[log.log_dir] = None
        stray.append(log)
    settle_deletions(manager)
    return stray


def replace_current_with_future(manager: LogManager, tp: TopicPartition) -> None:
    """The future log has caught up: it becomes the current one, and the old one is deleted.

    The old one goes first. A crash between the two renames leaves the future log alone, which is the replica then
    (`promote_future`); the other way round it would leave two directories of one name, and nobody could tell which
    is right."""
    source, target = manager.current.get(tp), manager.future.get(tp)
    for log, kind in ((source, "current"), (target, "future")):
        if log is None:
            raise KafkaStorageError(f"The {kind} replica for {tp} is offline")
    assert source is not None and target is not None
    manager.cleaner.abort_and_pause(tp)
    try:
        with manager.watched():
            _rename_away(manager, source, DELETE_DIR_SUFFIX, keep_state=True)
            del manager.current[tp]
            target.offsets.set_high_watermark(source.offsets.high_watermark)
            promote_future(manager, tp)
            manager.cleaner.move(tp, source.log_dir, target.log_dir)
            checkpoint_dir(manager, source.log_dir)
    finally:
        manager.cleaner.resume(tp)


def promote_future(manager: LogManager, tp: TopicPartition) -> None:
    """The future log becomes the current one, where there is no other."""
    check(tp not in manager.current, f"{tp}: has a current log beside the future one")
    log = manager.future[tp]
    with manager.watched():
        log.rename_dir(partition_dir(tp), keep_state=True)
        del manager.future[tp]
        manager.current[tp] = log


def truncate_to(manager: LogManager, offsets: Mapping[TopicPartition, int], *, is_future: bool = False) -> None:
    """Cut logs back, and write the recovery points at once: they must not claim what is gone."""
    touched: dict[str, None] = {}
    for tp, offset in offsets.items():
        log = manager.log(tp, is_future=is_future)
        if log is None:
            continue
        meets_cleaner = not is_future and offset < log.segments.active.base_offset
        if meets_cleaner:
            manager.cleaner.abort_and_pause(tp)
        try:
            with manager.watched():
                if log.truncation.truncate_to(offset):
                    touched[log.log_dir] = None
                if meets_cleaner:
                    manager.cleaner.truncate_checkpoint(log)
        finally:
            if meets_cleaner:
                manager.cleaner.resume(tp)
    with manager.watched():
        for log_dir in touched:
            manager.write_recovery_points(log_dir)


def truncate_fully_and_start_at(
    manager: LogManager,
    tp: TopicPartition,
    offset: int,
    *,
    log_start_offset: int | None = None,
    is_future: bool = False,
) -> None:
    log = manager.log(tp, is_future=is_future)
    if log is None:
        return
    if not is_future:
        manager.cleaner.abort_and_pause(tp)
    try:
        with manager.watched():
            log.truncation.restart_at(offset, log_start_offset)
            if not is_future:
                manager.cleaner.truncate_checkpoint(log)
            manager.write_recovery_points(log.log_dir)
    finally:
        if not is_future:
            manager.cleaner.resume(tp)


def update_topic_config(manager: LogManager, topic: str, config: LogConfig | None) -> None:
    """Another configuration for all logs of a topic, now and later; None is the default again."""
    if config is None:
        manager.topic_configs.pop(topic, None)
    else:
        manager.topic_configs[topic] = config
    _reconfigure(manager, [log for log in manager.all_logs() if log.topic_partition.topic == topic])


def update_default_config(manager: LogManager, config: LogConfig) -> None:
    """Topics with a configuration of their own keep it: whoever made it from the old default makes it anew."""
    manager.default_config = config
    _reconfigure(manager, [log for log in manager.all_logs() if log.topic_partition.topic not in manager.topic_configs])


def checkpoint_dir(manager: LogManager, log_dir: str) -> None:
    """After a log has left the directory: the checkpoints must not speak of it any more."""
    manager.write_recovery_points(log_dir)
    manager.write_log_starts(log_dir)


def _reconfigure(manager: LogManager, logs: Iterable[UnifiedLog]) -> None:
    for log in logs:
        compacted = log.config.value.compact
        log.config.update(manager.config_for(log.topic_partition.topic))
        if compacted and not log.config.value.compact:
            manager.cleaner.abort(log.topic_partition)


def _rename_away(manager: LogManager, log: UnifiedLog, mark: str, *, keep_state: bool) -> None:
    name = marked_partition_dir(log.topic_partition, manager.new_uuid().hex(), mark)
    try:
        log.rename_dir(name, keep_state=keep_state, sync=keep_state)
    except StorageFault:
        # The log is in none of the manager's maps any more, so nobody else would let go of its files.
        log.close_handlers()
        raise
    if mark == DELETE_DIR_SUFFIX:
        manager.removals.add_log(log, log.config.value.file_delete_delay_ms)
