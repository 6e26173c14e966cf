"""Reading from many partitions, now or when there is something to read.

A read finds where records lie and hands that on; nothing of them is read or parsed here. What a fetch may carry goes
to its partitions in the order of its entries: each may take what is left of `max_bytes`, and the first batch of the
first partition that has any comes whole, however large, so that every reader gets on.

A fetch that finds too little waits. It remembers for each partition where it would read, and how many bytes lie behind
that; what happens to one partition is looked up for that one alone, so that waiting for a thousand costs no more than
for one. When it has enough, or its time is over, everything is read anew.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import TYPE_CHECKING

from odradek.common.failures import ApiError
from odradek.common.ids import ZERO_UUID, TopicPartition
from odradek.common.ports import Buffer
from odradek.log.errors import DamagedFile, InconsistentTopicId, KafkaStorageError, StorageFault
from odradek.log.offsets import UNKNOWN_SEGMENT, OffsetMetadata
from odradek.log.values import Isolation, LogRead
from odradek.protocol.error_codes import ErrorCode
from odradek.replica.errors import NotLeaderOrFollower
from odradek.replica.partition import Partition
from odradek.replica.partition_reads import find_divergence, read, read_for_follower
from odradek.replica.purgatory import DelayedOperation
from odradek.replica.read_replica import find_preferred_replica
from odradek.replica.values import NO_EPOCH, FetchCallback, FetchEntry, FetchParams, FetchResult

if TYPE_CHECKING:
    from odradek.replica.replica_manager import ReplicaManager

logger = logging.getLogger("odradek.replica")

_EMPTY = b""


class _Round:
    """One pass over the partitions of a fetch."""

    __slots__ = ("found_bytes", "moved", "must_answer", "now_ms", "results")

    def __init__(self, now_ms: int) -> None:
        self.now_ms = now_ms
        self.results: list[FetchResult] = []
        self.found_bytes = 0
        #: There is something to say besides records.
        self.must_answer = False
        #: Partitions whose high watermark this fetch has moved.
        self.moved: list[TopicPartition] = []


def fetch(manager: ReplicaManager, params: FetchParams, entries: Sequence[FetchEntry], callback: FetchCallback) -> None:
    done = _read_all(manager, params, entries, is_again=False)
    if params.max_wait_ms <= 0 or not entries or done.must_answer or done.found_bytes >= params.min_bytes:
        callback(done.results)
    else:
        delayed = DelayedFetch(manager, params, entries, done.results, callback)
        if delayed.is_ready():
            delayed.complete()
        else:
            manager.fetch_purgatory.watch(delayed, delayed.entries, done.now_ms + params.max_wait_ms)
    for topic_partition in done.moved:
        manager.wake(topic_partition)


def read_records(manager: ReplicaManager, result: FetchResult) -> Buffer:
    found, log = result.found, result.log
    if found is None or log is None or found.records is None:
        return _EMPTY
    try:
        return log.reader.fetch(found)
    except StorageFault as fault:
        manager.storage_failed(fault)
        raise KafkaStorageError(str(fault)) from fault
    except DamagedFile as damage:
        manager.log_failed(log.topic_partition, damage)
        raise KafkaStorageError(str(damage)) from damage


def _read_all(manager: ReplicaManager, params: FetchParams, entries: Sequence[FetchEntry], is_again: bool) -> _Round:
    """`is_again`: from the purgatory, where a follower's progress has been noted already."""
    done = _Round(manager.clock.monotonic_ms())
    results = done.results
    left_bytes = params.max_bytes
    partitions = manager.partitions
    is_refused = manager.context.contact.is_fenced and params.replica_id < 0
    for entry in entries:
        max_bytes = entry.max_bytes
        if max_bytes > left_bytes:
            max_bytes = left_bytes
        partition = partitions.get(entry.topic_partition)
        try:
            if partition is None:
                raise _missing(manager, entry)
            if is_refused:
                raise NotLeaderOrFollower(f"{entry.topic_partition} may be led by another broker: this one is fenced")
            result = _read_one(manager, partition, params, entry, max_bytes, done, is_again)
        except ApiError as error:
            result = FetchResult(error.code)
        except (StorageFault, DamagedFile) as fault:
            result = _failed(manager, entry, fault)
        results.append(result)
        found = result.found
        if found is not None and found.records is not None:
            size_bytes = found.records.length
            done.found_bytes += size_bytes
            left_bytes = left_bytes - size_bytes if left_bytes > size_bytes else 0
        elif result.error_code or result.diverging_epoch is not None or result.preferred_read_replica >= 0:
            done.must_answer = True
    return done


def _read_one(
    manager: ReplicaManager,
    partition: Partition,
    params: FetchParams,
    entry: FetchEntry,
    max_bytes: int,
    done: _Round,
    is_again: bool,
) -> FetchResult:
    if entry.topic_id != partition.topic_id and entry.topic_id != ZERO_UUID:
        raise InconsistentTopicId(f"{entry.topic_partition} has another topic id than the fetch session")
    min_one_message = not done.found_bytes
    if params.replica_id >= 0 and not is_again:
        result, hw_moved = read_for_follower(partition, params, entry, max_bytes, min_one_message, done.now_ms)
        if manager.leader_throttle.rate_bytes is not None:
            result = _throttled(manager, partition, params, result, done.now_ms)
        if hw_moved or entry.topic_partition in manager.delete_purgatory.watched:
            done.moved.append(entry.topic_partition)
        return result
    if params.client_rack and manager.settings.is_rack_aware:
        preferred = find_preferred_replica(partition, params.client_rack, entry.fetch_offset, done.now_ms)
        if preferred is not None:
            return _sent_elsewhere(partition, entry, preferred)
    result = read(partition, params, entry, max_bytes, min_one_message)
    if params.replica_id >= 0 and manager.leader_throttle.rate_bytes is not None:
        result = _throttled(manager, partition, params, result, done.now_ms)
    return result


