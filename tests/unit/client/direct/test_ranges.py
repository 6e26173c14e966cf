"""Ranges read from a leader whose answers a test makes up; real ones are in tests/system/test_client_direct.py."""

from collections import deque
from collections.abc import Iterable
from typing import Any

from odradek.client.direct.leaders import Leadership
from odradek.client.direct.ranges import RangeRequest, read_range
from odradek.common.addresses import HostPort
from odradek.common.ids import TopicPartition
from odradek.protocol.messages.fetch_request import FetchRequest
from odradek.protocol.messages.fetch_response import FetchableTopicResponse, FetchResponse, PartitionData
from odradek.records.builder import BatchBuilder

_PLACE = TopicPartition("t", 0)


class FakeLeaders:
    """One leader, that gives these answers."""

    def __init__(self, answers: Iterable[FetchResponse]) -> None:
        self.answers = deque(answers)
        self.asked_bytes: list[int] = []

    def of(self, partition: TopicPartition) -> Leadership:
        return Leadership(bytes(16), HostPort("a", 1), 0)

    def connection(self, address: HostPort) -> Any:
        return self

    def send(self, request: FetchRequest) -> None:
        (partition,) = request.topics[0].partitions
        assert request.max_bytes == partition.partition_max_bytes
        self.asked_bytes.append(request.max_bytes)

    def receive(self) -> FetchResponse:
        return self.answers.popleft()

    def drop(self, address: HostPort) -> None:
        pass


def _answer(base_offset: int, *values: bytes) -> FetchResponse:
    builder = BatchBuilder(base_offset=base_offset)
    for value in values:
        builder.append(0, None, value)
    return FetchResponse(responses=[FetchableTopicResponse(partitions=[PartitionData(records=builder.build())])])


def test_a_leader_that_throttles_is_asked_again() -> None:
    """Kafka answers one that is over its quota without any topic."""
    throttled = FetchResponse(throttle_time_ms=10)
    leaders = FakeLeaders([throttled, _answer(0, b"a", b"b"), throttled, throttled, _answer(2, b"c")])
    found = list(read_range(leaders, RangeRequest(_PLACE, 0, 3)))  # type: ignore[arg-type]
    assert [value for columns in found for value in columns.values()] == [b"a", b"b", b"c"]


def test_no_more_is_asked_for_than_is_likely_to_be_needed() -> None:
    """A hundred records of a megabyte each: 97 come at once, then two, then the last."""
    large = bytes(1024 * 1024)
    answers = [_answer(0, *[large] * 97), _answer(97, large, large), _answer(99, large)]
    leaders = FakeLeaders(answers)
    request = RangeRequest(_PLACE, 0, 100, chunk_bytes=64 * len(large))
    list(read_range(leaders, request))  # type: ignore[arg-type]
    first, second, third = leaders.asked_bytes
    assert first < len(large), "a hundred small ones, as far as is known"
    assert 3 * len(large) < second < 4 * len(large)
    assert len(large) < third < 2 * len(large)


def test_no_more_is_asked_for_than_a_chunk() -> None:
    leaders = FakeLeaders([_answer(0, *[b"a"] * 1_000)])
    request = RangeRequest(_PLACE, 0, 1_000_000, chunk_bytes=5_000_000)
    next(read_range(leaders, request))  # type: ignore[arg-type]
    assert leaders.asked_bytes[0] == 5_000_000
