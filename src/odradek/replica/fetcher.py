"""A follower's fetches from one other broker, for all partitions that it leads and this broker follows.

Each partition is in one of these phases:

    FETCHING ──OFFSET_OUT_OF_RANGE──► RESET_TO_END ──leader's end is not below ours──► RESET_TO_START
       ▲                                   │ (request the leader's end; if it is           │ (request its start)
       └───────────────────────────────────┴── below ours, truncate to it) ◄───────────────┘

A log without any leader epoch cannot be compared with the leader's and is truncated to its high watermark before it is
fetched; any other is compared with each fetch (KIP-595): the request has the epoch of the last record, and the leader
responds with the offset to truncate to if its log differs. After an error a partition pauses for
`replica.fetch.backoff.ms`; one whose leader epoch is fenced by the source, or whose own log fails, is removed until its
metadata changes.

There is one request in flight at a time. The driver calls `next_request` when `is_ready`, and passes the response or
the failure; `deadline_ms` is the end of the earliest pause. A response applies to a partition only if the partition's
epoch and offset are still those of the request.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from enum import Enum
from typing import NamedTuple

from odradek.common.failures import ApiError, Fault, check
from odradek.common.ids import TopicPartition
from odradek.common.list_offsets_timestamps import EARLIEST, LATEST
from odradek.common.ports import Clock
from odradek.log.errors import DamagedFile, KafkaStorageError, StorageFault
from odradek.log.unified_log import UnifiedLog
from odradek.log.values import EpochEndOffset
from odradek.protocol.error_codes import ErrorCode
from odradek.protocol.error_names import error_name
from odradek.protocol.fetch_session import FetchSessionHandler, PartitionFetch
from odradek.protocol.messages import fetch_request, list_offsets_request
from odradek.protocol.messages.fetch_response import FetchResponse, PartitionData
from odradek.protocol.messages.list_offsets_response import ListOffsetsResponse
from odradek.records.errors import CorruptRecord, InvalidRecord
from odradek.replica.cluster_view import ClusterView
from odradek.replica.hosted_partitions import HostedPartitions
from odradek.replica.log_lines import PartitionLogLines
from odradek.replica.partition_follower import PartitionFollower, truncation_offset
from odradek.replica.purgatory import DelayedOperation, Purgatory
from odradek.replica.replica_failures import ReplicaFailures
from odradek.replica.replication_quota import ReplicationQuota
from odradek.replica.requests import NO_EPOCH
from odradek.replica.settings import ReplicaSettings

logger = logging.getLogger("odradek.replica.fetcher")

Request = fetch_request.FetchRequest | list_offsets_request.ListOffsetsRequest


class Phase(Enum):
    FETCHING = "fetching"
    RESET_TO_END = "reset to end"
    RESET_TO_START = "reset to start"


class FetchSource(NamedTuple):
    """A partition to be fetched, at the leader epoch in which the source leads it."""

    topic_partition: TopicPartition
    topic_id: bytes
    leader_epoch: int


class FetchState:
    """Progress of one partition. Public to read."""

    __slots__ = ("fetch_offset", "lag", "last_fetched_epoch", "leader_epoch", "not_before_ms", "phase", "topic_id")

    def __init__(self, topic_id: bytes, leader_epoch: int) -> None:
        self.topic_id = topic_id
        self.leader_epoch = leader_epoch
        self.fetch_offset = 0
        self.last_fetched_epoch = NO_EPOCH
        self.phase = Phase.FETCHING
        #: End of a pause, if any.
        self.not_before_ms: int | None = None
        #: Lag behind the leader's high watermark; None until the first response.
        self.lag: int | None = None

    def __repr__(self) -> str:
        return f"FetchState({self.phase.value} at {self.fetch_offset}, epoch {self.leader_epoch}, lag {self.lag})"

    def is_due(self, now_ms: int) -> bool:
        return self.not_before_ms is None or self.not_before_ms <= now_ms

    def pause_until(self, until_ms: int) -> None:
        """Pause, unless a pause has begun already."""
        if self.not_before_ms is None:
            self.not_before_ms = until_ms

    def end_pause(self) -> None:
        self.not_before_ms = None

    def fetch_from_end(self, log: UnifiedLog) -> None:
        """Fetch from the end of the local log."""
        self.phase = Phase.FETCHING
        self.fetch_offset = log.offsets.log_end_offset
        latest = log.epochs.latest_epoch
        self.last_fetched_epoch = NO_EPOCH if latest is None else latest

    def reset(self, phase: Phase) -> None:
        self.phase = phase

    def appended(self, next_offset: int, last_epoch: int) -> None:
        """Advance after an append to the local log."""
        self.fetch_offset = next_offset
        if last_epoch >= 0:
            self.last_fetched_epoch = last_epoch

    def set_leader_high_watermark(self, high_watermark: int) -> None:
        self.lag = max(0, high_watermark - self.fetch_offset)


class FollowerFetcher:
    def __init__(
        self,
        source_id: int,
        view: ClusterView,
        clock: Clock,
        settings: ReplicaSettings,
        partitions: HostedPartitions,
        fetch_purgatory: Purgatory[DelayedOperation],
        failures: ReplicaFailures,
        quota: ReplicationQuota,
        mark_failed: Callable[[TopicPartition], None],
    ) -> None:
        self.source_id = source_id
        self._view = view
        self._clock = clock
        self._settings = settings
        self._partitions = partitions
        self._fetch_purgatory = fetch_purgatory
        self._failures = failures
        self._quota = quota
        self._mark_failed = mark_failed
        self.states: dict[TopicPartition, FetchState] = {}
        self.is_closed = False
        self._session = FetchSessionHandler()
        self._inflight: Request | None = None
        self._lines = PartitionLogLines(logger)

    # -- partitions

    def add(self, source: FetchSource) -> None:
        """Fetch a partition; at an unchanged leader epoch it continues at its offset."""
        tp = source.topic_partition
        state = self.states.get(tp)
        if state is not None and state.leader_epoch == source.leader_epoch:
            return
        follower = self._follower(tp)
        log = follower.log
        state = FetchState(source.topic_id, source.leader_epoch)
        if log.epochs.latest_epoch is None and log.offsets.high_watermark < log.offsets.log_end_offset:
            follower.truncate(log.offsets.high_watermark)
        state.fetch_from_end(log)
        self.states[tp] = state

    def remove(self, tp: TopicPartition) -> None:
        self.states.pop(tp, None)

    def close(self) -> None:
        self.is_closed = True

    def restart_session(self) -> None:
        """Start a new session without pauses: the source is another process, which does not know the old session."""
        self._session = FetchSessionHandler()
        for state in self.states.values():
            state.end_pause()

    def _follower(self, tp: TopicPartition) -> PartitionFollower:
        return self._partitions.find(tp).follower()

    # -- requests

    @property
    def is_inflight(self) -> bool:
        return self._inflight is not None

    def is_ready(self, now_ms: int) -> bool:
        if self._inflight is not None or self.is_closed:
            return False
        return any(state.is_due(now_ms) for state in self.states.values())

    @property
    def deadline_ms(self) -> int | None:
        """End of the earliest pause; None if a request is in flight, or no partition pauses."""
        if self._inflight is not None:
            return None
        pauses = [state.not_before_ms for state in self.states.values() if state.not_before_ms is not None]
        return min(pauses, default=None)

    def next_request(self, now_ms: int) -> Request | None:
        """Return a request to send now, or None; there is no other until it has a response or has failed."""
        if self._inflight is not None or self.is_closed:
            return None
        ready: dict[TopicPartition, FetchState] = {}
        for tp, state in self.states.items():
            if state.not_before_ms is None or state.not_before_ms <= now_ms:
                state.end_pause()
                ready[tp] = state
        resetting = {tp: state for tp, state in ready.items() if state.phase is not Phase.FETCHING}
        if resetting:
            self._inflight = self._list_offsets_request(resetting)
        elif ready:
            self._inflight = self._fetch_request(ready, now_ms)
        return self._inflight

    def _list_offsets_request(
        self, resetting: dict[TopicPartition, FetchState]
    ) -> list_offsets_request.ListOffsetsRequest:
        topics: dict[str, list_offsets_request.ListOffsetsTopic] = {}
        for tp, state in resetting.items():
            if tp.topic not in topics:
                topics[tp.topic] = list_offsets_request.ListOffsetsTopic(name=tp.topic)
            topics[tp.topic].partitions.append(
                list_offsets_request.ListOffsetsPartition(
                    partition_index=tp.partition,
                    current_leader_epoch=state.leader_epoch,
                    timestamp=LATEST if state.phase is Phase.RESET_TO_END else EARLIEST,
                )
            )
        return list_offsets_request.ListOffsetsRequest(replica_id=self._view.broker_id, topics=list(topics.values()))

    def _fetch_request(self, ready: dict[TopicPartition, FetchState], now_ms: int) -> fetch_request.FetchRequest | None:
        settings, online = self._settings, self._partitions.online
        throttled_ms = self._quota.delay_ms(now_ms)
        if throttled_ms:
            # Not longer than the backoff: the rate may be raised meanwhile.
            pause_ms = min(throttled_ms, settings.replica_fetch_backoff_ms)
            for tp in [tp for tp, state in ready.items() if self._is_throttled(tp, state)]:
                ready.pop(tp).pause_until(now_ms + pause_ms)
        fetches = {
            tp: PartitionFetch(
                state.topic_id,
                state.fetch_offset,
                settings.replica_fetch_max_bytes,
                state.leader_epoch,
                online[tp].local_log().offsets.log_start_offset,
                state.last_fetched_epoch,
            )
            for tp, state in ready.items()
        }
        if not fetches and self._session.is_full:
            return None
        session_data = self._session.build(fetches)
        view = self._view
        return fetch_request.FetchRequest(
            replica_state=fetch_request.ReplicaState(replica_id=view.broker_id, replica_epoch=view.broker_epoch),
            max_wait_ms=settings.replica_fetch_wait_max_ms,
            min_bytes=settings.replica_fetch_min_bytes,
            max_bytes=settings.replica_fetch_response_max_bytes,
            session_id=session_data.session_id,
            session_epoch=session_data.epoch,
            topics=session_data.topics(),
            forgotten_topics_data=session_data.forgotten_topics(),
        )

    def _is_throttled(self, tp: TopicPartition, state: FetchState) -> bool:
        """Return whether the exceeded quota applies to the replica; it never applies to one that is in sync."""
        log = self._partitions.online[tp].local_log()
        setting = log.config.value.follower_replication_throttled_replicas
        return state.lag != 0 and self._quota.applies_to(tp, setting)

    # -- responses

    def handle_failure(self, now_ms: int) -> None:
        """Handle a missing response: all partitions pause, and the session restarts."""
        self._inflight = None
        self._session.handle_error()
        for tp in self.states:
            self._pause(tp, now_ms)

    def handle_response(self, response: FetchResponse | ListOffsetsResponse, now_ms: int) -> None:
        check(self._inflight is not None, f"an unexpected response from broker {self.source_id}")
        request, self._inflight = self._inflight, None
        if isinstance(response, ListOffsetsResponse):
            assert isinstance(request, list_offsets_request.ListOffsetsRequest)
            self._handle_list_offsets(request, response, now_ms)
            self._lines.flush()
            return
        sent = self._session.partitions
        received = self._session.handle_response(response, FetchResponse.VERSIONS[1])
        if received is None:
            reason = error_name(response.error_code) if response.error_code else "other partitions than the session's"
            logger.info("broker %d: %s; the session restarts", self.source_id, reason)
            if response.error_code == ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR:
                for tp in self.states:
                    self._pause(tp, now_ms)
            return
        for tp, data in received.items():
            self._handle_partition(tp, sent[tp], data, now_ms)
        self._lines.flush()

    def _handle_partition(self, tp: TopicPartition, sent: PartitionFetch, data: PartitionData, now_ms: int) -> None:
        state = self.states.get(tp)
        if state is None or state.phase is not Phase.FETCHING:
            return
        if sent.fetch_offset != state.fetch_offset or sent.leader_epoch != state.leader_epoch:
            return
        if data.error_code != ErrorCode.NONE:
            self._handle_error(tp, state, data.error_code, now_ms)
            return
        try:
            if data.diverging_epoch.end_offset >= 0:
                self._truncate_diverging(tp, state, data)
            else:
                self._append(tp, state, data)
        except (CorruptRecord, InvalidRecord) as error:
            logger.error("%s: broker %d sent records that cannot be appended: %s", tp, self.source_id, error)
            self._pause(tp, now_ms)
        except (StorageFault, DamagedFile) as fault:
            self._failures.log_failed(tp, fault)
        except (ApiError, Fault) as error:
            self._fail(tp, str(error))

    def _truncate_diverging(self, tp: TopicPartition, state: FetchState, data: PartitionData) -> None:
        follower = self._follower(tp)
        leader_end = EpochEndOffset(data.diverging_epoch.epoch, data.diverging_epoch.end_offset)
        offset = truncation_offset(follower.log, leader_end)
        if offset <= data.log_start_offset:
            # The leader has deleted its records of that epoch, and responds with its log start offset: the local
            # records below may never have been the leader's. Kafka keeps them, and may return them once its log start
            # offset is lost.
            follower.restart_at(data.log_start_offset)
        else:
            follower.truncate(offset)
        state.fetch_from_end(follower.log)

    def _append(self, tp: TopicPartition, state: FetchState, data: PartitionData) -> None:
        follower = self._follower(tp)
        log = follower.log
        check(
            log.offsets.log_end_offset == state.fetch_offset,
            f"{tp}: fetched from {state.fetch_offset}, but the log ends at {log.offsets.log_end_offset}",
        )
        if data.records:
            info = follower.append(data.records, state.leader_epoch)
            if info.valid_bytes > 0:
                state.appended(info.last_offset + 1, info.last_leader_epoch)
                self.states[tp] = self.states.pop(tp)  # to the end of the order in which partitions are fetched
                setting = log.config.value.follower_replication_throttled_replicas
                if self._quota.applies_to(tp, setting):
                    self._quota.record(info.valid_bytes, self._clock.monotonic_ms())
        state.set_leader_high_watermark(data.high_watermark)
        if follower.set_offsets(data.high_watermark, data.log_start_offset):
            self._fetch_purgatory.check(tp)

    def _handle_error(self, tp: TopicPartition, state: FetchState, error_code: int, now_ms: int) -> None:
        if error_code == ErrorCode.OFFSET_OUT_OF_RANGE:
            logger.info("%s: offset %d is out of the range of broker %d", tp, state.fetch_offset, self.source_id)
            state.reset(Phase.RESET_TO_END)
        elif error_code == ErrorCode.FENCED_LEADER_EPOCH:
            # The metadata with the new leader is on its way.
            event = f"are no longer fetched from broker {self.source_id}: it has a newer leader epoch"
            detail = f"no longer fetched from broker {self.source_id}: it is past leader epoch {state.leader_epoch}"
            self._lines.add(logging.INFO, event, tp, detail)
            self._mark_failed(tp)
        else:
            error = f"from broker {self.source_id}: {error_name(error_code)}"
            self._lines.add(logging.INFO, f"cannot be fetched {error}", tp, f"cannot be fetched {error}")
            self._pause(tp, now_ms)

    # -- offsets out of range

    def _handle_list_offsets(
        self, request: list_offsets_request.ListOffsetsRequest, response: ListOffsetsResponse, now_ms: int
    ) -> None:
        requested = {
            TopicPartition(topic.name, partition.partition_index): partition
            for topic in request.topics
            for partition in topic.partitions
        }
        for topic in response.topics:
            for data in topic.partitions:
                tp = TopicPartition(topic.name, data.partition_index)
                state, sent = self.states.get(tp), requested.get(tp)
                if state is None or sent is None or state.leader_epoch != sent.current_leader_epoch:
                    continue
                if data.error_code != ErrorCode.NONE:
                    self._handle_error(tp, state, data.error_code, now_ms)
                elif data.offset < 0:
                    logger.warning("%s: broker %d returned the offset %d", tp, self.source_id, data.offset)
                    self._pause(tp, now_ms)
                else:
                    self._reset(tp, state, data.offset)

    def _reset(self, tp: TopicPartition, state: FetchState, leader_offset: int) -> None:
        """Apply Kafka's rule: a log that is ahead of the leader is truncated to the leader's end, which happens only
        after an unclean election or the loss of a disk; one that ends before the leader's start restarts there."""
        try:
            follower = self._follower(tp)
            end_offset = follower.log.offsets.log_end_offset
            if state.phase is Phase.RESET_TO_END and leader_offset >= end_offset:
                state.reset(Phase.RESET_TO_START)
                return
            if state.phase is Phase.RESET_TO_END:
                follower.truncate(leader_offset)
            elif leader_offset > end_offset:
                follower.restart_at(leader_offset)
            state.fetch_from_end(follower.log)
        except KafkaStorageError as error:
            self._fail(tp, str(error))

    # -- failed partitions

    def _pause(self, tp: TopicPartition, now_ms: int) -> None:
        state = self.states.get(tp)
        if state is not None:
            state.pause_until(now_ms + self._settings.replica_fetch_backoff_ms)

    def _fail(self, tp: TopicPartition, reason: str) -> None:
        event = f"no longer fetched from broker {self.source_id}"
        self._lines.add(logging.WARNING, f"are {event}", tp, f"{event}: {reason}")
        self._mark_failed(tp)