def _is_held_back(manager: ReplicaManager, partition: Partition, replica_id: int, now_ms: int) -> bool:
    """A follower that is not in sync, while followers like it have got too much."""
    log, throttle = partition.leader_log, manager.leader_throttle
    if log is None or replica_id in partition.isr_state.isr:
        return False
    setting = log.config.value.leader_replication_throttled_replicas
    return throttle.is_throttled(partition.topic_partition, setting) and throttle.is_exceeded(now_ms)


def _throttled(
    manager: ReplicaManager, partition: Partition, params: FetchParams, result: FetchResult, now_ms: int
) -> FetchResult:
    """What a follower gets of it."""
    log, found = partition.leader_log, result.found
    if log is None or found is None or found.records is None:
        return result
    if _is_held_back(manager, partition, params.replica_id, now_ms):
        return result._replace(found=LogRead(found.offset, None))
    if manager.leader_throttle.is_throttled(
        partition.topic_partition, log.config.value.leader_replication_throttled_replicas
    ):
        manager.leader_throttle.record(found.records.length, now_ms)
    return result


def _sent_elsewhere(partition: Partition, entry: FetchEntry, replica_id: int) -> FetchResult:
    log = partition.log_for(entry.current_leader_epoch, only_leader=False)
    return FetchResult(
        0,
        log.offsets.high_watermark,
        log.offsets.last_stable_offset,
        log.offsets.log_start_offset,
        preferred_read_replica=replica_id,
    )


def _missing(manager: ReplicaManager, entry: FetchEntry) -> ApiError:
    if not entry.topic_partition.topic:
        return ApiError("the topic id is not known", ErrorCode.UNKNOWN_TOPIC_ID)
    return manager.missing(entry.topic_partition)


def _failed(manager: ReplicaManager, entry: FetchEntry, fault: StorageFault | DamagedFile) -> FetchResult:
    logger.error("%s: a read failed: %s", entry.topic_partition, fault)
    manager.log_failed(entry.topic_partition, fault)
    return FetchResult(KafkaStorageError.code)


class DelayedFetch(DelayedOperation):
    """Waits until its partitions together have `min_bytes` more, or one of them has something else to say."""

    __slots__ = (
        "_available",
        "_available_bytes",
        "_callback",
        "_found_any",
        "_manager",
        "_order",
        "_params",
        "_starts",
        "entries",
    )

    def __init__(
        self,
        manager: ReplicaManager,
        params: FetchParams,
        entries: Sequence[FetchEntry],
        results: Sequence[FetchResult],
        callback: FetchCallback,
    ) -> None:
        super().__init__()
        self._manager = manager
        self._params = params
        self._callback = callback
        self._order = entries
        self.entries = {entry.topic_partition: entry for entry in entries}
        #: Where each would read, as far as the first pass could tell.
        self._starts: dict[TopicPartition, OffsetMetadata] = {}
        self._available: dict[TopicPartition, int] = {}
        self._available_bytes = 0
        self._found_any = False
        for entry, result in zip(entries, results, strict=True):
            found: LogRead | None = result.found
            if found is not None:
                self._starts[entry.topic_partition] = found.offset
                if found.records is not None:
                    self._found_any = True

    def is_ready(self) -> bool:
        """Once, before it is watched. Only where the first pass could have read and did not is there anything to
        look for: followers, who see the end of the log, it has told everything."""
        if self._params.isolation is Isolation.LOG_END and not self._found_any:
            return False
        return any(self._look(key) for key in self._starts) or self._available_bytes >= self._params.min_bytes

    def check(self, key: TopicPartition) -> bool:
        if self._look(key) or self._available_bytes >= self._params.min_bytes:
            self.complete()
            return True
        return False

    def _look(self, key: TopicPartition) -> bool:
        """Count what there is to read of one partition; True if that is reason enough to answer."""
        entry, start, params = self.entries[key], self._starts.get(key), self._params
        if start is None:
            return True
        partition = self._manager.partitions.get(key)
        if partition is None:
            return True
        try:
            log = partition.log_for(entry.current_leader_epoch, params.replica_id >= 0 or not params.may_read_follower)
            if entry.last_fetched_epoch != NO_EPOCH and find_divergence(log, entry) is not None:
                return True
            end = log.reader.visible_end(params.isolation)
        except (ApiError, StorageFault, DamagedFile):
            return True
        if start.message_offset > end.message_offset:
            return True  # the log was cut, or the start lies beyond what may be read
        if start.message_offset == end.message_offset:
            return False
        if params.replica_id >= 0 and self._manager.leader_throttle.rate_bytes is not None:
            now_ms = self._manager.clock.monotonic_ms()
            if _is_held_back(self._manager, partition, params.replica_id, now_ms):
                return False
        if UNKNOWN_SEGMENT in (start.segment_base_offset, end.segment_base_offset):
            return True
        if start.segment_base_offset != end.segment_base_offset:
            return True  # an older segment: there is plenty
        available = min(end.position - start.position, entry.max_bytes)
        self._available_bytes += available - self._available.get(key, 0)
        self._available[key] = available
        return False

    def on_complete(self) -> None:
        self._callback(_read_all(self._manager, self._params, self._order, is_again=True).results)
