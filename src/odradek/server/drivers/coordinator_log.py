"""The internal topic of a coordinator, as the replicas of this broker lead it: a `PartitionLog`.

Appends are those of a coordinator with `acks` all: refused unless enough replicas are in sync, and not waited for.
Whoever waits is told through the purgatory of produce requests, by one operation per partition that stands for the
first offset waited for.
"""

from collections.abc import Callable

from odradek.common.failures import ApiError
from odradek.common.ids import TopicPartition
from odradek.common.ports import Buffer
from odradek.coordinator.runtime.shard import NOBODY, Writer
from odradek.log.errors import DamagedFile, KafkaStorageError, StorageFault
from odradek.log.offsets import AppendOrigin
from odradek.log.producers.producer_append import TV_UNKNOWN
from odradek.log.producers.producer_entry import VerificationGuard
from odradek.log.unified_log import UnifiedLog
from odradek.log.values import Isolation
from odradek.protocol.error_names import error_name
from odradek.records.batch import header_at
from odradek.replica.broker_replicas import BrokerReplicas
from odradek.replica.errors import NotEnoughReplicas
from odradek.replica.partition_leader import PartitionLeader
from odradek.replica.purgatory import DelayedOperation
from odradek.replica.requests import ProduceEntry, ProduceResult

_ACKS_LEADER = 1

#: In `header_at`.
_LAST_OFFSET_DELTA = 6

#: Whoever waits for a high watermark has a time-out of its own.
_NEVER_MS = 1 << 62


class ReplicaLog:
    def __init__(self, manager: BrokerReplicas, topic: str) -> None:
        self._manager = manager
        self._topic = topic
        #: Told of a partition whose high watermark has reached what was watched for, or that is not led any more.
        self.on_high_watermark: Callable[[int], None] = lambda partition: None

    def is_led(self, partition: int) -> bool:
        """Return True if the replica leads the partition: the metadata may report the leadership a little earlier."""
        replica = self._manager.partitions.online.get(TopicPartition(self._topic, partition))
        return replica is not None and replica.is_leader

    def append(self, partition: int, batch: bytes, writer: Writer) -> int:
        tp = TopicPartition(self._topic, partition)
        role = self._manager.partitions.find(tp).role
        if isinstance(role, PartitionLeader) and role.is_under_min_isr:
            raise NotEnoughReplicas(f"too few replicas of {tp} are in sync")
        results: list[ProduceResult] = []
        self._manager.produce.append(
            [ProduceEntry(tp, bytearray(batch))],
            _ACKS_LEADER,
            0,
            results.extend,
            origin=AppendOrigin.COORDINATOR,
            internal_topics_allowed=True,
            guards={tp: writer.guard} if isinstance(writer.guard, VerificationGuard) else None,
            transaction_version=TV_UNKNOWN if writer is NOBODY else writer.transaction_version,
        )
        result = results[0]
        if result.error_code:
            message = result.error_message or f"{tp}: {error_name(result.error_code)}"
            raise ApiError(message, result.error_code)
        return result.base_offset + int(header_at(batch, 0)[_LAST_OFFSET_DELTA]) + 1

    def high_watermark(self, partition: int) -> int:
        return self._log(partition).offsets.high_watermark

    def start_offset(self, partition: int) -> int:
        return self._log(partition).offsets.log_start_offset

    def end_offset(self, partition: int) -> int:
        return self._log(partition).offsets.log_end_offset

    def read(self, partition: int, offset: int, max_bytes: int) -> Buffer:
        log = self._log(partition)
        try:
            return log.reader.fetch(log.reader.read(offset, max_bytes, Isolation.LOG_END))
        except StorageFault as fault:
            self._manager.failures.storage_failed(fault)
            raise KafkaStorageError(str(fault)) from fault
        except DamagedFile as damage:
            raise KafkaStorageError(str(damage)) from damage

    def watch(self, partition: int, offset: int) -> None:
        tp = TopicPartition(self._topic, partition)
        operation = _Watch(self._manager, tp, offset, lambda: self.on_high_watermark(partition))
        self._manager.purgatories.produce.watch(operation, [tp], _NEVER_MS)

    def _log(self, partition: int) -> UnifiedLog:
        replica = self._manager.partitions.find(TopicPartition(self._topic, partition))
        return replica.leader().log


class _Watch(DelayedOperation):
    __slots__ = ("_manager", "_offset", "_told", "_topic_partition")

    def __init__(self, manager: BrokerReplicas, tp: TopicPartition, offset: int, told: Callable[[], None]) -> None:
        super().__init__()
        self._manager = manager
        self._topic_partition = tp
        self._offset = offset
        self._told = told

    def check(self, key: TopicPartition) -> bool:
        partition = self._manager.partitions.online.get(key)
        if partition is not None and partition.role.reached(self._offset) is None:
            return False
        self.complete()
        return True

    def on_complete(self) -> None:
        self._told()
