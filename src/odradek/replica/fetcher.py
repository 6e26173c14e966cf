"""A follower's fetches from one other broker, for all partitions that the other leads and this broker follows.

Each partition is in one of these phases:

    FETCHING ──OFFSET_OUT_OF_RANGE──► RESET_TO_END ──leader's end is not below ours──► RESET_TO_START
       ▲                                   │ (ask for the leader's end; if it is below      │ (ask for its start)
       └───────────────────────────────────┴── ours, cut to it) ◄──────────────────────────┘

A log without any leader epoch cannot be compared with the leader's and is cut to its high watermark before it is read
on; any other is compared with each fetch (KIP-595): the request carries the epoch of the last record, and a leader that
knows better answers where to cut. After an error a partition pauses for `replica.fetch.backoff.ms`; one that the source
fences, or whose own log fails, is dropped until the metadata says something new.

There is one request under way at a time. The driver asks `next_request` when `is_ready`, and hands over the response or
the failure; `deadline_ms` says when a pause is over. An answer counts for a partition only if its epoch and offset are
still those that were asked for.
"""

from __future__ import annotations

import logging
from enum import Enum
from typing import TYPE_CHECKING, NamedTuple

from odradek.common.failures import ApiError, Fault, check
from odradek.common.ids import TopicPartition
from odradek.common.list_offsets_timestamps import EARLIEST, LATEST
from odradek.log.errors import DamagedFile, KafkaStorageError, StorageFault
from odradek.log.values import EpochEndOffset
from odradek.protocol.error_codes import ErrorCode
from odradek.protocol.error_names import error_name
from odradek.protocol.fetch_session import FetchSessionHandler, PartitionFetch
from odradek.protocol.messages import fetch_request, list_offsets_request
from odradek.protocol.messages.fetch_response import FetchResponse, PartitionData
from odradek.protocol.messages.list_offsets_response import ListOffsetsPartitionResponse, ListOffsetsResponse
from odradek.records.errors import CorruptRecord, InvalidRecord
from odradek.replica.log_lines import PartitionLogLines
from odradek.replica.partition import Partition
from odradek.replica.partition_follow import (
    append_as_follower,
    follow_offsets,
    restart_log,
    truncate,
    truncation_offset,
)
from odradek.replica.values import NO_EPOCH

if TYPE_CHECKING:
    from odradek.replica.replica_manager import ReplicaManager

logger = logging.getLogger("odradek.replica.fetcher")

Request = fetch_request.FetchRequest | list_offsets_request.ListOffsetsRequest


class Phase(Enum):
    FETCHING = "fetching"
    RESET_TO_END = "reset to end"
    RESET_TO_START = "reset to start"


class FetchFrom(NamedTuple):
    """A partition to be fetched, at the leader epoch in which the source leads it."""

    topic_partition: TopicPartition
    topic_id: bytes
    leader_epoch: int


class FetchState:
    """Where a partition is."""

    __slots__ = ("fetch_offset", "lag", "last_fetched_epoch", "leader_epoch", "not_before_ms", "phase", "topic_id")

    def __init__(self, topic_id: bytes, leader_epoch: int) -> None:
        self.topic_id = topic_id
        self.leader_epoch = leader_epoch
        self.fetch_offset = 0
        self.last_fetched_epoch = NO_EPOCH
        self.phase = Phase.FETCHING
        self.not_before_ms: int | None = None
        #: Behind the leader's high watermark; None until it has answered.
        self.lag: int | None = None

    def __repr__(self) -> str:
        return f"FetchState({self.phase.value} at {self.fetch_offset}, epoch {self.leader_epoch}, lag {self.lag})"


