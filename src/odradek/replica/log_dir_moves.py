"""Moves of replicas between the log directories of this broker (KIP-113, KIP-858).

A move copies the current log into a future log in the other directory, as a follower would; the current one is written
and read meanwhile as usual. When the future log has caught up, the controller is notified of the replica's next
directory; once it has agreed, and the future log has caught up again, the future log replaces the current one.

    COPYING ──caught up──► ASSIGNING ──the controller agrees──► ASSIGNED ──caught up──► completed

The copying happens in `step`, a bounded piece at a time, one replica after the other, whenever the driver has time for
it and `replica.alter.log.dirs.io.max.bytes.per.second` allows it. A move ends early when the replica is deleted, when
its directory fails, or when another destination is requested; if the controller may have been notified of the first
destination by then, it is notified of the actual directory.

In a cluster whose metadata does not assign directories the controller is not involved: the future log replaces the
current one once they are equal.

What was copied is on disk before the log that it was copied from is deleted: `next_flush` returns what must be synced,
for a driver that has a worker for it. Records appended meanwhile are as durable as they were.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from enum import Enum
from typing import NamedTuple

from odradek.common.failures import ApiError, Fault
from odradek.common.ids import TopicPartition
from odradek.common.ports import Clock
from odradek.log.errors import InvalidTopic, KafkaStorageError, OffsetOutOfRange, StorageFault
from odradek.log.file_names import FUTURE_DIR_SUFFIX, marked_partition_dir
from odradek.log.log_flusher import FlushPlan
from odradek.log.manager.log_changes import (
    delete_log,
    replace_current_with_future,
    truncate_fully_and_start_at,
    truncate_to,
)
from odradek.log.manager.log_manager import LogManager
from odradek.log.unified_log import UnifiedLog
from odradek.log.values import Isolation
from odradek.protocol.error_codes import ErrorCode
from odradek.replica.cluster_view import ClusterView
from odradek.replica.errors import NotLeaderOrFollower
from odradek.replica.hosted_partitions import HostedPartitions
from odradek.replica.partition import Partition
from odradek.replica.partition_follower import truncation_offset
from odradek.replica.partition_leader import find_divergence
from odradek.replica.purgatory import Purgatories
from odradek.replica.replica_failures import ReplicaFailures, ReportDirectory
from odradek.replica.replication_quota import ReplicationQuota
from odradek.replica.requests import FetchEntry
from odradek.replica.settings import ReplicaSettings

logger = logging.getLogger("odradek.replica")

#: Bounds of a step: bytes, and replicas of which it copied anything; a replaced log also ends it. A step must not hold
#: up the loop for more than a few milliseconds.
STEP_BYTES = 512 * 1024
STEP_REPLICAS = 16

#: File systems limit directory names to this size.
_MAX_NAME_BYTES = 255


class MoveState(Enum):
    COPYING = "copying"
    ASSIGNING = "assigning"
    ASSIGNED = "assigned"


class MoveStep(NamedTuple):
    copied_bytes: int
    #: Whether the next step may have work at once.
    has_more: bool


_NOTHING = MoveStep(0, False)


class LogDirMove:
    """The move of one replica. Public to read."""

    __slots__ = ("future", "safe_offset", "state")

    def __init__(self, future: UnifiedLog, state: MoveState) -> None:
        self.future = future
        self.state = state
        #: Everything below must be durable before the current log is deleted; None while it is being copied.
        self.safe_offset = None if state is MoveState.COPYING else future.offsets.log_end_offset

    def caught_up(self) -> None:
        """Note that the future log has all records for the first time."""
        if self.safe_offset is None:
            self.safe_offset = self.future.offsets.log_end_offset

    def advance(self, state: MoveState) -> None:
        self.state = state

    def is_durable(self, current: UnifiedLog) -> bool:
        if self.safe_offset is None:
            return False
        # Records that have been truncated meanwhile need not be durable.
        required = min(max(self.safe_offset, current.offsets.recovery_point), self.future.offsets.log_end_offset)
        return self.future.offsets.recovery_point >= required


def _no_listener() -> None:
    pass


class LogDirMoves:
    def __init__(
        self,
        view: ClusterView,
        clock: Clock,
        settings: ReplicaSettings,
        logs: LogManager,
        partitions: HostedPartitions,
        purgatories: Purgatories,
        failures: ReplicaFailures,
        report_directory: ReportDirectory,
    ) -> None:
        self._view = view
        self._clock = clock
        self._logs = logs
        self._partitions = partitions
        self._purgatories = purgatories
        self._failures = failures
        self._report_directory = report_directory
        self.moves: dict[TopicPartition, LogDirMove] = {}
        #: `replica.alter.log.dirs.io.max.bytes.per.second`.
        self.quota = ReplicationQuota(view.broker_id, settings.dir_move_quota_windows)
        self._ready_listener: Callable[[], None] = _no_listener
        failures.on_partition_offline(lambda tp: self.cancel(tp, delete=False))
        failures.on_path_failed(self._path_failed)

    def on_ready(self, listener: Callable[[], None]) -> None:
        """Call `listener` when there is work for `step` that was not there before."""
        self._ready_listener = listener

    def start(self, tp: TopicPartition, path: str) -> int:
        """Start to move a replica to this directory; return the error code. A replica that does not exist yet will be
        created there, but the error code is REPLICA_NOT_AVAILABLE, as in Kafka."""
        try:
            self._start(tp, path)
        except NotLeaderOrFollower:
            return ErrorCode.REPLICA_NOT_AVAILABLE
        except ApiError as error:
            logger.warning("%s cannot be moved to %s: %s", tp, path, error)
            return error.code
        except StorageFault as fault:
            self._failures.storage_failed(fault)
            return KafkaStorageError.code
        return ErrorCode.NONE

    def _start(self, tp: TopicPartition, path: str) -> None:
        logs = self._logs
        if len(marked_partition_dir(tp, "0" * 32, FUTURE_DIR_SUFFIX).encode()) > _MAX_NAME_BYTES:
            raise InvalidTopic(f"The topic name {tp.topic} is too long")
        if path in logs.offline:
            raise KafkaStorageError(f"Log directory {path} is offline")
        if path not in logs.live:
            raise ApiError(f"Log directory {path} is not in log.dirs", ErrorCode.LOG_DIR_NOT_FOUND)
        if path in logs.cordoned:
            raise ApiError(f"Log directory {path} is cordoned", ErrorCode.INVALID_REPLICA_ASSIGNMENT)
        move = self.moves.get(tp)
        if move is not None and move.future.log_dir != path:
            self.cancel(tp)
        logs.prefer_dir(tp, path)
        partition = self._partitions.find(tp)
        log = partition.local_log()
        if log.log_dir == path or tp in self.moves:
            return
        if logs.offline:
            raise KafkaStorageError("A replica is not moved while a log directory is offline")
        future = logs.get_or_create(tp, partition.topic_id, is_new=True, is_future=True)
        self._add(tp, LogDirMove(future, MoveState.COPYING))

    def resume(self, partition: Partition, assigned: bytes) -> None:
        """Resume the move of a partition that has a future log at startup. The controller may have agreed already."""
        tp = partition.topic_partition
        future = self._logs.log(tp, is_future=True)
        if future is not None and partition.log is not None and tp not in self.moves:
            is_agreed = self._logs.directory_id(future.log_dir) == assigned
            self._add(tp, LogDirMove(future, MoveState.ASSIGNED if is_agreed else MoveState.COPYING))

    def _add(self, tp: TopicPartition, move: LogDirMove) -> None:
        self.moves[tp] = move
        self._logs.cleaner.abort_and_pause(tp)
        logger.info("%s: moves to %s, from offset %d", tp, move.future.log_dir, move.future.offsets.log_end_offset)
        self._ready_listener()

    def is_announced(self, tp: TopicPartition, directory_id: bytes) -> bool:
        """Return whether the controller was notified that the replica will be in this directory."""
        move = self.moves.get(tp)
        if move is None or move.state is MoveState.COPYING:
            return False
        return self._logs.directory_id(move.future.log_dir) == directory_id

    def assignment_accepted(self, tp: TopicPartition, directory_id: bytes) -> None:
        """Continue after the controller has agreed that the replica is to be in this directory."""
        move = self.moves.get(tp)
        if move is not None and self.is_announced(tp, directory_id):
            move.advance(MoveState.ASSIGNED)
            self._ready_listener()

    def cancel(self, tp: TopicPartition, *, delete: bool = True) -> None:
        """Abandon a move; `delete` is False if the future log has been deleted already."""
        move = self.moves.pop(tp, None)
        if move is None:
            return
        self._logs.cleaner.resume(tp)
        if delete and self._logs.log(tp, is_future=True) is move.future:
            delete_log(self._logs, tp, is_future=True)
        partition = self._partitions.online.get(tp)
        if move.state is not MoveState.COPYING and partition is not None and partition.log is not None:
            actual = self._logs.directory_id(partition.log.log_dir)
            if actual is not None:
                self._report_directory(partition.topic_id, tp.partition, actual)

    def _path_failed(self, path: str) -> None:
        for tp in [tp for tp, move in self.moves.items() if move.future.log_dir == path]:
            self.cancel(tp, delete=False)

    # -- copying

    def step(self) -> MoveStep:
        """Copy a piece of the replicas being moved; nothing while the quota is exceeded."""
        now_ms = self._clock.monotonic_ms()
        if self.quota.is_exceeded(now_ms):
            return _NOTHING
        copied_bytes = replicas = 0
        for tp, move in list(self.moves.items()):
            move_step = self._step(tp, move)
            copied_bytes += move_step.copied_bytes
            replicas += move_step.has_more
            if copied_bytes >= STEP_BYTES or replicas >= STEP_REPLICAS or self.moves.get(tp) is not move:
                break
        if self.quota.rate_bytes is not None and copied_bytes:
            self.quota.record(copied_bytes, now_ms)
        return MoveStep(copied_bytes, replicas > 0)

    def next_flush(self) -> tuple[UnifiedLog, FlushPlan] | None:
        """Return a future log with the flush that a worker runs, and the log finishes, before the next step."""
        for tp, move in list(self.moves.items()):
            current = self._logs.current.get(tp)
            if current is None or move.safe_offset is None or move.is_durable(current):
                continue
            try:
                plan = move.future.flusher.plan()
                return None if plan is None else (move.future, plan)
            except StorageFault as fault:
                self._failures.storage_failed(fault)
            except (ApiError, Fault) as error:
                self._abandon(tp, move, error)
        return None

    def _step(self, tp: TopicPartition, move: LogDirMove) -> MoveStep:
        partition = self._partitions.online.get(tp)
        if partition is None or partition.log is None:
            return _NOTHING
        current, future, move_step = partition.log, move.future, _NOTHING
        try:
            if not _are_equal(current, future):
                if self._truncate(tp, current, future):
                    return MoveStep(0, True)
                copied_bytes = _copy(current, future, partition.leader_epoch)
                move_step = MoveStep(copied_bytes, copied_bytes > 0)
            _copy_offsets(current, future)
            has_all = future.offsets.log_end_offset == current.offsets.log_end_offset
            if has_all and self._caught_up(tp, partition, current, move):
                move_step = MoveStep(move_step.copied_bytes, True)
        except StorageFault as fault:
            self._failures.storage_failed(fault)
        except (ApiError, Fault) as error:
            self._abandon(tp, move, error)
        return move_step

    def _abandon(self, tp: TopicPartition, move: LogDirMove, error: Exception) -> None:
        logger.error("%s: the move to %s is abandoned: %s", tp, move.future.log_dir, error)
        self.cancel(tp)

    def _truncate(self, tp: TopicPartition, current: UnifiedLog, future: UnifiedLog) -> bool:
        """Truncate or restart the future log as the current one was; return whether that was necessary."""
        logs, offset, latest = self._logs, future.offsets.log_end_offset, future.epochs.latest_epoch
        try:
            if offset < current.offsets.log_start_offset:
                raise OffsetOutOfRange(f"offset {offset} of the future log is below {current.offsets.log_start_offset}")
            if latest is None:
                return False
            diverging = find_divergence(current, FetchEntry(tp, b"", offset, 0, last_fetched_epoch=latest))
        except OffsetOutOfRange:
            truncate_fully_and_start_at(logs, tp, current.offsets.log_start_offset, is_future=True)
            return True
        if diverging is not None:
            truncate_to(logs, {tp: truncation_offset(future, diverging)}, is_future=True)
        return diverging is not None

    def _caught_up(self, tp: TopicPartition, partition: Partition, current: UnifiedLog, move: LogDirMove) -> bool:
        """Advance a move whose future log has all records; return whether its state changed."""
        logs = self._logs
        move.caught_up()
        if move.state is MoveState.ASSIGNED or not self._view.are_directories_assigned:
            if not move.is_durable(current):
                return False
            del self.moves[tp]
            replace_current_with_future(logs, tp)
            logs.cleaner.resume(tp)
            partition.replace_log(move.future)
            logger.info("%s: has moved to %s", tp, move.future.log_dir)
            self._purgatories.check_waiting(tp)
            return True
        if move.state is MoveState.COPYING:
            move.advance(MoveState.ASSIGNING)
            target = logs.directory_id(move.future.log_dir)
            assert target is not None
            self._report_directory(partition.topic_id, tp.partition, target)
            return True
        return False


def _copy(current: UnifiedLog, future: UnifiedLog, leader_epoch: int) -> int:
    """Append a piece of the current log to the future one; return its size."""
    data = current.reader.fetch(current.reader.read(future.offsets.log_end_offset, STEP_BYTES, Isolation.LOG_END))
    if data:
        future.appender.append_as_follower(data, leader_epoch)
    return len(data)


def _are_equal(current: UnifiedLog, future: UnifiedLog) -> bool:
    """Return whether the logs have the same records: the same epoch at the same end implies the same prefix."""
    return (
        future.offsets.log_end_offset == current.offsets.log_end_offset
        and future.epochs.latest_epoch == current.epochs.latest_epoch
        and future.offsets.log_end_offset >= current.offsets.log_start_offset
    )


def _copy_offsets(current: UnifiedLog, future: UnifiedLog) -> None:
    future.offsets.set_high_watermark(current.offsets.high_watermark)
    if future.offsets.log_start_offset < current.offsets.log_start_offset <= future.offsets.high_watermark:
        future.offsets.raise_start(current.offsets.log_start_offset)
