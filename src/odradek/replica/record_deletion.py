"""DeleteRecords: the leader raises its log start offset, followers learn of it with their fetches."""

from __future__ import annotations

from collections.abc import Sequence

from odradek.common.failures import ApiError
from odradek.common.ids import TopicPartition
from odradek.common.ports import Clock
from odradek.log.errors import InvalidTopic, KafkaStorageError, OffsetOutOfRange, StorageFault
from odradek.metadata.internal_topics import INTERNAL_TOPICS
from odradek.protocol.error_codes import ErrorCode
from odradek.replica.errors import NotLeaderOrFollower, PolicyViolation
from odradek.replica.hosted_partitions import HostedPartitions
from odradek.replica.partition_leader import PartitionLeader
from odradek.replica.purgatory import DelayedOperation, Purgatories
from odradek.replica.replica_failures import ReplicaFailures
from odradek.replica.requests import DeleteRecordsCallback, DeleteRecordsEntry, DeleteRecordsResult

#: In place of an offset: all records that consumers can read.
HIGH_WATERMARK = -1


class RecordDeletion:
    __slots__ = ("_clock", "_failures", "_hosted", "_purgatories")

    def __init__(
        self, partitions: HostedPartitions, purgatories: Purgatories, failures: ReplicaFailures, clock: Clock
    ) -> None:
        self._hosted = partitions
        self._purgatories = purgatories
        self._failures = failures
        self._clock = clock

    def delete(
        self,
        entries: Sequence[DeleteRecordsEntry],
        timeout_ms: int,
        callback: DeleteRecordsCallback,
        *,
        internal_topics_allowed: bool = False,
    ) -> None:
        """Raise log start offsets. The callback is called when all live replicas have followed, or after
        `timeout_ms`."""
        results: list[DeleteRecordsResult] = []
        waiting: dict[TopicPartition, tuple[int, int]] = {}
        for index, (tp, offset) in enumerate(entries):
            try:
                if tp.topic in INTERNAL_TOPICS and not internal_topics_allowed:
                    raise InvalidTopic(f"Cannot delete records of internal topic {tp.topic}")
                leader = self._hosted.find(tp).leader()
                start_offset = _raise_start(leader, offset)
                low = leader.low_watermark()
                results.append(DeleteRecordsResult(0, low))
                if low < start_offset:
                    waiting[tp] = (start_offset, index)
            except ApiError as error:
                results.append(DeleteRecordsResult(error.code))
            except StorageFault as fault:
                self._failures.storage_failed(fault)
                results.append(DeleteRecordsResult(KafkaStorageError.code))
        if waiting:
            delayed = DelayedDelete(self._hosted, results, waiting, callback)
            self._purgatories.delete_records.watch(delayed, waiting, self._clock.monotonic_ms() + timeout_ms)
        else:
            callback(results)
        for tp in dict.fromkeys(entry.topic_partition for entry in entries):
            self._purgatories.fetch.check(tp)


def _raise_start(leader: PartitionLeader, offset: int) -> int:
    """Raise the log start offset; return the new one."""
    log = leader.log
    if log.config.value.compact and not log.config.value.delete:
        raise PolicyViolation(f"Records of {leader.topic_partition} can not be deleted: its policy is to compact")
    start_offset = log.offsets.high_watermark if offset == HIGH_WATERMARK else offset
    if start_offset < 0:
        raise OffsetOutOfRange(f"The offset {offset} for partition {leader.topic_partition} is not valid")
    log.offsets.raise_start(start_offset)
    return start_offset


class DelayedDelete(DelayedOperation):
    """Waits until all live replicas start at the new log start, or this broker no longer leads the partition."""

    __slots__ = ("_callback", "_hosted", "_results", "_waiting")

    def __init__(
        self,
        partitions: HostedPartitions,
        results: list[DeleteRecordsResult],
        waiting: dict[TopicPartition, tuple[int, int]],
        callback: DeleteRecordsCallback,
    ) -> None:
        super().__init__()
        self._hosted = partitions
        self._results = results
        #: Required log start offset, and index of the result.
        self._waiting = waiting
        self._callback = callback

    def check(self, key: TopicPartition) -> bool:
        if key not in self._waiting:
            return True
        required_offset, index = self._waiting[key]
        partition = self._hosted.online.get(key)
        role = None if partition is None else partition.role
        if partition is None:
            self._results[index] = DeleteRecordsResult(self._hosted.error_for(key).code)
        elif not isinstance(role, PartitionLeader):
            self._results[index] = DeleteRecordsResult(NotLeaderOrFollower.code)
        else:
            low = role.low_watermark()
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
