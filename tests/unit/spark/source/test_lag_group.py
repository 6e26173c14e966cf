"""A group that is told how far a stream is, and a stream that goes on whatever becomes of that."""

from typing import Any

import pytest

from odradek.client.settings.settings import consumer_settings
from odradek.common.ids import TopicPartition
from odradek.errors import Disconnected, Unreachable
from odradek.protocol.error_codes import ErrorCode
from odradek.protocol.messages.find_coordinator_response import FindCoordinatorResponse
from odradek.protocol.messages.offset_commit_response import (
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)
from odradek.spark.source import lag_group
from odradek.spark.source.lag_group import LagGroup

PART = TopicPartition("t", 2)


class FakeLeaders:
    """One broker; what it answers to the next commits is said by `outcomes`, and success after them."""

    def __init__(self) -> None:
        self.outcomes: list[ErrorCode | Exception] = []
        self.committed: list[tuple[str, int, int]] = []
        self.dropped = 0
        self.lookups = 0

    def ask_any(self, request: Any, last_version: int) -> FindCoordinatorResponse:
        self.lookups += 1
        return FindCoordinatorResponse(host="localhost", port=1)

    def connection(self, address: object) -> "FakeLeaders":
        return self

    def drop(self, address: object) -> None:
        self.dropped += 1

    def version(self, request: object, last: int) -> int:
        return last

    def ask(self, request: Any, version: int) -> OffsetCommitResponse:
        assert (request.member_id, request.generation_id_or_member_epoch) == ("", -1)
        outcome = self.outcomes.pop(0) if self.outcomes else ErrorCode.NONE
        if isinstance(outcome, Exception):
            raise outcome
        (topic,) = request.topics
        (partition,) = topic.partitions
        if outcome == ErrorCode.NONE:
            self.committed.append((topic.name, partition.partition_index, partition.committed_offset))
        told = OffsetCommitResponsePartition(partition_index=partition.partition_index, error_code=outcome)
        return OffsetCommitResponse(topics=[OffsetCommitResponseTopic(name=topic.name, partitions=[told])])


@pytest.fixture
def leaders(monkeypatch: pytest.MonkeyPatch) -> FakeLeaders:
    fake = FakeLeaders()
    monkeypatch.setattr(lag_group, "consumer_leaders", lambda settings: fake)
    monkeypatch.setattr(lag_group, "_RETRY_S", 0)
    return fake


@pytest.fixture
def group() -> LagGroup:
    return LagGroup("g", consumer_settings({"bootstrap.servers": "localhost:9"}))


def test_offsets_are_told_once(leaders: FakeLeaders, group: LagGroup) -> None:
    for offset in (5, 5, 9):
        group.commit({PART: offset})
    group.commit({})
    assert leaders.committed == [("t", 2, 5), ("t", 2, 9)]
    assert leaders.lookups == 1


def test_a_coordinator_that_moves_is_found_again(leaders: FakeLeaders, group: LagGroup) -> None:
    leaders.outcomes = [ErrorCode.NOT_COORDINATOR, Disconnected("gone")]
    group.commit({PART: 5})
    assert leaders.committed == [("t", 2, 5)]
    assert (leaders.lookups, leaders.dropped) == (3, 1)


@pytest.mark.parametrize("failure", [ErrorCode.UNKNOWN_MEMBER_ID, Unreachable("nobody answers")])
def test_what_cannot_be_told_is_said_once_and_the_stream_goes_on(
    leaders: FakeLeaders,
    group: LagGroup,
    failure: ErrorCode | Exception,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr(lag_group, "_FIRST_COMMIT_TIMEOUT_S", 0.0)
    leaders.outcomes = [failure, failure]
    for offset in (5, 6, 7):
        group.commit({PART: offset})
    assert leaders.committed == [("t", 2, 7)]
    (warning,) = caplog.messages
    assert warning.startswith("the lag of group g is not up to date: ")


def test_a_coordinator_that_was_killed_does_not_hold_up_a_stream(leaders: FakeLeaders, group: LagGroup) -> None:
    """The next batch tries again."""
    group.commit({PART: 5})
    leaders.outcomes = [Disconnected("gone"), ErrorCode.NOT_COORDINATOR]
    group.commit({PART: 6})
    assert leaders.outcomes == [ErrorCode.NOT_COORDINATOR], "one attempt"
    leaders.outcomes = []
    group.commit({PART: 7})
    assert leaders.committed == [("t", 2, 5), ("t", 2, 7)]
