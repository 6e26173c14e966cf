"""Writing the markers of a request: by the replicas, and through the group coordinator for offsets of groups."""

from collections.abc import Callable, Sequence

import pytest

from odradek.common.failures import ApiError
from odradek.common.ids import TopicPartition
from odradek.coordinator.runtime.reply import Reply
from odradek.coordinator.runtime.shard import Writer
from odradek.coordinator.transaction.marker_writing import MarkerWriter
from odradek.metadata.internal_topics import CONSUMER_OFFSETS
from odradek.protocol.error_codes import ErrorCode
from odradek.protocol.messages.write_txn_markers_request import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
)
from odradek.protocol.messages.write_txn_markers_response import WriteTxnMarkersResponse

ORDERS = TopicPartition("orders", 0)
OFFSETS = TopicPartition(CONSUMER_OFFSETS, 4)


class FakeLog:
    def __init__(self, *hosted: TopicPartition, is_immediate: bool = True) -> None:
        self.hosted = hosted
        self.is_immediate = is_immediate
        self.appended: list[tuple[list[TopicPartition], int]] = []
        self.waiting: list[Callable[[], None]] = []

    def hosts(self, partition: TopicPartition) -> bool:
        return partition in self.hosted

    def append_markers(
        self,
        partitions: Sequence[TopicPartition],
        marker: WritableTxnMarker,
        on_appended: Callable[[Sequence[int]], None],
    ) -> None:
        self.appended.append((list(partitions), marker.producer_id))
        codes = [0 if tp in self.hosted else int(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION) for tp in partitions]
        self.waiting.append(lambda: on_appended(codes))
        if self.is_immediate:
            self.waiting.pop()()


class FakeGroups:
    def __init__(self, error: int = 0) -> None:
        self.error = error
        self.completed: list[tuple[int, int, bool]] = []

    def complete_transaction(
        self, partition: int, writer: Writer, coordinator_epoch: int, is_committed: bool
    ) -> Reply[None]:
        self.completed.append((partition, writer.producer_id, is_committed))
        reply: Reply[None] = Reply()
        if self.error:
            reply.fail(ApiError("not here", self.error))
        else:
            reply.complete(None)
        return reply


def marker(*partitions: TopicPartition, producer_id: int = 7) -> WritableTxnMarker:
    topics = [WritableTxnMarkerTopic(name=tp.topic, partition_indexes=[tp.partition]) for tp in partitions]
    return WritableTxnMarker(producer_id=producer_id, producer_epoch=0, transaction_result=True, topics=topics)


def codes(response: WriteTxnMarkersResponse) -> list[dict[TopicPartition, int]]:
    return [
        {
            TopicPartition(topic.name, p.partition_index): p.error_code
            for topic in result.topics
            for p in topic.partitions
        }
        for result in response.markers
    ]


def test_offsets_of_groups_go_through_their_coordinator_and_the_rest_to_the_log() -> None:
    log, groups = FakeLog(ORDERS, OFFSETS), FakeGroups()
    reply = MarkerWriter(log, groups).write(WriteTxnMarkersRequest(markers=[marker(ORDERS, OFFSETS)]))
    assert codes(reply.answer()) == [{ORDERS: 0, OFFSETS: 0}]
    assert log.appended == [([ORDERS], 7)]
    assert groups.completed == [(OFFSETS.partition, 7, True)]


def test_all_markers_are_appended_before_the_first_is_waited_for() -> None:
    log, groups = FakeLog(ORDERS, OFFSETS, is_immediate=False), FakeGroups()
    request = WriteTxnMarkersRequest(markers=[marker(ORDERS, OFFSETS), marker(ORDERS, producer_id=8)])
    reply = MarkerWriter(log, groups).write(request)
    assert [producer_id for _, producer_id in log.appended] == [7, 8]
    assert groups.completed == [(OFFSETS.partition, 7, True)]
    log.waiting[1]()
    assert not reply.is_done
    log.waiting[0]()
    assert codes(reply.answer()) == [{ORDERS: 0, OFFSETS: 0}, {ORDERS: 0}]


def test_an_offsets_partition_that_is_not_hosted_is_the_logs_to_reject() -> None:
    log, groups = FakeLog(), FakeGroups()
    reply = MarkerWriter(log, groups).write(WriteTxnMarkersRequest(markers=[marker(OFFSETS)]))
    assert codes(reply.answer()) == [{OFFSETS: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}]
    assert not groups.completed


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (ErrorCode.NOT_COORDINATOR, ErrorCode.NOT_LEADER_OR_FOLLOWER),
        (ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, ErrorCode.NOT_LEADER_OR_FOLLOWER),
        (ErrorCode.TRANSACTION_COORDINATOR_FENCED, ErrorCode.TRANSACTION_COORDINATOR_FENCED),
    ],
)
def test_errors_of_a_group_coordinator_that_is_elsewhere_are_those_of_a_leader(error: int, code: int) -> None:
    reply = MarkerWriter(FakeLog(OFFSETS), FakeGroups(error)).write(WriteTxnMarkersRequest(markers=[marker(OFFSETS)]))
    assert codes(reply.answer()) == [{OFFSETS: code}]


def test_a_marker_without_a_producer_fails_the_request_before_anything_is_appended() -> None:
    log = FakeLog(ORDERS)
    request = WriteTxnMarkersRequest(markers=[marker(ORDERS), marker(ORDERS, producer_id=-1)])
    with pytest.raises(ApiError, match="producer id"):
        MarkerWriter(log, FakeGroups()).write(request)
    assert not log.appended


def test_a_marker_without_a_producer_fails_in_partitions_of_groups_alone() -> None:
    groups = FakeGroups()
    request = WriteTxnMarkersRequest(markers=[marker(OFFSETS, producer_id=-1)])
    reply = MarkerWriter(FakeLog(OFFSETS), groups).write(request)
    assert codes(reply.answer()) == [{OFFSETS: ErrorCode.UNKNOWN_SERVER_ERROR}]
    assert not groups.completed


@pytest.mark.parametrize("producer_id", [7, -1])
def test_a_marker_that_names_a_partition_of_groups_very_often_is_answered(producer_id: int) -> None:
    request = WriteTxnMarkersRequest(markers=[marker(*[OFFSETS] * 5_000, producer_id=producer_id)])
    (result,) = MarkerWriter(FakeLog(OFFSETS), FakeGroups()).write(request).answer().markers
    assert len(result.topics) == 5_000


def test_a_request_without_markers_is_answered() -> None:
    assert MarkerWriter(FakeLog(), FakeGroups()).write(WriteTxnMarkersRequest()).answer().markers == []
