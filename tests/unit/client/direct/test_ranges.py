"""Ranges read from a leader whose answers a test makes up; real ones are in tests/system/test_client_direct.py."""

from collections import deque
from collections.abc import Iterable
from typing import Any

from odradek.client.direct.leaders import Leadership
from odradek.client.direct.ranges import RangeRequest, read_range
from odradek.common.addresses import HostPort
from odradek.common.ids import TopicPartition
from odradek.protocol.messages.fetch_response import FetchableTopicResponse, FetchResponse, PartitionData
from odradek.records.builder import BatchBuilder

_PLACE = TopicPartition("t", 0)


class FakeLeaders:
    """One leader, that gives these answers."""

    def __init__(self, answers: Iterable[FetchResponse]) -> None:
        self.answers = deque(answers)

    def of(self, partition: TopicPartition) -> Leadership:
        return Leadership(bytes(16), HostPort("a", 1), 0)

    def connection(self, address: HostPort) -> Any:
        return self

    def send(self, request: Any) -> None:
        pass

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
