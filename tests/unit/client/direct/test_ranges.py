"""Ranges read from leaders whose responses a test makes up; real ones are in tests/system/test_client_direct.py."""

from collections import deque
from collections.abc import Iterable, Mapping
from typing import Any

import pytest

from odradek.client.direct.leader_connections import Leadership
from odradek.client.direct.ranges import Chunk, RangeRequest, read_range, read_ranges
from odradek.common.addresses import HostPort
from odradek.common.ids import TopicPartition
from odradek.errors import Disconnected, OffsetsDeleted, Refused, RequestTimedOut, TopicReplaced
from odradek.protocol.error_codes import ErrorCode
from odradek.protocol.messages.fetch_request import FetchRequest
from odradek.protocol.messages.fetch_response import FetchableTopicResponse, FetchResponse, PartitionData
from odradek.protocol.messages.list_offsets_response import (
    ListOffsetsPartitionResponse,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)
from odradek.records.builder import BatchBuilder

T0, T1, T2 = (TopicPartition("t", number) for number in range(3))
A, B = HostPort("a", 1), HostPort("b", 1)
_TOPIC_ID = bytes(15) + b"t"


class Clock:
    """Time passes only while somebody sleeps, and a little with each look at the clock."""

    def __init__(self) -> None:
        self.now_s = 0.0
        self.sleeps: list[float] = []

    def __call__(self) -> float:
        self.now_s += 0.001
        return self.now_s

    def sleep(self, seconds: float) -> None:
        self.sleeps.append(seconds)
        self.now_s += seconds


class FakeConnection:
    """Gives these responses, in turn; an error is raised instead."""

    def __init__(self, responses: Iterable[FetchResponse | ListOffsetsResponse | Exception]) -> None:
        self.responses = deque(responses)
        self.requests: list[FetchRequest] = []
        self.in_flight = 0

    def send(self, request: FetchRequest) -> None:
        if not self.responses or isinstance(self.responses[0], ConnectionError):
            raise Disconnected("connection refused")
        self.requests.append(request)
        self.in_flight += 1

    def receive(self) -> Any:
        self.in_flight -= 1
        response = self.responses.popleft()
        if isinstance(response, Exception):
            raise response
        return response

    def ask(self, request: Any, version: int | None = None) -> Any:
        assert not self.in_flight, "a response is outstanding"
        self.send(request)
        return self.receive()


class FakeLeaders:
    """`elections`: who leads each partition at each look-up; the last one stays."""

    def __init__(
        self, brokers: Mapping[HostPort, FakeConnection], *elections: Mapping[TopicPartition, HostPort]
    ) -> None:
        self.brokers = brokers
        self.elections = deque(elections)
        self.known: dict[TopicPartition, HostPort] = {}
        self.look_ups = 0
        #: At each look-up; the last one stays.
        self.topic_ids = [_TOPIC_ID]
        self.dropped: list[HostPort] = []

    def look_up(self, partitions: Iterable[TopicPartition]) -> None:
        if all(each in self.known for each in partitions):
            return
        assert not any(each.in_flight for each in self.brokers.values()), "a response is outstanding"
        self.look_ups += 1
        self.known.update(self.elections[0])
        if len(self.elections) > 1:
            self.elections.popleft()

    def knows(self, partition: TopicPartition) -> bool:
        return partition in self.known

    def of(self, partition: TopicPartition) -> Leadership:
        return Leadership(self.topic_ids[min(self.look_ups, len(self.topic_ids)) - 1], self.known[partition], 0)

    def connection(self, address: HostPort) -> FakeConnection:
        return self.brokers[address]

    def forget(self, partition: TopicPartition) -> None:
        address = self.known.pop(partition, None)
        if address is not None:
            self.drop(address)

    def drop(self, address: HostPort) -> None:
        self.dropped.append(address)
        self.brokers[address].in_flight = 0


def one_leader(*responses: FetchResponse | ListOffsetsResponse | Exception) -> Any:
    return FakeLeaders({A: FakeConnection(responses)}, {T0: A, T1: A, T2: A})


def data(base_offset: int, *values: bytes, partition: int = 0) -> PartitionData:
    builder = BatchBuilder(base_offset=base_offset)
    for value in values:
        builder.append(0, None, value)
    return PartitionData(partition_index=partition, records=builder.build())


def refused(code: ErrorCode, partition: int = 0) -> PartitionData:
    return PartitionData(partition_index=partition, error_code=code)


