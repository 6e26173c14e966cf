"""Offsets of many partitions, asked of leaders that a test makes up."""

from typing import Any

import pytest

from odradek.client.direct.leader_connections import Leadership
from odradek.client.direct.offsets import list_offsets
from odradek.common.addresses import HostPort
from odradek.common.ids import ZERO_UUID, TopicPartition
from odradek.errors import Disconnected, Refused, RequestTimedOut
from odradek.protocol.error_codes import ErrorCode
from odradek.protocol.messages.list_offsets_request import ListOffsetsRequest
from odradek.protocol.messages.list_offsets_response import (
    ListOffsetsPartitionResponse,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)

A, B = HostPort("a", 1), HostPort("b", 1)
T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)


class FakeLeaders:
    """Every log ends at 7. Elections are who leads t-0 at each look-up; B leads t-1."""

    def __init__(self, *elections: HostPort) -> None:
        self.elections = list(elections)
        self.known: dict[TopicPartition, HostPort] = {}
        self.dead: set[HostPort] = set()
        self.refusal = ErrorCode.NONE
        self.events: list[tuple[str, HostPort]] = []
        self.sent: dict[HostPort, ListOffsetsRequest] = {}

    def of(self, partition: TopicPartition) -> Leadership:
        if partition not in self.known:
            following = self.elections.pop(0) if len(self.elections) > 1 else self.elections[0]
            self.known[partition] = following if partition == T0 else B
        return Leadership(ZERO_UUID, self.known[partition], 0)

    def forget(self, partition: TopicPartition) -> None:
        del self.known[partition]

    def drop(self, address: HostPort) -> None:
        self.events.append(("drop", address))

    def connection(self, address: HostPort) -> Any:
        return FakeConnection(self, address)


class FakeConnection:
    def __init__(self, leaders: FakeLeaders, address: HostPort) -> None:
        self.leaders, self.address = leaders, address

    def send(self, request: ListOffsetsRequest) -> None:
        if self.address in self.leaders.dead:
            raise Disconnected("connection refused")
        self.leaders.events.append(("send", self.address))
        self.leaders.sent[self.address] = request

    def receive(self) -> ListOffsetsResponse:
        self.leaders.events.append(("receive", self.address))
        (topic,) = self.leaders.sent[self.address].topics
        found = [
            ListOffsetsPartitionResponse(
                partition_index=each.partition_index, offset=7, error_code=self.leaders.refusal
            )
            for each in topic.partitions
        ]
        return ListOffsetsResponse(topics=[ListOffsetsTopicResponse(name=topic.name, partitions=found)])


def test_leaders_are_asked_at_the_same_time() -> None:
    leaders: Any = FakeLeaders(A)
    assert list_offsets(leaders, {T0: -1, T1: -1}) == {T0: 7, T1: 7}
    assert leaders.events == [("send", A), ("send", B), ("receive", A), ("receive", B)]


def test_a_leader_that_was_killed_costs_one_pause_for_each_look_up() -> None:
    leaders: Any = FakeLeaders(A, A, A, B)
    leaders.dead, pauses = {A}, []
    assert list_offsets(leaders, {T0: -1}, clock_s=lambda: 0.0, sleep=pauses.append) == {T0: 7}
    assert len(pauses) == 3


def test_what_is_refused_for_good_and_what_takes_too_long_is_told() -> None:
    leaders: Any = FakeLeaders(A)
    leaders.refusal = ErrorCode.TOPIC_AUTHORIZATION_FAILED
    with pytest.raises(Refused, match="t-0: TOPIC_AUTHORIZATION_FAILED"):
        list_offsets(leaders, {T0: -1})
    leaders.dead, times = {A}, iter(range(100))
    with pytest.raises(RequestTimedOut, match="no offsets of t-0 in 3000 ms: connection refused"):
        list_offsets(leaders, {T0: -1}, timeout_ms=3_000, clock_s=lambda: float(next(times)), sleep=lambda _: None)
