"""Reads of many partitions, immediate or delayed until there is enough to read.

A read determines where records lie and passes that on; it neither reads nor parses the records. The size of a response
is distributed over its partitions in the order of the entries: each may use what is left of `max_bytes`, and the first
batch of the first non-empty partition is returned completely, however large, so that every reader makes progress.

A fetch with too few bytes waits. It remembers for each partition where it would read, and how many bytes there are; an
event of one partition is checked for that partition alone, so that waiting for a thousand costs no more than for one.
When there are enough bytes, or the deadline has passed, everything is read again.

A follower's fetch is also a report of its progress (`_read_for_follower`).
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import NamedTuple

from odradek.common.failures import ApiError
from odradek.common.ids import ZERO_UUID, TopicPartition
from odradek.common.ports import Buffer, Clock
from odradek.log.errors import DamagedFile, InconsistentTopicId, KafkaStorageError, StorageFault
from odradek.log.offsets import UNKNOWN_SEGMENT, OffsetMetadata
from odradek.log.unified_log import UnifiedLog
from odradek.log.values import EpochEndOffset, Isolation, LogRead
from odradek.protocol.error_codes import ErrorCode
from odradek.replica.cluster_view import ClusterView
from odradek.replica.controller_contact import ControllerContact
from odradek.replica.errors import NotLeaderOrFollower
from odradek.replica.hosted_partitions import HostedPartitions
from odradek.replica.partition import Partition
from odradek.replica.partition_leader import PartitionLeader, find_divergence
from odradek.replica.preferred_replica import find_preferred_replica
from odradek.replica.purgatory import DelayedOperation, Purgatories
from odradek.replica.replica_failures import ReplicaFailures
from odradek.replica.replication_quota import ReplicationQuota
from odradek.replica.requests import NO_EPOCH, FetchCallback, FetchEntry, FetchParams, FetchResult

logger = logging.getLogger("odradek.replica")

_NO_RECORDS = b""


class ReadPass(NamedTuple):
    """One pass over the partitions of a fetch."""

    now_ms: int
    results: list[FetchResult]
    read_bytes: int
    #: Whether there is a result that must be returned at once although it has no records, for example an error.
    is_urgent: bool
    #: Partitions whose waiting requests must be checked: the fetch has advanced a high watermark, or a log start.
    advanced: list[TopicPartition]


class FetchOperations:
    __slots__ = (
        "_clock",
        "_contact",
        "_failures",
        "_hosted",
        "_is_rack_aware",
        "_leader_quota",
        "_online",
        "_purgatories",
        "_view",
    )

    def __init__(
        self,
        view: ClusterView,
        partitions: HostedPartitions,
        purgatories: Purgatories,
        failures: ReplicaFailures,
        contact: ControllerContact,
        leader_quota: ReplicationQuota,
        clock: Clock,
        *,
        is_rack_aware: bool,
    ) -> None:
        self._view = view
        self._hosted = partitions
        self._online = partitions.online
        self._purgatories = purgatories
        self._failures = failures
        self._contact = contact
        self._leader_quota = leader_quota
        self._clock = clock
        self._is_rack_aware = is_rack_aware

    def fetch(self, params: FetchParams, entries: Sequence[FetchEntry], callback: FetchCallback) -> None:
        """Locate records, of all partitions together up to `params.max_bytes`, though at least one batch if there is
        any. The callback is called at once if there are `min_bytes`, an error, or any other news; otherwise when there
        are, or after `max_wait_ms`. A follower's fetch is recorded as its progress."""
        read_pass = self.read_all(params, entries, is_again=False)
        if params.max_wait_ms <= 0 or not entries or read_pass.is_urgent or read_pass.read_bytes >= params.min_bytes:
            callback(read_pass.results)
        else:
            delayed = DelayedFetch(self, params, entries, read_pass.results, callback)
            if delayed.is_ready():
                delayed.complete()
            else:
                self._purgatories.fetch.watch(delayed, delayed.entries, read_pass.now_ms + params.max_wait_ms)
        for topic_partition in read_pass.advanced:
            self._purgatories.check_waiting(topic_partition)

    def read_records(self, result: FetchResult) -> Buffer:
        """Return the bytes that a fetch has located, verified. Raises `ApiError`: the segment may have been cleaned
        since (REPLICA_NOT_AVAILABLE), or its disk has failed."""
        log_read, log = result.log_read, result.log
        if log_read is None or log is None or log_read.records is None:
            return _NO_RECORDS
        try:
            return log.reader.fetch(log_read)
        except StorageFault as fault:
            self._failures.storage_failed(fault)
            raise KafkaStorageError(str(fault)) from fault
        except DamagedFile as damage:
            self._failures.log_failed(log.topic_partition, damage)
            raise KafkaStorageError(str(damage)) from damage

    def read_all(self, params: FetchParams, entries: Sequence[FetchEntry], is_again: bool) -> ReadPass:
        """Read all partitions. `is_again`: from the purgatory, when a follower's progress has already been recorded."""
        now_ms = self._clock.monotonic_ms()
        results: list[FetchResult] = []
        advanced: list[TopicPartition] = []
        left_bytes, read_bytes, is_urgent = params.max_bytes, 0, False
        online = self._online
        is_rejected = self._contact.is_fenced and params.replica_id < 0
        is_from_follower = params.replica_id >= 0
        for entry in entries:
            max_bytes = entry.max_bytes
            if max_bytes > left_bytes:
                max_bytes = left_bytes
            partition = online.get(entry.topic_partition)
            try:
                if partition is None:
                    raise self._error_for(entry)
                if is_rejected:
                    raise NotLeaderOrFollower(
                        f"{entry.topic_partition} may be led by another broker: this one is fenced"
                    )
                if entry.topic_id != partition.topic_id and entry.topic_id != ZERO_UUID:
                    raise InconsistentTopicId(f"{entry.topic_partition} has another topic id than the fetch session")
                if is_from_follower:
                    result = self._read_for_follower(
                        partition, params, entry, max_bytes, not read_bytes, now_ms, None if is_again else advanced
                    )
                else:
                    result = self._read_for_consumer(partition, params, entry, max_bytes, not read_bytes, now_ms)
            except ApiError as error:
                result = FetchResult(error.code)
            except (StorageFault, DamagedFile) as fault:
                result = self._read_failed(entry, fault)
            results.append(result)
            log_read = result.log_read
            if log_read is not None and log_read.records is not None:
                size_bytes = log_read.records.length
                read_bytes += size_bytes
                left_bytes = left_bytes - size_bytes if left_bytes > size_bytes else 0
            elif result.error_code or result.diverging_epoch is not None or result.preferred_read_replica >= 0:
                is_urgent = True
        return ReadPass(now_ms, results, read_bytes, is_urgent, advanced)

    def _read_for_consumer(
        self,
        partition: Partition,
        params: FetchParams,
        entry: FetchEntry,
        max_bytes: int,
        min_one_message: bool,
        now_ms: int,
    ) -> FetchResult:
        if params.client_rack and self._is_rack_aware:
            preferred = find_preferred_replica(
                self._view, partition.role, params.client_rack, entry.fetch_offset, now_ms
            )
            if preferred is not None:
                return _redirect(partition, entry, preferred)
        epoch = entry.current_leader_epoch
        log = partition.readable(epoch) if params.may_read_follower else partition.leader(epoch).log
        return _read(log, params.isolation, entry, max_bytes, min_one_message)

    def _read_for_follower(
        self,
        partition: Partition,
        params: FetchParams,
        entry: FetchEntry,
        max_bytes: int,
        min_one_message: bool,
        now_ms: int,
        advanced: list[TopicPartition] | None,
    ) -> FetchResult:
        """Read for a follower, and record its progress unless `advanced` is None. A follower whose log diverges has
        made none: it must truncate first."""
        leader = partition.leader(entry.current_leader_epoch)
        if advanced is None:
            result = _read(leader.log, params.isolation, entry, max_bytes, min_one_message)
        else:
            follower = leader.follower(params.replica_id, entry.current_leader_epoch)
            result = _read(leader.log, params.isolation, entry, max_bytes, min_one_message)
            log_read = result.log_read
            hw_advanced = False
            if result.diverging_epoch is None and log_read is not None:
                hw_advanced = leader.follower_fetched(
                    follower, log_read.offset, entry.log_start_offset, now_ms, params.replica_epoch
                )
            if hw_advanced or entry.topic_partition in self._purgatories.delete_records.watched:
                advanced.append(entry.topic_partition)
        if self._leader_quota.rate_bytes is not None:
            return self._throttled(leader, params.replica_id, result, now_ms)
        return result

    def _throttled(self, leader: PartitionLeader, replica_id: int, result: FetchResult, now_ms: int) -> FetchResult:
        """Return the result without its records if the quota of throttled replicas is exceeded."""
        log_read, quota = result.log_read, self._leader_quota
        if log_read is None or log_read.records is None:
            return result
        if self._is_throttled(leader, replica_id, now_ms):
            return result._replace(log_read=LogRead(log_read.offset, None))
        if quota.applies_to(leader.topic_partition, leader.log.config.value.leader_replication_throttled_replicas):
            quota.record(log_read.records.length, now_ms)
        return result

    def _is_throttled(self, leader: PartitionLeader, replica_id: int, now_ms: int) -> bool:
        """Return whether the quota is exceeded that applies to the follower; it never applies to one in sync."""
        if replica_id in leader.isr_state.isr:
            return False
        setting = leader.log.config.value.leader_replication_throttled_replicas
        return self._leader_quota.applies_to(leader.topic_partition, setting) and self._leader_quota.is_exceeded(now_ms)

    def available(self, params: FetchParams, entry: FetchEntry, start: OffsetMetadata) -> int | None:
        """Return how many bytes there are from `start` on; None if the fetch must be completed: there is an error, or
        more than can be counted."""
        partition = self._online.get(entry.topic_partition)
        if partition is None:
            return None
        is_from_follower, epoch = params.replica_id >= 0, entry.current_leader_epoch
        try:
            only_leader = is_from_follower or not params.may_read_follower
            log = partition.leader(epoch).log if only_leader else partition.readable(epoch)
            if entry.last_fetched_epoch != NO_EPOCH and find_divergence(log, entry) is not None:
                return None
            end = log.reader.visible_end(params.isolation)
        except (ApiError, StorageFault, DamagedFile):
            return None
        if start.message_offset > end.message_offset:
            return None  # the log was truncated, or the start is beyond the readable end
        if start.message_offset == end.message_offset:
            return 0
        role = partition.role
        is_limited = is_from_follower and self._leader_quota.rate_bytes is not None
        if is_limited and isinstance(role, PartitionLeader):
            now_ms = self._clock.monotonic_ms()
            if self._is_throttled(role, params.replica_id, now_ms):
                return 0
        if UNKNOWN_SEGMENT in (start.segment_base_offset, end.segment_base_offset):
            return None
        if start.segment_base_offset != end.segment_base_offset:
            return None  # the start is in an older segment: there are bytes enough
        return min(end.position - start.position, entry.max_bytes)

    def _error_for(self, entry: FetchEntry) -> ApiError:
        if not entry.topic_partition.topic:
            return ApiError("the topic id is unknown", ErrorCode.UNKNOWN_TOPIC_ID)
        return self._hosted.error_for(entry.topic_partition)

    def _read_failed(self, entry: FetchEntry, fault: StorageFault | DamagedFile) -> FetchResult:
        logger.error("%s: a read failed: %s", entry.topic_partition, fault)
        self._failures.log_failed(entry.topic_partition, fault)
        return FetchResult(KafkaStorageError.code)