def response(*partitions: PartitionData) -> FetchResponse:
    return FetchResponse(responses=[FetchableTopicResponse(topic_id=_TOPIC_ID, partitions=list(partitions))])


def values(chunks: Iterable[Chunk]) -> list[tuple[int, bytes | None]]:
    return [(chunk.partition.partition, value) for chunk in chunks for value in chunk.columns.values()]


def requested(request: FetchRequest) -> list[tuple[int, int]]:
    return [(each.partition, each.fetch_offset) for topic in request.topics for each in topic.partitions]


def test_a_leader_that_throttles_is_asked_again() -> None:
    throttled = FetchResponse(throttle_time_ms=10)
    leaders = one_leader(throttled, response(data(0, b"a", b"b")), throttled, throttled, response(data(2, b"c")))
    found = list(read_range(leaders, RangeRequest(T0, 0, 3)))
    assert [value for columns in found for value in columns.values()] == [b"a", b"b", b"c"]


def test_no_more_is_asked_for_than_is_likely_to_be_needed() -> None:
    """A hundred records of a megabyte each: 97 come at once, then two, then the last."""
    large = bytes(1024 * 1024)
    leaders = one_leader(response(data(0, *[large] * 97)), response(data(97, large, large)), response(data(99, large)))
    list(read_range(leaders, RangeRequest(T0, 0, 100, chunk_bytes=64 * len(large))))
    first, second, third = (request.max_bytes for request in leaders.brokers[A].requests)
    assert first < len(large), "a hundred small ones, as far as is known"
    assert 3 * len(large) < second < 4 * len(large)
    assert len(large) < third < 2 * len(large)


def test_no_more_is_asked_for_than_a_chunk() -> None:
    leaders = one_leader(response(data(0, *[b"a"] * 1_000)), FetchResponse())
    ranges = [RangeRequest(each, 0, 1_000_000, chunk_bytes=5_000_000) for each in (T0, T1)]
    next(read_ranges(leaders, ranges))
    assert leaders.brokers[A].requests[0].max_bytes == 5_000_000


def test_partitions_of_a_leader_share_a_request_and_leaders_are_asked_at_the_same_time() -> None:
    one = FakeConnection([response(data(0, b"a"), data(5, b"b", partition=1)), response(data(1, b"c"))])
    other = FakeConnection([response(data(0, b"d", partition=2))])
    leaders: Any = FakeLeaders({A: one, B: other}, {T0: A, T1: A, T2: B})
    chunks = read_ranges(leaders, [RangeRequest(T0, 0, 2), RangeRequest(T1, 5, 6), RangeRequest(T2, 0, 1)])
    first = next(chunks)
    assert other.in_flight == 1, "the other leader works meanwhile"
    assert one.in_flight == 1, "and so does this one, on the next chunk"
    assert values([first, *chunks]) == [(0, b"a"), (1, b"b"), (2, b"d"), (0, b"c")]
    assert [requested(each) for each in one.requests] == [[(0, 0), (1, 5)], [(0, 1)]]
    assert leaders.look_ups == 1


def test_a_reader_that_is_closed_early_leaves_no_response_behind() -> None:
    leaders = one_leader(response(data(0, b"a")), response(data(1, b"b")))
    chunks = read_ranges(leaders, [RangeRequest(T0, 0, 2)])
    next(chunks)
    chunks.close()
    assert leaders.dropped == [A]


@pytest.mark.parametrize("failure", [Disconnected("reset"), response(refused(ErrorCode.NOT_LEADER_OR_FOLLOWER))])
def test_the_next_leader_is_found_after_one_pause(failure: Any) -> None:
    """Ranges at other leaders are read meanwhile, and none of their responses is mistaken for the metadata."""
    clock = Clock()
    dead = FakeConnection([failure])
    other = FakeConnection(
        [
            response(data(0, b"x", partition=1)),
            response(data(1, b"y", partition=1), data(0, b"a")),
            response(data(2, b"z", partition=1)),
        ]
    )
    leaders: Any = FakeLeaders({A: dead, B: other}, {T0: A, T1: B}, {T0: B, T1: B})
    ranges = [RangeRequest(T0, 0, 1), RangeRequest(T1, 0, 3)]
    found = list(read_ranges(leaders, ranges, clock_s=clock, sleep=clock.sleep))
    assert sorted(values(found)) == [(0, b"a"), (1, b"x"), (1, b"y"), (1, b"z")]
    assert (leaders.look_ups, len(clock.sleeps)) == (2, 1)


