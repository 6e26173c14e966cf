"""The checkpoints that a log directory keeps of its logs, so that a restart knows where each stood.

* `recovery-point-offset-checkpoint`: below it the log is known to be on disk.
* `log-start-offset-checkpoint`: where a log starts, if that is not where its first segment does (DeleteRecords).
* `replication-offset-checkpoint`: the high watermark.

A future log has its partition's name, so it is written in place of the current one in the directory where it grows.
What a file says already is not written again: most logs of a large node stand still.
A checkpoint that cannot be read costs time or precision at the next start, never data, so it is taken as empty.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING

from odradek.common.ids import TopicPartition
from odradek.common.ports import FileSystem
from odradek.log.errors import CorruptCheckpoint, storage_guard
from odradek.log.file_names import LOG_START_CHECKPOINT, RECOVERY_POINT_CHECKPOINT, REPLICATION_CHECKPOINT
from odradek.log.manager.checkpoint_files import read_offset_checkpoint, write_offset_checkpoint

if TYPE_CHECKING:
    from odradek.log.unified_log import UnifiedLog

Logs = Mapping[TopicPartition, "UnifiedLog"]
#: What a checkpoint says of partitions that have no log in memory.
Offsets = Mapping[TopicPartition, int]


class CheckpointFiles:
    """The checkpoint files of all log directories, and what they say."""

    __slots__ = ("_files", "_written")

    def __init__(self, files: FileSystem) -> None:
        self._files = files
        self._written: dict[str, Offsets] = {}

    def write(self, log_dir: str, name: str, offsets: Offsets) -> None:
        """In any thread, for one file in one thread at a time. Raises `StorageFault`."""
        path = f"{log_dir}/{name}"
        if self._written.get(path) == offsets:
            return
        with storage_guard(log_dir, path):
            write_offset_checkpoint(self._files, path, offsets)
        self._written[path] = offsets


def write_recovery_points(files: CheckpointFiles, log_dir: str, logs: Logs, retained: Offsets) -> None:
    _plan(files, log_dir, RECOVERY_POINT_CHECKPOINT, logs, retained, lambda log: log.offsets.recovery_point)()


def write_log_starts(files: CheckpointFiles, log_dir: str, logs: Logs, retained: Offsets) -> None:
    _plan(files, log_dir, LOG_START_CHECKPOINT, logs, retained, _moved_start)()


def plan_high_watermarks(files: CheckpointFiles, log_dir: str, logs: Logs, retained: Offsets) -> Callable[[], None]:
    """Return a function that writes the current high watermarks. Nothing else writes this file meanwhile."""
    return _plan(files, log_dir, REPLICATION_CHECKPOINT, logs, retained, lambda log: log.offsets.high_watermark)


def read_or_empty(files: FileSystem, log_dir: str, name: str) -> dict[TopicPartition, int]:
    path = f"{log_dir}/{name}"
    try:
        with storage_guard(log_dir, path):
            return read_offset_checkpoint(files, path)
    except CorruptCheckpoint:
        return {}


def _moved_start(log: UnifiedLog) -> int | None:
    return log.offsets.log_start_offset if log.offsets.log_start_offset > log.segments.first.base_offset else None


def _plan(
    files: CheckpointFiles,
    log_dir: str,
    name: str,
    logs: Logs,
    retained: Offsets,
    offset_of: Callable[[UnifiedLog], int | None],
) -> Callable[[], None]:
    offsets = dict(retained)
    offsets |= {tp: offset for tp, log in logs.items() if (offset := offset_of(log)) is not None}
    return partial(files.write, log_dir, name, offsets)