def _read(
    log: UnifiedLog, isolation: Isolation, entry: FetchEntry, max_bytes: int, min_one_message: bool
) -> FetchResult:
    offset = entry.fetch_offset
    diverging: EpochEndOffset | None = None
    if entry.last_fetched_epoch != NO_EPOCH:
        diverging = find_divergence(log, entry)
    if diverging is not None:
        log_read = LogRead(OffsetMetadata(offset), None)
    elif offset == log.offsets.log_end_offset and isolation is Isolation.LOG_END:
        # A follower that has everything: most of the requests for many partitions.
        log.health.check_online()
        log_read = LogRead(log.reader.log_end_position, None)
    else:
        log_read = log.reader.read(offset, max_bytes, isolation, min_one_message)
        if log_read.first_entry_incomplete:
            # A batch that does not fit is left to the next fetch, in which it may be the first.
            log_read = LogRead(log_read.offset, None, False, log_read.aborted)
    return FetchResult(
        0,
        log.offsets.high_watermark,
        log.offsets.last_stable_offset,
        log.offsets.log_start_offset,
        log_read,
        log,
        diverging,
    )


def _redirect(partition: Partition, entry: FetchEntry, replica_id: int) -> FetchResult:
    """Return the result that refers a consumer to the replica in its rack."""
    log = partition.readable(entry.current_leader_epoch)
    return FetchResult(
        0,
        log.offsets.high_watermark,
        log.offsets.last_stable_offset,
        log.offsets.log_start_offset,
        preferred_read_replica=replica_id,
    )