def test_a_dead_leader_is_tried_again_after_each_pause_until_another_is_elected() -> None:
    clock = Clock()
    dead, next_leader = FakeConnection([]), FakeConnection([response(data(0, b"a"))])
    leaders: Any = FakeLeaders({A: dead, B: next_leader}, {T0: A}, {T0: A}, {T0: A}, {}, {T0: B})
    found = list(read_ranges(leaders, [RangeRequest(T0, 0, 1)], clock_s=clock, sleep=clock.sleep))
    assert values(found) == [(0, b"a")]
    assert (leaders.look_ups, len(clock.sleeps)) == (5, 4)


def test_a_range_that_makes_no_progress_fails_with_the_reason() -> None:
    clock = Clock()
    leaders: Any = FakeLeaders({A: FakeConnection([])}, {T0: A})
    with pytest.raises(RequestTimedOut, match=r"t-0 at offset 7: nothing read for 1000 ms \(connection refused\)"):
        list(read_ranges(leaders, [RangeRequest(T0, 7, 9, timeout_ms=1_000)], clock_s=clock, sleep=clock.sleep))


def test_what_a_leader_refuses_for_good_is_not_tried_again() -> None:
    leaders = one_leader(response(refused(ErrorCode.TOPIC_AUTHORIZATION_FAILED)))
    with pytest.raises(Refused, match="t-0 at offset 0: TOPIC_AUTHORIZATION_FAILED"):
        list(read_ranges(leaders, [RangeRequest(T0, 0, 1)]))


def test_deleted_offsets_name_the_partition_and_the_log_start() -> None:
    start = ListOffsetsPartitionResponse(partition_index=1, offset=5)
    listed = ListOffsetsResponse(topics=[ListOffsetsTopicResponse(name="t", partitions=[start])])
    gone = response(data(0, b"a"), refused(ErrorCode.OFFSET_OUT_OF_RANGE, partition=1))
    leaders = one_leader(gone, listed)
    with pytest.raises(OffsetsDeleted, match="t-1: offset 3 is gone; the log begins at 5") as lost:
        list(read_ranges(leaders, [RangeRequest(T0, 0, 1), RangeRequest(T1, 3, 9)]))
    assert (lost.value.partition, lost.value.log_start_offset) == (T1, 5)


def test_a_range_is_read_from_the_topic_with_its_id_alone() -> None:
    """Old metadata may show the previous topic for a moment."""
    clock = Clock()
    leaders = one_leader(response(data(0, b"a")))
    leaders.topic_ids = [b"o" * 16, b"o" * 16, _TOPIC_ID]
    ranges = [RangeRequest(T0, 0, 1, _TOPIC_ID)]
    assert values(read_ranges(leaders, ranges, clock_s=clock, sleep=clock.sleep)) == [(0, b"a")]
    assert leaders.look_ups == 3

    leaders = one_leader(response(data(0, b"b", partition=1)))
    with pytest.raises(TopicReplaced, match="topic t was deleted and created again") as replaced:
        list(read_ranges(leaders, [RangeRequest(T0, 0, 1, b"o" * 16)], clock_s=clock, sleep=clock.sleep))
    assert replaced.value.partition == T0
    assert not leaders.brokers[A].requests


def test_a_topic_that_is_created_again_while_it_is_read_is_noticed() -> None:
    clock = Clock()
    leaders = one_leader(response(data(0, b"a")), response(refused(ErrorCode.UNKNOWN_TOPIC_ID)))
    leaders.topic_ids = [_TOPIC_ID, b"n" * 16]
    chunks = read_ranges(leaders, [RangeRequest(T0, 0, 9, _TOPIC_ID)], clock_s=clock, sleep=clock.sleep)
    assert values([next(chunks)]) == [(0, b"a")]
    with pytest.raises(TopicReplaced):
        next(chunks)


def test_brokers_without_topic_ids_are_read_by_name() -> None:
    leaders = one_leader(FetchResponse(responses=[FetchableTopicResponse(topic="t", partitions=[data(0, b"a")])]))
    leaders.topic_ids = [bytes(16)]
    assert values(read_ranges(leaders, [RangeRequest(T0, 0, 1, _TOPIC_ID)])) == [(0, b"a")]
