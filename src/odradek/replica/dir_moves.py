"""Moving replicas between the log directories of this broker (KIP-113, KIP-858).

A move copies the current log into a future log in the other directory, as a follower would; the current one is written
and read meanwhile as ever. When the future log has caught up, the controller is told where the replica is about to be;
once it has agreed, and the future log has caught up again, the two change places.

    COPYING ──caught up──► ASSIGNING ──the controller agrees──► ASSIGNED ──caught up──► done

The copying is done in `step`, a bounded piece at a time, one replica after the other, whenever the driver has time for
it and `replica.alter.log.dirs.io.max.bytes.per.second` allows it. A move ends early when the replica goes, when its
directory fails, or when another destination is asked for; if the controller may have been told of the first one by
then, it is told where the replica really is.

A cluster whose metadata has no word for directories is not asked: the two change places once they are alike.

What was copied is on the disk before the log that it was copied from goes: `next_flush` says what is to be synced, for
a driver that has a worker for it. What was written meanwhile is as safe as it was.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from enum import Enum
from typing import TYPE_CHECKING, NamedTuple

from odradek.common.failures import ApiError, Fault
from odradek.common.ids import TopicPartition
from odradek.log.errors import InvalidTopic, KafkaStorageError, OffsetOutOfRange, StorageFault
from odradek.log.file_names import FUTURE_DIR_SUFFIX, marked_partition_dir
from odradek.log.log_flusher import FlushPlan
from odradek.log.manager.log_changes import (
    delete_log,
    replace_current_with_future,
    truncate_fully_and_start_at,
    truncate_to,
)
from odradek.log.unified_log import UnifiedLog
from odradek.log.values import Isolation
from odradek.protocol.error_codes import ErrorCode
from odradek.replica.errors import NotLeaderOrFollower
from odradek.replica.partition import Partition
from odradek.replica.partition_follow import truncation_offset
from odradek.replica.partition_reads import find_divergence
from odradek.replica.throttle import ReplicationThrottle
from odradek.replica.values import FetchEntry

if TYPE_CHECKING:
    from odradek.replica.replica_manager import ReplicaManager

logger = logging.getLogger("odradek.replica")

#: A step is over after so many bytes, or so many replicas of which it copied anything, or one that changed its place:
#: it must not hold up the loop for more than a few milliseconds.
STEP_BYTES = 512 * 1024
STEP_REPLICAS = 16

#: Names of directories have at most this many bytes.
_MAX_NAME_BYTES = 255


class MoveState(Enum):
    COPYING = "copying"
    ASSIGNING = "assigning"
    ASSIGNED = "assigned"


class Step(NamedTuple):
    copied_bytes: int
    #: Something was done, so that there may be more to do at once.
    has_more: bool


_NOTHING = Step(0, False)


class _Move:
    __slots__ = ("future", "safe_offset", "state")

    def __init__(self, future: UnifiedLog, state: MoveState) -> None:
        self.future = future
        self.state = state
        #: Below it everything must be durable before the current log goes; None while it is being copied.
        self.safe_offset = None if state is MoveState.COPYING else future.offsets.log_end_offset

    def is_durable(self, current: UnifiedLog) -> bool:
        if self.safe_offset is None:
            return False
        # What has been cut off meanwhile need not be.
        needed = min(max(self.safe_offset, current.offsets.recovery_point), self.future.offsets.log_end_offset)
        return self.future.offsets.recovery_point >= needed


def _ignore() -> None:
    pass


class DirMoves:
    def __init__(self, manager: ReplicaManager) -> None:
        self._manager = manager
        self.moves: dict[TopicPartition, _Move] = {}
        #: `replica.alter.log.dirs.io.max.bytes.per.second`.
        self.throttle = ReplicationThrottle(manager.broker_id, manager.settings.dir_move_quota_windows)
        #: Told when there is something to do that was not there before.
        self.on_ready: Callable[[], None] = _ignore

    def request(self, tp: TopicPartition, path: str) -> int:
        """Begin to move a replica to this directory; the error code. One that is not there yet will be made there, but
        the asker is told REPLICA_NOT_AVAILABLE, as Kafka does."""
        try:
            self._request(tp, path)
        except NotLeaderOrFollower:
            return ErrorCode.REPLICA_NOT_AVAILABLE
        except ApiError as error:
            logger.warning("%s cannot be moved to %s: %s", tp, path, error)
            return error.code
        except StorageFault as fault:
            self._manager.storage_failed(fault)
            return KafkaStorageError.code
        return ErrorCode.NONE

    def _request(self, tp: TopicPartition, path: str) -> None:
        manager = self._manager
        logs = manager.logs
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
        partition = manager.find(tp)
        log = partition.local_log()
        if log.log_dir == path or tp in self.moves:
            return
        if logs.offline:
            raise KafkaStorageError("A replica is not moved while a log directory is offline")
        future = logs.get_or_create(tp, partition.topic_id, is_new=True, is_future=True)
        self._begin(tp, _Move(future, MoveState.COPYING))

    def resume(self, partition: Partition, assigned: bytes) -> None:
        """A future log was found when the partition was made: go on. The controller may have agreed already."""
        tp = partition.topic_partition
        future = self._manager.logs.log(tp, is_future=True)
        if future is not None and partition.log is not None and tp not in self.moves:
            is_agreed = self._manager.logs.directory_id(future.log_dir) == assigned
            self._begin(tp, _Move(future, MoveState.ASSIGNED if is_agreed else MoveState.COPYING))

    def _begin(self, tp: TopicPartition, move: _Move) -> None:
        self.moves[tp] = move
        self._manager.logs.cleaner.abort_and_pause(tp)
        logger.info("%s: moves to %s, from offset %d", tp, move.future.log_dir, move.future.offsets.log_end_offset)
        self.on_ready()

    def is_announced(self, tp: TopicPartition, directory_id: bytes) -> bool:
        """Whether the controller was told that the replica will be there."""
        move = self.moves.get(tp)
        if move is None or move.state is MoveState.COPYING:
            return False
        return self._manager.logs.directory_id(move.future.log_dir) == directory_id

    def assignment_accepted(self, tp: TopicPartition, directory_id: bytes) -> None:
        """The controller has agreed that the replica is to be in this directory."""
        move = self.moves.get(tp)
        if move is not None and self.is_announced(tp, directory_id):
            move.state = MoveState.ASSIGNED
            self.on_ready()

    def cancel(self, tp: TopicPartition, *, delete: bool = True) -> None:
        """Give a move up; `delete` False where the future log is gone already."""
        move = self.moves.pop(tp, None)
        if move is None:
            return
        manager = self._manager
        manager.logs.cleaner.resume(tp)
        if delete and manager.logs.log(tp, is_future=True) is move.future:
            delete_log(manager.logs, tp, is_future=True)
        partition = manager.partitions.get(tp)
        if move.state is not MoveState.COPYING and partition is not None and partition.log is not None:
            actual = manager.logs.directory_id(partition.log.log_dir)
            if actual is not None:
                manager.on_assignment(partition.topic_id, tp.partition, actual)

    def drop_dir(self, path: str) -> None:
        """A directory has failed."""
        for tp in [tp for tp, move in self.moves.items() if move.future.log_dir == path]:
            self.cancel(tp, delete=False)

    # -- copying

    def step(self) -> Step:
        """Copy a piece of what is being moved. Nothing while the limit is exceeded."""
        now_ms = self._manager.clock.monotonic_ms()
        if self.throttle.is_exceeded(now_ms):
            return _NOTHING
        copied_bytes = replicas = 0
        for tp, move in list(self.moves.items()):
            done = self._step(tp, move)
            copied_bytes += done.copied_bytes
            replicas += done.has_more
            if copied_bytes >= STEP_BYTES or replicas >= STEP_REPLICAS or self.moves.get(tp) is not move:
                break
        if self.throttle.rate_bytes is not None and copied_bytes:
            self.throttle.record(copied_bytes, now_ms)
        return Step(copied_bytes, replicas > 0)

    def next_flush(self) -> tuple[UnifiedLog, FlushPlan] | None:
        """Return a future log with the flush that a worker runs, and the log finishes, before the next step."""
        for tp, move in list(self.moves.items()):
            current = self._manager.logs.current.get(tp)
            if current is None or move.safe_offset is None or move.is_durable(current):
                continue
            try:
                plan = move.future.flusher.plan()
                return None if plan is None else (move.future, plan)
            except StorageFault as fault:
                self._manager.storage_failed(fault)
            except (ApiError, Fault) as error:
                self._give_up(tp, move, error)
        return None

    def _step(self, tp: TopicPartition, move: _Move) -> Step:
        partition = self._manager.partitions.get(tp)
        if partition is None or partition.log is None:
            return _NOTHING
        current, future, done = partition.log, move.future, _NOTHING
        try:
            if not _are_alike(current, future):
                if self._cut(tp, current, future):
                    return Step(0, True)
                copied = self._copy(tp, current, future)
                done = Step(copied, copied > 0)
            _follow_offsets(current, future)
            if future.offsets.log_end_offset == current.offsets.log_end_offset and self._caught_up(tp, partition, move):
                done = Step(done.copied_bytes, True)
        except StorageFault as fault:
            self._manager.storage_failed(fault)
        except (ApiError, Fault) as error:
            self._give_up(tp, move, error)
        return done

    def _give_up(self, tp: TopicPartition, move: _Move, error: Exception) -> None:
        logger.error("%s: the move to %s is given up: %s", tp, move.future.log_dir, error)
        self.cancel(tp)

    def _cut(self, tp: TopicPartition, current: UnifiedLog, future: UnifiedLog) -> bool:
        """Where the current log has been cut, or has lost its beginning, the future one follows; whether it had to."""
        logs, offset, latest = self._manager.logs, future.offsets.log_end_offset, future.epochs.latest_epoch
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

    def _copy(self, tp: TopicPartition, current: UnifiedLog, future: UnifiedLog) -> int:
        data = current.reader.fetch(current.reader.read(future.offsets.log_end_offset, STEP_BYTES, Isolation.LOG_END))
        if data:
            future.appender.append_as_follower(data, self._manager.partitions[tp].leader_epoch)
        return len(data)

    def _caught_up(self, tp: TopicPartition, partition: Partition, move: _Move) -> bool:
        """Whether that was news."""
        logs, current = self._manager.logs, partition.log
        assert current is not None
        if move.safe_offset is None:
            move.safe_offset = move.future.offsets.log_end_offset
        if move.state is MoveState.ASSIGNED or not self._are_directories_assigned():
            if not move.is_durable(current):
                return False
            del self.moves[tp]
            replace_current_with_future(logs, tp)
            logs.cleaner.resume(tp)
            partition.replace_log(move.future)
            logger.info("%s: has moved to %s", tp, move.future.log_dir)
            self._manager.wake(tp)
            return True
        if move.state is MoveState.COPYING:
            move.state = MoveState.ASSIGNING
            target = logs.directory_id(move.future.log_dir)
            assert target is not None
            self._manager.on_assignment(partition.topic_id, tp.partition, target)
            return True
        return False

    def _are_directories_assigned(self) -> bool:
        version = self._manager.image.features.metadata_version
        return version is None or version.is_directory_assignment_supported


def _are_alike(current: UnifiedLog, future: UnifiedLog) -> bool:
    """Who has the same epoch at the same end has the same before it."""
    return (
        future.offsets.log_end_offset == current.offsets.log_end_offset
        and future.epochs.latest_epoch == current.epochs.latest_epoch
        and future.offsets.log_end_offset >= current.offsets.log_start_offset
    )


def _follow_offsets(current: UnifiedLog, future: UnifiedLog) -> None:
    future.offsets.set_high_watermark(current.offsets.high_watermark)
    if future.offsets.log_start_offset < current.offsets.log_start_offset <= future.offsets.high_watermark:
        future.offsets.raise_start(current.offsets.log_start_offset)
