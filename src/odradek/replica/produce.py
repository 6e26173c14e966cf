"""Appending to many partitions, and waiting until enough replicas have them.

The usual request, one batch for one partition, is all the work there is for fifty thousand requests a second: the
loop below is plain, makes no object that it does not hand on, and looks at the purgatories only where somebody waits.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from odradek.common.failures import ApiError
from odradek.common.ids import ZERO_UUID, TopicPartition, uuid_to_text
from odradek.common.ports import Buffer
from odradek.log.errors import DamagedFile, InvalidTopic, KafkaStorageError, StorageFault
from odradek.log.offsets import AppendOrigin
from odradek.log.producers.producer_entry import NO_VERIFICATION, VerificationGuard
from odradek.log.values import RecordsRefused
from odradek.metadata.internal_topics import INTERNAL_TOPICS
from odradek.protocol.error_codes import ErrorCode
from odradek.records.errors import CorruptRecord
from odradek.replica.errors import NotLeaderOrFollower, UnknownTopicId, UnknownTopicOrPartition
from odradek.replica.partition import ACKS_ALL, Partition
from odradek.replica.purgatory import DelayedOperation
from odradek.replica.values import NO_OFFSET, ProduceCallback, ProduceEntry, ProduceResult

if TYPE_CHECKING:
    from odradek.replica.replica_manager import ReplicaManager

logger = logging.getLogger("odradek.replica")

_VALID_ACKS = (-1, 0, 1)

#: Refusals in which Kafka does not say where the log starts.
_WITHOUT_LOG_START = (
    UnknownTopicOrPartition.code,
    NotLeaderOrFollower.code,
    UnknownTopicId.code,
    InvalidTopic.code,
    CorruptRecord.code,
    KafkaStorageError.code,
    ErrorCode.MESSAGE_TOO_LARGE,
    ErrorCode.RECORD_LIST_TOO_LARGE,
)


def produce(
    manager: ReplicaManager,
    entries: Sequence[ProduceEntry],
    acks: int,
    timeout_ms: int,
    callback: ProduceCallback,
    origin: AppendOrigin,
    internal_topics_allowed: bool,
    guards: Mapping[TopicPartition, VerificationGuard] | None,
    transaction_version: int,
) -> None:
    if acks not in _VALID_ACKS:
        callback([ProduceResult(ErrorCode.INVALID_REQUIRED_ACKS)] * len(entries))
        return
    results: list[ProduceResult] = []
    waiting: list[_Waiting] | None = None
    woken: list[TopicPartition] | None = None
    partitions, fetches = manager.partitions, manager.fetch_purgatory.watched
    produces, deletes = manager.produce_purgatory.watched, manager.delete_purgatory.watched
    now_ms = manager.clock.monotonic_ms()
    is_in_doubt = now_ms >= manager.context.contact.trusted_until_ms and origin is AppendOrigin.CLIENT
    for topic_partition, records, topic_id in entries:
        partition = partitions.get(topic_partition)
        try:
            if partition is None:
                raise manager.missing(topic_partition)
            if topic_id is not ZERO_UUID or topic_partition.topic in INTERNAL_TOPICS:
                _check_topic(partition, topic_id, internal_topics_allowed)
            if is_in_doubt:
                partition.check_may_append(now_ms)
            guard = NO_VERIFICATION if guards is None else guards.get(topic_partition, NO_VERIFICATION)
            info = partition.append_as_leader(records, acks, origin, guard, transaction_version)
        except ApiError as error:
            results.append(_refused(partition, error))
            continue
        except (StorageFault, DamagedFile) as fault:
            results.append(_failed(manager, topic_partition, fault))
            continue
        results.append(ProduceResult(0, info.first_offset, info.log_append_time_ms, info.log_start_offset))
        hw_moved = partition.maybe_increment_high_watermark(now_ms)
        if topic_partition in fetches or (hw_moved and (topic_partition in produces or topic_partition in deletes)):
            if woken is None:
                woken = []
            woken.append(topic_partition)
        if acks == ACKS_ALL:
            log = partition.leader_log
            if log is not None and log.offsets.high_watermark <= info.last_offset:
                if waiting is None:
                    waiting = []
                waiting.append(_Waiting(topic_partition, info.last_offset + 1, len(results) - 1))
    try:
        if waiting is None:
            callback(results)
        else:
            delayed = DelayedProduce(manager, results, waiting, callback)
            manager.produce_purgatory.watch(delayed, delayed.waiting, now_ms + timeout_ms)
    finally:
        for topic_partition in woken or ():
            manager.wake(topic_partition)


def produce_one(
    manager: ReplicaManager, topic_partition: TopicPartition, records: Buffer, topic_id: bytes, acks: int
) -> ProduceResult | None:
    """One batch of a client, which need not wait for other replicas. None, and nothing done, if it would have to."""
    partition = manager.partitions.get(topic_partition)
    if acks == ACKS_ALL and (partition is None or partition.followers):
        return None
    now_ms = manager.clock.monotonic_ms()
    try:
        if partition is None:
            raise manager.missing(topic_partition)
        if topic_id is not ZERO_UUID or topic_partition.topic in INTERNAL_TOPICS:
            _check_topic(partition, topic_id, False)
        if now_ms >= manager.context.contact.trusted_until_ms:
            partition.check_may_append(now_ms)
        info = partition.append_as_leader(records, acks)
    except ApiError as error:
        return _refused(partition, error)
    except (StorageFault, DamagedFile) as fault:
        return _failed(manager, topic_partition, fault)
    hw_moved = partition.maybe_increment_high_watermark(now_ms)
    if topic_partition in manager.fetch_purgatory.watched or (
        hw_moved
        and (
            topic_partition in manager.produce_purgatory.watched or topic_partition in manager.delete_purgatory.watched
        )
    ):
        manager.wake(topic_partition)
    return ProduceResult(0, info.first_offset, info.log_append_time_ms, info.log_start_offset)


def _check_topic(partition: Partition, topic_id: bytes, internal_topics_allowed: bool) -> None:
    topic = partition.topic_partition.topic
    if topic in INTERNAL_TOPICS and not internal_topics_allowed:
        raise InvalidTopic(f"Cannot append to internal topic {topic}")
    if topic_id not in (ZERO_UUID, partition.topic_id):
        raise UnknownTopicId(f"{topic} has topic id {uuid_to_text(partition.topic_id)}, not {uuid_to_text(topic_id)}")


def _refused(partition: Partition | None, error: ApiError) -> ProduceResult:
    log = partition.leader_log if partition is not None else None
    start = NO_OFFSET if log is None or error.code in _WITHOUT_LOG_START else log.offsets.log_start_offset
    if isinstance(error, RecordsRefused):
        return ProduceResult(
            error.code, log_start_offset=start, record_errors=error.errors, error_message=error.message
        )
    return ProduceResult(error.code, log_start_offset=start)


def _failed(
    manager: ReplicaManager, topic_partition: TopicPartition, fault: StorageFault | DamagedFile
) -> ProduceResult:
    logger.error("%s: an append failed: %s", topic_partition, fault)
    manager.log_failed(topic_partition, fault)
    return ProduceResult(KafkaStorageError.code)


class _Waiting(NamedTuple):
    topic_partition: TopicPartition
    required_offset: int
    #: Which of the results it is.
    result: int


class DelayedProduce(DelayedOperation):
    """Waits until the high watermark has passed each of its appends, or the partition is no longer led here."""

    __slots__ = ("_callback", "_manager", "_results", "waiting")

    def __init__(
        self,
        manager: ReplicaManager,
        results: list[ProduceResult],
        waiting: list[_Waiting],
        callback: ProduceCallback,
    ) -> None:
        super().__init__()
        self._manager = manager
        self._results = results
        self._callback = callback
        #: A partition that a request names twice waits for the last of its appends.
        self.waiting: dict[TopicPartition, list[_Waiting]] = {}
        for item in waiting:
            self.waiting.setdefault(item.topic_partition, []).append(item)

    def check(self, key: TopicPartition) -> bool:
        items = self.waiting.get(key)
        if items is None:
            return True
        partition = self._manager.partitions.get(key)
        if partition is None:
            outcome: int | None = self._manager.missing(key).code
        else:
            outcome = partition.reached(items[-1].required_offset)
        if outcome is None:
            return False
        if outcome != ErrorCode.NONE:
            self._settle(items, outcome)
        del self.waiting[key]
        if not self.waiting:
            self.complete()
        return True

    def _settle(self, items: list[_Waiting], error_code: int) -> None:
        for item in items:
            self._results[item.result] = self._results[item.result]._replace(error_code=int(error_code))

    def on_expire(self) -> None:
        for items in self.waiting.values():
            self._settle(items, ErrorCode.REQUEST_TIMED_OUT)

    def on_complete(self) -> None:
        self._callback(self._results)