class DelayedFetch(DelayedOperation):
    """Waits until its partitions together have `min_bytes` more, or one of them has an error or other news."""

    __slots__ = (
        "_available",
        "_available_bytes",
        "_callback",
        "_has_records",
        "_operations",
        "_order",
        "_params",
        "_starts",
        "entries",
    )

    def __init__(
        self,
        operations: FetchOperations,
        params: FetchParams,
        entries: Sequence[FetchEntry],
        results: Sequence[FetchResult],
        callback: FetchCallback,
    ) -> None:
        super().__init__()
        self._operations = operations
        self._params = params
        self._callback = callback
        self._order = entries
        self.entries = {entry.topic_partition: entry for entry in entries}
        #: Start position of each read, as far as the first pass has determined it.
        self._starts: dict[TopicPartition, OffsetMetadata] = {}
        self._available: dict[TopicPartition, int] = {}
        self._available_bytes = 0
        self._has_records = False
        for entry, result in zip(entries, results, strict=True):
            log_read: LogRead | None = result.log_read
            if log_read is not None:
                self._starts[entry.topic_partition] = log_read.offset
                if log_read.records is not None:
                    self._has_records = True

    def is_ready(self) -> bool:
        """Return whether there are enough bytes before the fetch is watched. Only where the first pass could have read
        and did not is there anything to count: to followers, which see the end of the log, it has returned all."""
        if self._params.isolation is Isolation.LOG_END and not self._has_records:
            return False
        return any(self._count(key) for key in self._starts) or self._available_bytes >= self._params.min_bytes

    def check(self, key: TopicPartition) -> bool:
        if self._count(key) or self._available_bytes >= self._params.min_bytes:
            self.complete()
            return True
        return False

    def _count(self, key: TopicPartition) -> bool:
        """Count the bytes of one partition; return True if the fetch must be completed whatever there is."""
        start = self._starts.get(key)
        if start is None:
            return True
        available = self._operations.available(self._params, self.entries[key], start)
        if available is None:
            return True
        if available:
            self._available_bytes += available - self._available.get(key, 0)
            self._available[key] = available
        return False

    def on_complete(self) -> None:
        self._callback(self._operations.read_all(self._params, self._order, is_again=True).results)
