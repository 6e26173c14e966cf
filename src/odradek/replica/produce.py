"""Appends to the partitions that this broker leads, and the wait until enough replicas have them.

The usual request, one batch for one partition, arrives fifty thousand times a second: the loop below is plain, creates
no object that it does not pass on, and checks the purgatories only where a request waits.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from odradek.common.failures import ApiError
from odradek.common.ids import ZERO_UUID, TopicPartition, uuid_to_text
from odradek.common.ports import Buffer, Clock
from odradek.log.errors import DamagedFile, InvalidTopic, KafkaStorageError, StorageFault
from odradek.log.offsets import AppendOrigin
from odradek.log.producers.producer_append import TV_UNKNOWN
from odradek.log.producers.producer_entry import NO_VERIFICATION, VerificationGuard
from odradek.log.values import RecordsRefused
from odradek.metadata.internal_topics import INTERNAL_TOPICS
from odradek.protocol.error_codes import ErrorCode
from odradek.records.batch import NO_PRODUCER_EPOCH, NO_PRODUCER_ID
from odradek.records.builder import end_transaction_marker
from odradek.records.errors import CorruptRecord
from odradek.replica.controller_contact import ControllerContact
from odradek.replica.errors import NotLeaderOrFollower, UnknownTopicId, UnknownTopicOrPartition
from odradek.replica.hosted_partitions import HostedPartitions
from odradek.replica.partition import Partition
from odradek.replica.partition_leader import ACKS_ALL, PartitionLeader
from odradek.replica.purgatory import DelayedOperation, Purgatories
from odradek.replica.replica_failures import ReplicaFailures
from odradek.replica.requests import NO_OFFSET, ProduceCallback, ProduceEntry, ProduceResult

logger = logging.getLogger("odradek.replica")

_VALID_ACKS = (-1, 0, 1)

#: Errors that Kafka returns without the log start offset.
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

#: Time within which the replicas must have a marker before the coordinator sends it again: Kafka's
#: `request.timeout.ms`.
_MARKER_TIMEOUT_MS = 30_000


@dataclass(frozen=True, slots=True)
class TransactionMarker:
    producer_id: int
    producer_epoch: int
    is_commit: bool
    #: Leader epoch of the coordinator's partition: markers of an older coordinator are rejected.
    coordinator_epoch: int
    #: From version 2 on a marker has an epoch of its own.
    transaction_version: int

    @property
    def has_producer(self) -> bool:
        """True if the marker has a producer's id and epoch; it is not valid without."""
        return self.producer_id != NO_PRODUCER_ID and self.producer_epoch != NO_PRODUCER_EPOCH


class ProduceOperations:
    __slots__ = ("_clock", "_contact", "_failures", "_hosted", "_online", "_purgatories")

    def __init__(
        self,
        partitions: HostedPartitions,
        purgatories: Purgatories,
        failures: ReplicaFailures,
        contact: ControllerContact,
        clock: Clock,
    ) -> None:
        self._hosted = partitions
        self._online = partitions.online
        self._purgatories = purgatories
        self._failures = failures
        self._contact = contact
        self._clock = clock

    def append(
        self,
        entries: Sequence[ProduceEntry],
        acks: int,
        timeout_ms: int,
        callback: ProduceCallback,
        *,
        origin: AppendOrigin = AppendOrigin.CLIENT,
        internal_topics_allowed: bool = False,
        guards: Mapping[TopicPartition, VerificationGuard] | None = None,
        transaction_version: int = TV_UNKNOWN,
    ) -> None:
        """Append to partitions. With `acks` 0 or 1 the callback is called before this returns, with -1 when the high
        watermark has passed each of the appends, or after `timeout_ms`; any other `acks` is INVALID_REQUIRED_ACKS for
        all. `guards` of transactional batches come from `transaction_verification` and the coordinator."""
        if acks not in _VALID_ACKS:
            callback([ProduceResult(ErrorCode.INVALID_REQUIRED_ACKS)] * len(entries))
            return
        results: list[ProduceResult] = []
        waiting: list[_WaitingAppend] | None = None
        advanced: list[TopicPartition] | None = None
        online, purgatories = self._online, self._purgatories
        fetches, produces = purgatories.fetch.watched, purgatories.produce.watched
        now_ms = self._clock.monotonic_ms()
        is_lease_expired = now_ms >= self._contact.trusted_until_ms and origin is AppendOrigin.CLIENT
        for topic_partition, records, topic_id in entries:
            partition = online.get(topic_partition)
            try:
                if partition is None:
                    raise self._hosted.error_for(topic_partition)
                if topic_id is not ZERO_UUID or topic_partition.topic in INTERNAL_TOPICS:
                    _check_topic(partition, topic_id, internal_topics_allowed)
                leader = partition.role
                if type(leader) is not PartitionLeader:
                    raise NotLeaderOrFollower(f"This broker does not lead {topic_partition}")
                if is_lease_expired:
                    leader.check_may_append(now_ms)
                guard = NO_VERIFICATION if guards is None else guards.get(topic_partition, NO_VERIFICATION)
                info = leader.append(records, acks, origin, guard, transaction_version)
            except ApiError as error:
                results.append(_rejected(partition, error))
                continue
            except (StorageFault, DamagedFile) as fault:
                results.append(self._append_failed(topic_partition, fault))
                continue
            results.append(ProduceResult(0, info.first_offset, info.log_append_time_ms, info.log_start_offset))
            hw_advanced = leader.advance_high_watermark(now_ms)
            if topic_partition in fetches or (
                hw_advanced and (topic_partition in produces or topic_partition in purgatories.delete_records.watched)
            ):
                if advanced is None:
                    advanced = []
                advanced.append(topic_partition)
            if acks == ACKS_ALL and leader.log.offsets.high_watermark <= info.last_offset:
                if waiting is None:
                    waiting = []
                waiting.append(_WaitingAppend(topic_partition, info.last_offset + 1, len(results) - 1))
        try:
            if waiting is None:
                callback(results)
            else:
                delayed = DelayedProduce(self._hosted, results, waiting, callback)
                purgatories.produce.watch(delayed, delayed.waiting, now_ms + timeout_ms)
        finally:
            for topic_partition in advanced or ():
                purgatories.check_waiting(topic_partition)

    def append_one(
        self, topic_partition: TopicPartition, records: Buffer, topic_id: bytes, acks: int
    ) -> ProduceResult | None:
        """Append one batch of a client and return its result; do nothing and return None if the result depends on
        other replicas. `acks` is 1 or -1."""
        partition = self._online.get(topic_partition)
        if acks == ACKS_ALL:
            role = None if partition is None else partition.role
            if type(role) is not PartitionLeader or role.followers:
                return None
        results: list[ProduceResult] = []
        self.append((ProduceEntry(topic_partition, records, topic_id),), acks, 0, results.extend)
        return results[0]

    def append_markers(
        self, partitions: Sequence[TopicPartition], marker: TransactionMarker, callback: ProduceCallback
    ) -> None:
        """Append the marker that ends a producer's transaction. The callback receives a result for each partition when
        all in-sync replicas have them."""
        batch = end_transaction_marker(
            commit=marker.is_commit,
            timestamp=self._clock.wall_ms(),
            producer_id=marker.producer_id,
            producer_epoch=marker.producer_epoch,
            coordinator_epoch=marker.coordinator_epoch,
        )
        self.append(
            [ProduceEntry(topic_partition, bytearray(batch)) for topic_partition in partitions],
            ACKS_ALL,
            _MARKER_TIMEOUT_MS,
            callback,
            origin=AppendOrigin.COORDINATOR,
            internal_topics_allowed=True,
            transaction_version=marker.transaction_version,
        )

    def _append_failed(self, topic_partition: TopicPartition, fault: StorageFault | DamagedFile) -> ProduceResult:
        logger.error("%s: an append failed: %s", topic_partition, fault)
        self._failures.log_failed(topic_partition, fault)
        return ProduceResult(KafkaStorageError.code)