class Fetcher:
    def __init__(self, manager: ReplicaManager, source_id: int) -> None:
        self._manager = manager
        self.source_id = source_id
        self.states: dict[TopicPartition, FetchState] = {}
        self.is_closed = False
        self._session = FetchSessionHandler()
        self._inflight: Request | None = None
        self._lines = PartitionLogLines(logger)

    # -- partitions

    def add(self, wanted: FetchFrom) -> None:
        """At the same epoch it goes on where it is."""
        tp = wanted.topic_partition
        state = self.states.get(tp)
        if state is not None and state.leader_epoch == wanted.leader_epoch:
            return
        log = self._partition(tp).local_log()
        state = FetchState(wanted.topic_id, wanted.leader_epoch)
        if log.epochs.latest_epoch is None and log.offsets.high_watermark < log.offsets.log_end_offset:
            truncate(self._partition(tp), log.offsets.high_watermark)
        self._read_on(tp, state)
        self.states[tp] = state

    def remove(self, tp: TopicPartition) -> None:
        self.states.pop(tp, None)

    def source_changed(self) -> None:
        """Another process is there now: its sessions are gone, and there is no reason to wait any longer."""
        self._session = FetchSessionHandler()
        for state in self.states.values():
            state.not_before_ms = None

    def _partition(self, tp: TopicPartition) -> Partition:
        return self._manager.find(tp)

    def _read_on(self, tp: TopicPartition, state: FetchState) -> None:
        """From where the log ends now."""
        log = self._partition(tp).local_log()
        state.phase = Phase.FETCHING
        state.fetch_offset = log.offsets.log_end_offset
        latest = log.epochs.latest_epoch
        state.last_fetched_epoch = NO_EPOCH if latest is None else latest

    # -- requests

    @property
    def is_inflight(self) -> bool:
        return self._inflight is not None

    def is_ready(self, now_ms: int) -> bool:
        if self._inflight is not None or self.is_closed:
            return False
        return any(state.not_before_ms is None or state.not_before_ms <= now_ms for state in self.states.values())

    @property
    def deadline_ms(self) -> int | None:
        """When a pause is over; None if a request is under way, or nothing pauses."""
        if self._inflight is not None:
            return None
        pauses = [state.not_before_ms for state in self.states.values() if state.not_before_ms is not None]
        return min(pauses, default=None)

    def next_request(self, now_ms: int) -> Request | None:
        """To send now; then nothing until it is answered or has failed."""
        if self._inflight is not None or self.is_closed:
            return None
        ready: dict[TopicPartition, FetchState] = {}
        for tp, state in self.states.items():
            if state.not_before_ms is None or state.not_before_ms <= now_ms:
                state.not_before_ms = None
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
        return list_offsets_request.ListOffsetsRequest(replica_id=self._manager.broker_id, topics=list(topics.values()))

    def _fetch_request(self, ready: dict[TopicPartition, FetchState], now_ms: int) -> fetch_request.FetchRequest | None:
        partitions, throttle = self._manager.partitions, self._manager.follower_throttle
        throttled_ms = throttle.delay_ms(now_ms)
        if throttled_ms:
            # Not longer than the backoff: the rate may be raised meanwhile.
            pause_ms = min(throttled_ms, self._manager.settings.replica_fetch_backoff_ms)
            for tp in [tp for tp, state in ready.items() if self._is_held_back(tp, state)]:
                ready.pop(tp).not_before_ms = now_ms + pause_ms
        fetches = {
            tp: PartitionFetch(
                state.topic_id,
                state.fetch_offset,
                self._manager.settings.replica_fetch_max_bytes,
                state.leader_epoch,
                partitions[tp].local_log().offsets.log_start_offset,
                state.last_fetched_epoch,
            )
            for tp, state in ready.items()
        }
        if not fetches and self._session.is_full:
            return None
        settings, manager = self._manager.settings, self._manager
        session_data = self._session.build(fetches)
        return fetch_request.FetchRequest(
            replica_state=fetch_request.ReplicaState(replica_id=manager.broker_id, replica_epoch=manager.broker_epoch),
            max_wait_ms=settings.replica_fetch_wait_max_ms,
            min_bytes=settings.replica_fetch_min_bytes,
            max_bytes=settings.replica_fetch_response_max_bytes,
            session_id=session_data.session_id,
            session_epoch=session_data.epoch,
            topics=session_data.topics(),
            forgotten_topics_data=session_data.forgotten_topics(),
        )

    def _is_held_back(self, tp: TopicPartition, state: FetchState) -> bool:
        """Return whether the exceeded rate applies to the replica; it never does to one that is in sync."""
        log = self._manager.partitions[tp].local_log()
        setting = log.config.value.follower_replication_throttled_replicas
        return state.lag != 0 and self._manager.follower_throttle.is_throttled(tp, setting)

    # -- answers

    def handle_failure(self, now_ms: int) -> None:
        """No answer came: everything pauses, and the session begins anew."""
        self._inflight = None
        self._session.handle_error()
        for tp in self.states:
            self._pause(tp, now_ms)

    def handle_response(self, response: FetchResponse | ListOffsetsResponse, now_ms: int) -> None:
        check(self._inflight is not None, f"an answer from broker {self.source_id} that nobody waits for")
        request, self._inflight = self._inflight, None
        if isinstance(response, ListOffsetsResponse):
            assert isinstance(request, list_offsets_request.ListOffsetsRequest)
            self._offsets_arrived(request, response, now_ms)
            self._lines.flush()
            return
        sent = self._session.partitions
        received = self._session.handle_response(response, FetchResponse.VERSIONS[1])
        if received is None:
            logger.info("broker %d: %s; the session begins anew", self.source_id, error_name(response.error_code))
            if response.error_code == ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR:
                for tp in self.states:
                    self._pause(tp, now_ms)
            return
        for tp, data in received.items():
            self._partition_arrived(tp, sent[tp], data, now_ms)
        self._lines.flush()

    def _partition_arrived(self, tp: TopicPartition, sent: PartitionFetch, data: PartitionData, now_ms: int) -> None:
        state = self.states.get(tp)
        if state is None or state.phase is not Phase.FETCHING:
            return
        if sent.fetch_offset != state.fetch_offset or sent.leader_epoch != state.leader_epoch:
            return
        if data.error_code != ErrorCode.NONE:
            self._refused(tp, state, data.error_code, now_ms)
            return
        try:
            if data.diverging_epoch.end_offset >= 0:
                self._diverges(tp, state, data)
            else:
                self._append(tp, state, data)
        except (CorruptRecord, InvalidRecord) as error:
            logger.error("%s: broker %d sent what cannot be appended: %s", tp, self.source_id, error)
            self._pause(tp, now_ms)
        except (StorageFault, DamagedFile) as fault:
            self._manager.log_failed(tp, fault)
        except (ApiError, Fault) as error:
            self._drop(tp, str(error))

    def _diverges(self, tp: TopicPartition, state: FetchState, data: PartitionData) -> None:
        partition = self._partition(tp)
        leader_end = EpochEndOffset(data.diverging_epoch.epoch, data.diverging_epoch.end_offset)
        offset = truncation_offset(partition.local_log(), leader_end)
        if offset <= data.log_start_offset:
            # The leader has deleted what it knew of that epoch, and answers with where its log starts: what is left
            # below may never have been the leader's. Kafka keeps it, and may show it once its log start is forgotten.
            restart_log(partition, data.log_start_offset)
        else:
            truncate(partition, offset)
        self._read_on(tp, state)

    def _append(self, tp: TopicPartition, state: FetchState, data: PartitionData) -> None:
        partition = self._partition(tp)
        log = partition.local_log()
        check(
            log.offsets.log_end_offset == state.fetch_offset,
            f"{tp}: fetched from {state.fetch_offset}, but the log ends at {log.offsets.log_end_offset}",
        )
        if data.records:
            info = append_as_follower(partition, data.records, state.leader_epoch)
            if info.valid_bytes > 0:
                state.fetch_offset = info.last_offset + 1
                if info.last_leader_epoch >= 0:
                    state.last_fetched_epoch = info.last_leader_epoch
                self.states[tp] = self.states.pop(tp)  # to the end: all have their turn
                self._count(tp, info.valid_bytes)
        state.lag = max(0, data.high_watermark - state.fetch_offset)
        if follow_offsets(log, data.high_watermark, data.log_start_offset):
            self._manager.fetch_purgatory.check(tp)

    def _count(self, tp: TopicPartition, copied_bytes: int) -> None:
        throttle = self._manager.follower_throttle
        setting = self._partition(tp).local_log().config.value.follower_replication_throttled_replicas
        if throttle.is_throttled(tp, setting):
            throttle.record(copied_bytes, self._manager.clock.monotonic_ms())

    def _refused(self, tp: TopicPartition, state: FetchState, error_code: int, now_ms: int) -> None:
        if error_code == ErrorCode.OFFSET_OUT_OF_RANGE:
            logger.info("%s: offset %d is out of the range of broker %d", tp, state.fetch_offset, self.source_id)
            state.phase = Phase.RESET_TO_END
        elif error_code == ErrorCode.FENCED_LEADER_EPOCH:
            # The metadata that names the new leader is on its way here.
            event = f"are no longer fetched from broker {self.source_id}: it knows a newer leader epoch"
            detail = f"no longer fetched from broker {self.source_id}: it is past leader epoch {state.leader_epoch}"
            self._lines.add(logging.INFO, event, tp, detail)
            self._manager.fetchers.failed(tp)
        else:
            error = f"from broker {self.source_id}: {error_name(error_code)}"
            self._lines.add(logging.INFO, f"cannot be fetched {error}", tp, f"cannot be fetched {error}")
            self._pause(tp, now_ms)

    # -- out of range

    def _offsets_arrived(
        self, request: list_offsets_request.ListOffsetsRequest, response: ListOffsetsResponse, now_ms: int
    ) -> None:
        asked = {
            TopicPartition(topic.name, partition.partition_index): partition
            for topic in request.topics
            for partition in topic.partitions
        }
        for topic in response.topics:
            for answer in topic.partitions:
                tp = TopicPartition(topic.name, answer.partition_index)
                state, question = self.states.get(tp), asked.get(tp)
                if state is None or question is None or state.leader_epoch != question.current_leader_epoch:
                    continue
                if answer.error_code != ErrorCode.NONE:
                    self._refused(tp, state, answer.error_code, now_ms)
                    continue
                if answer.offset < 0:
                    logger.warning("%s: broker %d names the offset %d", tp, self.source_id, answer.offset)
                    self._pause(tp, now_ms)
                    continue
                self._reset(tp, state, answer)

    def _reset(self, tp: TopicPartition, state: FetchState, answer: ListOffsetsPartitionResponse) -> None:
        """Kafka's rule: a log that is ahead of the leader is cut to the leader's end, which only an unclean election or
        the loss of a disk brings about; one that ends before the leader starts begins anew there."""
        try:
            partition = self._partition(tp)
            end_offset = partition.local_log().offsets.log_end_offset
            if state.phase is Phase.RESET_TO_END and answer.offset >= end_offset:
                state.phase = Phase.RESET_TO_START
                return
            if state.phase is Phase.RESET_TO_END:
                truncate(partition, answer.offset)
            elif answer.offset > end_offset:
                restart_log(partition, answer.offset)
            self._read_on(tp, state)
        except KafkaStorageError as error:
            self._drop(tp, str(error))

    # -- what becomes of a partition

    def _pause(self, tp: TopicPartition, now_ms: int) -> None:
        state = self.states.get(tp)
        if state is not None and state.not_before_ms is None:
            state.not_before_ms = now_ms + self._manager.settings.replica_fetch_backoff_ms

    def _drop(self, tp: TopicPartition, reason: str) -> None:
        event = f"no longer fetched from broker {self.source_id}"
        self._lines.add(logging.WARNING, f"are {event}", tp, f"{event}: {reason}")
        self._manager.fetchers.failed(tp)
