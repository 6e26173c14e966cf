"""DeleteRecords: the leader moves its log start, followers learn of it with their fetches."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from odradek.common.failures import ApiError
from odradek.common.ids import TopicPartition
from odradek.log.errors import InvalidTopic, KafkaStorageError, OffsetOutOfRange, StorageFault
from odradek.metadata.internal_topics import INTERNAL_TOPICS
from odradek.protocol.error_codes import ErrorCode
from odradek.replica.errors import NotLeaderOrFollower, PolicyViolation
from odradek.replica.partition import Partition
from odradek.replica.purgatory import DelayedOperation
from odradek.replica.values import DeleteRecordsCallback, DeleteRecordsEntry, DeleteRecordsResult

if TYPE_CHECKING:
    from odradek.replica.replica_manager import ReplicaManager

#: In place of an offset: all that consumers can see.
HIGH_WATERMARK = -1


def delete_records(
    manager: ReplicaManager,
    entries: Sequence[DeleteRecordsEntry],
    timeout_ms: int,
    callback: DeleteRecordsCallback,
    internal_topics_allowed: bool,
) -> None:
    results: list[DeleteRecordsResult] = []
    waiting: dict[TopicPartition, tuple[int, int]] = {}
    for index, (tp, offset) in enumerate(entries):
        try:
            if tp.topic in INTERNAL_TOPICS and not internal_topics_allowed:
                raise InvalidTopic(f"Cannot delete records of internal topic {tp.topic}")
            partition = manager.find(tp)
            reached = _delete(partition, offset)
            low = low_watermark(partition)
            results.append(DeleteRecordsResult(0, low))
            if low < reached:
                waiting[tp] = (reached, index)
        except ApiError as error:
            results.append(DeleteRecordsResult(error.code))
        except StorageFault as fault:
            manager.storage_failed(fault)
            results.append(DeleteRecordsResult(KafkaStorageError.code))
    if waiting:
        delayed = DelayedDelete(manager, results, waiting, callback)
        manager.delete_purgatory.watch(delayed, waiting, manager.clock.monotonic_ms() + timeout_ms)
    else:
        callback(results)
    for tp in dict.fromkeys(entry.topic_partition for entry in entries):
        manager.fetch_purgatory.check(tp)


def _delete(partition: Partition, offset: int) -> int:
    """Up to where records are gone."""
    log = partition.leader_log
    if log is None:
        raise NotLeaderOrFollower(f"This broker does not lead {partition.topic_partition}")
    if log.config.value.compact and not log.config.value.delete:
        raise PolicyViolation(f"Records of {partition.topic_partition} can not be deleted: its policy is to compact")
    reached = log.offsets.high_watermark if offset == HIGH_WATERMARK else offset
    if reached < 0:
        raise OffsetOutOfRange(f"The offset {offset} for partition {partition.topic_partition} is not valid")
    log.offsets.raise_start(reached)
    return reached


def low_watermark(partition: Partition) -> int:
    """The smallest log start of all replicas that are alive."""
    low = partition.local_log().offsets.log_start_offset
    for broker_id, follower in partition.followers.items():
        if follower.log_start_offset < low and partition.context.is_alive(broker_id):
            low = follower.log_start_offset
    return low


class DelayedDelete(DelayedOperation):
    """Waits until all live replicas start at the new log start, or the partition is no longer led here."""

    __slots__ = ("_callback", "_manager", "_results", "_waiting")

    def __init__(
        self,
        manager: ReplicaManager,
        results: list[DeleteRecordsResult],
        waiting: dict[TopicPartition, tuple[int, int]],
        callback: DeleteRecordsCallback,
    ) -> None:
        super().__init__()
        self._manager = manager
        self._results = results
        self._waiting = waiting
        self._callback = callback

    def check(self, key: TopicPartition) -> bool:
        if key not in self._waiting:
            return True
        required_offset, index = self._waiting[key]
        partition = self._manager.partitions.get(key)
        if partition is None:
            self._results[index] = DeleteRecordsResult(self._manager.missing(key).code)
        elif partition.leader_log is None:
            self._results[index] = DeleteRecordsResult(NotLeaderOrFollower.code)
        else:
            low = low_watermark(partition)
            self._results[index] = DeleteRecordsResult(0, low)
            if low < required_offset:
                return False
        del self._waiting[key]
        if not self._waiting:
            self.complete()
        return True

    def on_expire(self) -> None:
        for _, index in self._waiting.values():
            self._results[index] = self._results[index]._replace(error_code=int(ErrorCode.REQUEST_TIMED_OUT))

    def on_complete(self) -> None:
        self._callback(self._results)