def _check_topic(partition: Partition, topic_id: bytes, internal_topics_allowed: bool) -> None:
    topic = partition.topic_partition.topic
    if topic in INTERNAL_TOPICS and not internal_topics_allowed:
        raise InvalidTopic(f"Cannot append to internal topic {topic}")
    if topic_id not in (ZERO_UUID, partition.topic_id):
        raise UnknownTopicId(f"{topic} has topic id {uuid_to_text(partition.topic_id)}, not {uuid_to_text(topic_id)}")


def _rejected(partition: Partition | None, error: ApiError) -> ProduceResult:
    role = partition.role if partition is not None else None
    has_start = isinstance(role, PartitionLeader) and error.code not in _WITHOUT_LOG_START
    start = role.log.offsets.log_start_offset if isinstance(role, PartitionLeader) and has_start else NO_OFFSET
    if isinstance(error, RecordsRefused):
        return ProduceResult(
            error.code, log_start_offset=start, record_errors=error.errors, error_message=error.message
        )
    return ProduceResult(error.code, log_start_offset=start)


class _WaitingAppend(NamedTuple):
    topic_partition: TopicPartition
    required_offset: int
    #: Index in the list of results.
    result_index: int


class DelayedProduce(DelayedOperation):
    """Waits until the high watermark has passed each of its appends, or this broker no longer leads the partition."""

    __slots__ = ("_callback", "_hosted", "_results", "waiting")

    def __init__(
        self,
        partitions: HostedPartitions,
        results: list[ProduceResult],
        waiting: list[_WaitingAppend],
        callback: ProduceCallback,
    ) -> None:
        super().__init__()
        self._hosted = partitions
        self._results = results
        self._callback = callback
        #: A partition that a request names twice waits for the last of its appends.
        self.waiting: dict[TopicPartition, list[_WaitingAppend]] = {}
        for append in waiting:
            self.waiting.setdefault(append.topic_partition, []).append(append)

    def check(self, key: TopicPartition) -> bool:
        appends = self.waiting.get(key)
        if appends is None:
            return True
        partition = self._hosted.online.get(key)
        error_code: int | None
        if partition is None:
            error_code = self._hosted.error_for(key).code
        else:
            error_code = partition.role.reached(appends[-1].required_offset)
        if error_code is None:
            return False
        if error_code != ErrorCode.NONE:
            self._fail(appends, error_code)
        del self.waiting[key]
        if not self.waiting:
            self.complete()
        return True

    def _fail(self, appends: list[_WaitingAppend], error_code: int) -> None:
        for append in appends:
            index = append.result_index
            self._results[index] = self._results[index]._replace(error_code=int(error_code))

    def on_expire(self) -> None:
        for appends in self.waiting.values():
            self._fail(appends, ErrorCode.REQUEST_TIMED_OUT)

    def on_complete(self) -> None:
        self._callback(self._results)
