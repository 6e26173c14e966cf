"""A follower's fetcher, message by message."""

from typing import Any

import pytest

from odradek.protocol.error_codes import ErrorCode
from odradek.protocol.messages.fetch_request import FetchRequest
from odradek.protocol.messages.fetch_response import (
    EpochEndOffset,
    FetchableTopicResponse,
    FetchResponse,
    PartitionData,
)
from odradek.protocol.messages.list_offsets_request import ListOffsetsRequest
from odradek.protocol.messages.list_offsets_response import (
    ListOffsetsPartitionResponse,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)
from odradek.protocol.messages.topic_record import TopicRecord
from odradek.replica.fetcher import FollowerFetcher, Phase
from support.builders.logs import batch, stored_values
from support.builders.replica import TOPIC, TOPIC_ID, TP, Cluster, change_record, partition_record


class Follower:
    """Broker 1, which follows broker 0; the test plays broker 0."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.broker = cluster.brokers[1]
        self.replicas = self.broker.replicas

    @property
    def now_ms(self) -> int:
        return self.cluster.clock.monotonic_ms()

    @property
    def fetcher(self) -> FollowerFetcher:
        [fetcher] = self.replicas.fetchers.by_source.values()
        return fetcher

    def request(self) -> Any:
        return self.fetcher.next_request(self.now_ms)

    def answer(self, session_id: int = 7, number: int = 0, others: tuple[int, ...] = (), **fields: Any) -> None:
        partitions = [PartitionData(partition_index=index, **fields) for index in (number, *others)]
        topics = [FetchableTopicResponse(topic_id=TOPIC_ID, partitions=partitions)]
        self.fetcher.handle_response(FetchResponse(session_id=session_id, responses=topics), self.now_ms)


@pytest.fixture
def follower() -> Follower:
    cluster = Cluster(size=2)
    cluster.create_topic()
    return Follower(cluster)


def leaders_batch(*values: str, offset: int = 0, epoch: int = 0) -> bytes:
    return batch(*values, base_offset=offset, leader_epoch=epoch)


def test_the_first_request_says_everything(follower: Follower) -> None:
    request = follower.request()
    assert isinstance(request, FetchRequest)
    assert (request.replica_state.replica_id, request.replica_state.replica_epoch) == (1, 101)
    assert (request.session_id, request.session_epoch) == (0, 0)
    [topic] = request.topics
    [asked] = topic.partitions
    assert topic.topic_id == TOPIC_ID
    assert (asked.partition, asked.fetch_offset, asked.current_leader_epoch, asked.last_fetched_epoch) == (0, 0, 0, -1)


def test_the_next_one_says_what_has_changed(follower: Follower) -> None:
    follower.request()
    follower.answer(records=leaders_batch("a", "b"), high_watermark=1, log_start_offset=0)
    assert stored_values(follower.broker.log) == [b"a", b"b"] and follower.broker.log.offsets.high_watermark == 1
    request = follower.request()
    assert (request.session_id, request.session_epoch) == (7, 1)
    [asked] = request.topics[0].partitions
    assert (asked.fetch_offset, asked.last_fetched_epoch) == (2, 0)
    follower.answer(records=b"", high_watermark=2, log_start_offset=0)
    again = follower.request()
    assert (again.session_epoch, again.topics, again.forgotten_topics_data) == (2, [], [])


def test_partitions_that_are_gone_are_forgotten() -> None:
    cluster = Cluster(size=2)
    cluster.replay(
        TopicRecord(name=TOPIC, topic_id=TOPIC_ID), partition_record([0, 1]), partition_record([0, 1], number=1)
    )
    follower = Follower(cluster)
    follower.request()
    follower.answer(high_watermark=0, log_start_offset=0, others=(1,))
    cluster.replay(change_record(partition_id=1, leader=1))
    [forgotten] = follower.request().forgotten_topics_data
    assert (forgotten.topic_id, forgotten.partitions) == (TOPIC_ID, [1])


@pytest.mark.parametrize(
    ("error", "session"),
    [
        (ErrorCode.FETCH_SESSION_ID_NOT_FOUND, (0, 0)),
        (ErrorCode.INVALID_FETCH_SESSION_EPOCH, (7, 0)),
    ],
)
def test_a_session_that_the_source_has_lost_begins_anew(
    follower: Follower, error: int, session: tuple[int, int]
) -> None:
    follower.request()
    follower.answer(high_watermark=0)
    follower.request()
    follower.fetcher.handle_response(FetchResponse(error_code=error), follower.now_ms)
    request = follower.request()
    assert (request.session_id, request.session_epoch) == session and len(request.topics) == 1


def test_a_failure_pauses_and_closes_the_session(follower: Follower) -> None:
    follower.request()
    follower.answer(high_watermark=0)
    follower.request()
    follower.fetcher.handle_failure(follower.now_ms)
    assert follower.request() is None
    follower.cluster.clock.now_ms += 1_000
    assert (follower.request().session_id, follower.fetcher.is_inflight) == (7, True)


@pytest.mark.parametrize(
    "error",
    [
        ErrorCode.UNKNOWN_LEADER_EPOCH,
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.UNKNOWN_TOPIC_ID,
        ErrorCode.INCONSISTENT_TOPIC_ID,
        ErrorCode.KAFKA_STORAGE_ERROR,
        ErrorCode.UNKNOWN_SERVER_ERROR,
    ],
)
def test_a_partition_with_an_error_pauses(follower: Follower, error: int) -> None:
    follower.request()
    follower.answer(error_code=error)
    assert follower.request() is None and follower.fetcher.deadline_ms == follower.now_ms + 1_000


def test_a_fenced_partition_waits_for_metadata(follower: Follower) -> None:
    follower.request()
    fetcher = follower.fetcher
    follower.answer(error_code=ErrorCode.FENCED_LEADER_EPOCH)
    assert fetcher.is_closed and list(follower.replicas.fetchers.failed_partitions) == [TP]
    follower.cluster.replay(change_record(leader=0))
    assert follower.request() is not None and not follower.replicas.fetchers.failed_partitions


def test_an_answer_to_an_epoch_that_is_over_is_ignored(follower: Follower) -> None:
    follower.request()
    follower.cluster.replay(change_record(leader=0))
    follower.answer(records=leaders_batch("old"), high_watermark=1)
    assert follower.broker.log.offsets.log_end_offset == 0


def test_damaged_records_are_not_appended(follower: Follower) -> None:
    damaged = bytearray(leaders_batch("a"))
    damaged[-1] ^= 1
    follower.request()
    follower.answer(records=bytes(damaged), high_watermark=1)
    assert follower.broker.log.offsets.log_end_offset == 0 and follower.request() is None


def test_records_at_another_offset_than_asked_for_are_refused(follower: Follower) -> None:
    follower.request()
    follower.answer(records=leaders_batch("a"), high_watermark=0)
    follower.request()
    follower.answer(records=leaders_batch("b", offset=0), high_watermark=0)
    assert stored_values(follower.broker.log) == [b"a"]
    assert list(follower.replicas.fetchers.failed_partitions) == [TP]


def test_an_incomplete_batch_at_the_end_is_left_for_the_next_fetch(follower: Follower) -> None:
    follower.request()
    follower.answer(records=leaders_batch("a") + leaders_batch("b", offset=1)[:-3], high_watermark=2)
    assert stored_values(follower.broker.log) == [b"a"]
    assert follower.request().topics[0].partitions[0].fetch_offset == 1


def test_a_diverging_log_is_cut_and_read_on(follower: Follower) -> None:
    follower.request()
    follower.answer(records=leaders_batch("a") + leaders_batch("b", offset=1), high_watermark=1, log_start_offset=0)
    follower.cluster.replay(change_record(leader=0))
    follower.request()
    follower.answer(diverging_epoch=EpochEndOffset(epoch=0, end_offset=1), session_id=0)
    assert stored_values(follower.broker.log) == [b"a"]
    [asked] = follower.request().topics[0].partitions
    assert (asked.fetch_offset, asked.last_fetched_epoch) == (1, 0)


def test_nothing_is_kept_of_what_the_leader_has_deleted_since(follower: Follower) -> None:
    """The leader no longer knows where the epoch ended, and names its log start instead."""
    follower.request()
    follower.answer(records=leaders_batch("a") + leaders_batch("b", offset=1), high_watermark=0, log_start_offset=0)
    follower.cluster.replay(change_record(leader=0))
    follower.request()
    follower.answer(diverging_epoch=EpochEndOffset(epoch=0, end_offset=1), log_start_offset=1, session_id=0)
    log = follower.broker.log
    assert (log.offsets.log_start_offset, log.offsets.log_end_offset, stored_values(log)) == (1, 1, [])


class TestOutOfRange:
    def offsets(self, follower: Follower, offset: int, error: int = 0) -> int:
        """Answers what the follower asks for; the timestamp that it asked."""
        request = follower.request()
        assert isinstance(request, ListOffsetsRequest) and request.replica_id == 1
        answer = ListOffsetsPartitionResponse(partition_index=0, offset=offset, error_code=error)
        follower.fetcher.handle_response(
            ListOffsetsResponse(topics=[ListOffsetsTopicResponse(name=TOPIC, partitions=[answer])]), follower.now_ms
        )
        timestamp: int = request.topics[0].partitions[0].timestamp
        return timestamp

    @pytest.fixture
    def lost(self, follower: Follower) -> Follower:
        """Has three records, and is told that it is out of range."""
        follower.request()
        follower.answer(records=leaders_batch("a", "b") + leaders_batch("c", offset=2), high_watermark=1)
        follower.request()
        follower.answer(error_code=ErrorCode.OFFSET_OUT_OF_RANGE)
        assert follower.fetcher.states[TP].phase is Phase.RESET_TO_END
        return follower

    def test_ahead_of_the_leader_it_cuts_to_the_leaders_end(self, lost: Follower) -> None:
        assert self.offsets(lost, 2) == -1
        assert lost.broker.log.offsets.log_end_offset == 2
        assert lost.request().topics[0].partitions[0].fetch_offset == 2

    def test_an_offset_that_is_none_is_asked_for_again(self, lost: Follower) -> None:
        assert self.offsets(lost, -1) == -1
        log = lost.broker.log
        assert (log.offsets.log_end_offset, lost.fetcher.states[TP].phase) == (3, Phase.RESET_TO_END)
        lost.cluster.clock.now_ms += 1_000
        assert self.offsets(lost, 2) == -1

    def test_behind_the_leaders_start_it_begins_anew_there(self, lost: Follower) -> None:
        assert self.offsets(lost, 90) == -1
        assert self.offsets(lost, 50) == -2
        log = lost.broker.log
        assert (log.offsets.log_start_offset, log.offsets.log_end_offset, log.offsets.high_watermark) == (50, 50, 50)
        [asked] = lost.request().topics[0].partitions
        assert (asked.fetch_offset, asked.last_fetched_epoch) == (50, -1)

    def test_within_the_leaders_log_it_goes_on_where_it_was(self, lost: Follower) -> None:
        self.offsets(lost, 90)
        self.offsets(lost, 0)
        assert isinstance(lost.request(), FetchRequest)
        assert lost.fetcher.states[TP].fetch_offset == lost.broker.log.offsets.log_end_offset == 3

    def test_an_error_pauses(self, lost: Follower) -> None:
        self.offsets(lost, -1, ErrorCode.NOT_LEADER_OR_FOLLOWER)
        assert lost.request() is None
        lost.cluster.clock.now_ms += 1_000
        assert isinstance(lost.request(), ListOffsetsRequest)


def test_the_own_disk_fails() -> None:
    cluster = Cluster(size=2, dirs=2)
    cluster.create_topic()
    follower = Follower(cluster)
    follower.request()
    fetcher = follower.fetcher
    follower.broker.disk.fail(kind="write", path="*.log")
    follower.answer(records=leaders_batch("a"), high_watermark=1)
    assert fetcher.is_closed and list(follower.replicas.partitions.offline) == [TP]


def test_a_driver_is_told_when_there_is_something_to_send(follower: Follower) -> None:
    told: list[tuple[int, bool]] = []
    follower.replicas.fetchers.on_ready(lambda fetcher: told.append((fetcher.source_id, fetcher.is_closed)))
    follower.cluster.replay(change_record(leader=1, isr=[0, 1]))
    assert told == [(0, True)]
    follower.cluster.replay(change_record(leader=0, isr=[0, 1]))
    assert told == [(0, True), (0, False)]
