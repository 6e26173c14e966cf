"""Positions: committed ones, those of the reset policy, and those that a new leader confirms or does not."""

import asyncio
from collections.abc import Callable, Coroutine, Iterable, Mapping
from typing import Any

import pytest

from odradek.client.consumer.partition_state import FetchPosition, FetchState
from odradek.client.consumer.position_resolver import PositionResolver
from odradek.client.consumer.subscriptions import Subscriptions
from odradek.client.net.metadata_cache import LeaderAndEpoch, MetadataCache
from odradek.client.settings.settings import OffsetReset, ResetStrategy, consumer_settings
from odradek.client.types import OffsetAndMetadata, TopicPartition
from odradek.common.failures import ApiError
from odradek.errors import (
    Disconnected,
    LogTruncation,
    NoOffsetForPartition,
    Refused,
    TopicAuthorizationFailed,
    VersionsDiffer,
)
from odradek.protocol.error_codes import ErrorCode
from odradek.protocol.message import Message
from odradek.protocol.messages.list_offsets_request import ListOffsetsRequest
from odradek.protocol.messages.list_offsets_response import (
    ListOffsetsPartitionResponse,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)
from odradek.protocol.messages.offset_for_leader_epoch_request import OffsetForLeaderEpochRequest
from odradek.protocol.messages.offset_for_leader_epoch_response import (
    EpochEndOffset,
    OffsetForLeaderEpochResponse,
    OffsetForLeaderTopicResult,
)
from support.fakes.client_network import FakeNetwork
from unit.client.consumer.fetches import A0, A1

NOW_MS = 1_000_000
EARLIEST, LATEST = OffsetReset(ResetStrategy.EARLIEST), OffsetReset(ResetStrategy.LATEST)
NONE = OffsetReset(ResetStrategy.NONE)
LEADER, NEXT_LEADER = LeaderAndEpoch(1, 5), LeaderAndEpoch(2, 6)

Listing = dict[int, int | ErrorCode]  # by timestamp


class Bench:
    """The log has offsets 10 to 100. Both partitions are node 1's at epoch 5."""

    def __init__(
        self,
        reset: OffsetReset = EARLIEST,
        committed: Mapping[TopicPartition, int] | None = None,
        retry_backoff_ms: int = 1,
    ) -> None:
        self.network = FakeNetwork()
        self.network.lead({0: LEADER, 1: LEADER})
        self.network.answer = self.answer
        self.subscriptions = Subscriptions(reset)
        self.committed = committed or {}
        self.refusal: ApiError | None = None
        self.while_asked: Callable[[], None] = lambda: None
        backoff = {"retry.backoff.ms": retry_backoff_ms, "retry.backoff.max.ms": max(1_000, retry_backoff_ms)}
        settings = consumer_settings({"bootstrap.servers": "none:1", **backoff})
        self.offsets = PositionResolver(settings, self.network, self.subscriptions, self.ask_group, lambda: NOW_MS)  # type: ignore[arg-type]
        self.listing: Listing = {-2: 10, -1: 100}
        self.epoch_end: tuple[int, int] | ErrorCode | Exception = (5, 100)
        self.failures: list[Exception | int] = []
        self.asked: list[tuple[int, Message]] = []

    async def ask_group(
        self, partitions: Iterable[TopicPartition]
    ) -> Mapping[TopicPartition, OffsetAndMetadata | None]:
        self.while_asked()
        if self.refusal is not None:
            raise self.refusal
        return {each: OffsetAndMetadata(self.committed[each], 4) for each in partitions if each in self.committed}

    def answer(self, node_id: int, request: Message) -> Message:
        self.asked.append((node_id, request))
        failure = self.failures.pop(0) if self.failures else 0
        if isinstance(failure, Exception):
            raise failure
        if isinstance(request, ListOffsetsRequest):
            return self.listed(request, failure)
        assert isinstance(request, OffsetForLeaderEpochRequest)
        return self.ends(request, failure)

    def listed(self, request: ListOffsetsRequest, error_code: int) -> ListOffsetsResponse:
        (topic,) = request.topics
        found = [
            ListOffsetsPartitionResponse(
                partition_index=each.partition_index,
                error_code=error_code,
                offset=self.listing[each.timestamp],
                leader_epoch=5,
            )
            for each in topic.partitions
        ]
        return ListOffsetsResponse(topics=[ListOffsetsTopicResponse(name=topic.name, partitions=found)])

    def ends(self, request: OffsetForLeaderEpochRequest, error_code: int) -> OffsetForLeaderEpochResponse:
        assert isinstance(self.epoch_end, tuple)
        epoch, end_offset = self.epoch_end
        (topic,) = request.topics
        found = [
            EpochEndOffset(partition=each.partition, error_code=error_code, leader_epoch=epoch, end_offset=end_offset)
            for each in topic.partitions
        ]
        return OffsetForLeaderEpochResponse(topics=[OffsetForLeaderTopicResult(topic=topic.topic, partitions=found)])

    async def settle(self) -> dict[TopicPartition, int | None]:
        """Positions once the task has done what it can; raises what the application would hear."""
        self.offsets.begin()
        while self.offsets._task is not None:
            await asyncio.sleep(0.001)
        if self.offsets.error is not None:
            raise self.offsets.error
        positions = {each: self.subscriptions.position(each) for each in self.subscriptions.partitions()}
        return {each: None if position is None else position.offset for each, position in positions.items()}


def run(work: Coroutine[Any, Any, None]) -> None:
    async def limited() -> None:
        async with asyncio.timeout(60):
            await work

    asyncio.run(limited())


def test_what_is_committed_comes_before_the_reset_policy() -> None:
    async def talk() -> None:
        bench = Bench(committed={A0: 42})
        bench.epoch_end = (4, 60)
        bench.subscriptions.assign([A0, A1])
        assert await bench.settle() == {A0: 42, A1: 10}
        position = bench.subscriptions.position(A0)
        assert position == FetchPosition(42, 4, LEADER)

    run(talk())


def test_a_group_that_refuses_is_heard_unless_its_partitions_were_given_up_meanwhile() -> None:
    async def talk() -> None:
        bench = Bench()
        bench.refusal = Refused("we are no member", ErrorCode.UNKNOWN_MEMBER_ID)
        bench.subscriptions.subscribe(["a"])
        bench.subscriptions.assign_from_group([A0, A1])
        bench.while_asked = lambda: bench.subscriptions.assign_from_group([A1])
        with pytest.raises(Refused, match="no member"):
            await bench.settle()
        bench.offsets.error = None
        bench.while_asked = lambda: bench.subscriptions.assign_from_group([])
        assert await bench.settle() == {}

    run(talk())


@pytest.mark.parametrize(
    ("reset", "listing", "offset"),
    [
        (EARLIEST, {-2: 10}, 10),
        (LATEST, {-1: 100}, 100),
        (OffsetReset(ResetStrategy.BY_DURATION, 1_000), {NOW_MS - 1_000: 55}, 55),
        (OffsetReset(ResetStrategy.BY_DURATION, 1_000), {NOW_MS - 1_000: -1, -1: 100}, 100),
    ],
    ids=["earliest", "latest", "by duration", "by duration, nothing that young"],
)
def test_reset_policies(reset: OffsetReset, listing: Listing, offset: int) -> None:
    async def talk() -> None:
        bench = Bench(reset)
        bench.listing = listing
        bench.subscriptions.assign([A0])
        assert await bench.settle() == {A0: offset}

    run(talk())


def test_without_a_policy_a_missing_offset_is_told() -> None:
    async def talk() -> None:
        bench = Bench(NONE, committed={A0: 42})
        bench.subscriptions.assign([A0, A1])
        with pytest.raises(NoOffsetForPartition, match="no committed offset for a-1"):
            await bench.settle()

    run(talk())


def test_what_fails_is_asked_again_until_it_works() -> None:
    async def talk() -> None:
        bench = Bench()
        bench.failures = [Disconnected("gone"), ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.UNKNOWN_SERVER_ERROR]
        bench.subscriptions.assign([A0])
        assert await bench.settle() == {A0: 10}
        assert len(bench.asked) == 4 and bench.network.updates_requested == 3

    run(talk())


def test_a_leader_that_becomes_known_is_asked_at_once() -> None:
    """And not when the back-off is over, which here comes after the end of the test."""

    async def talk() -> None:
        bench = Bench(retry_backoff_ms=600_000)
        bench.network.metadata = MetadataCache(300_000)  # knows nothing yet
        bench.subscriptions.assign([A0])
        bench.offsets.begin()
        while not bench.network.updates_requested:
            await asyncio.sleep(0.001)
        assert not bench.asked
        bench.network.lead({0: LEADER})
        assert await bench.settle() == {A0: 10}

    run(talk())


def test_a_seek_meanwhile_wins() -> None:
    async def talk() -> None:
        bench = Bench()
        bench.subscriptions.assign([A0])
        bench.offsets.begin()
        await asyncio.sleep(0)
        bench.subscriptions.seek(A0, FetchPosition(77, None, LEADER))
        assert await bench.settle() == {A0: 77}

    run(talk())


def test_what_may_not_be_read_is_told() -> None:
    async def talk() -> None:
        bench = Bench()
        bench.failures = [ErrorCode.TOPIC_AUTHORIZATION_FAILED]
        bench.subscriptions.assign([A0])
        with pytest.raises(TopicAuthorizationFailed, match="not allowed to read a"):
            await bench.settle()

    run(talk())


def consumed_up_to(bench: Bench, offset: int) -> None:
    """By the leader before, at epoch 5."""
    bench.subscriptions.assign([A0])
    bench.subscriptions.assigned_state(A0).seek_validated(FetchPosition(offset, 5, LEADER))
    bench.network.lead({0: NEXT_LEADER, 1: NEXT_LEADER})


def test_a_new_leader_that_has_everything_confirms_the_position() -> None:
    async def talk() -> None:
        bench = Bench()
        consumed_up_to(bench, 50)
        assert await bench.settle() == {A0: 50}
        (node_id, request), *_ = bench.asked
        assert node_id == 2 and isinstance(request, OffsetForLeaderEpochRequest)
        (part,) = request.topics[0].partitions
        assert (part.leader_epoch, part.current_leader_epoch) == (5, 6)
        assert bench.subscriptions.position(A0) == FetchPosition(50, 5, NEXT_LEADER)

    run(talk())


@pytest.mark.parametrize(("end", "offset"), [((4, 30), 30), ((-1, -1), 10)], ids=["diverging", "nothing known"])
def test_a_log_that_was_cut_off_moves_the_position_back(end: tuple[int, int], offset: int) -> None:
    async def talk() -> None:
        bench = Bench()
        consumed_up_to(bench, 50)
        bench.epoch_end = end
        assert await bench.settle() == {A0: offset}

    run(talk())


def test_without_a_policy_a_log_that_was_cut_off_is_told() -> None:
    async def talk() -> None:
        bench = Bench(NONE)
        consumed_up_to(bench, 50)
        bench.epoch_end = (4, 30)
        with pytest.raises(LogTruncation, match=r"a-0 at 50 \(the same up to 30\)") as told:
            await bench.settle()
        assert told.value.diverging == {A0: OffsetAndMetadata(30, 4)}

    run(talk())


def test_validation_is_asked_for_again_and_left_out_where_nobody_can_be_asked() -> None:
    async def talk() -> None:
        for failures in ([Disconnected("gone"), ErrorCode.FENCED_LEADER_EPOCH], [VersionsDiffer("too old")]):
            bench = Bench()
            consumed_up_to(bench, 50)
            bench.failures = list(failures)
            assert await bench.settle() == {A0: 50}

    run(talk())


def test_a_topic_that_was_made_anew_is_begun_anew() -> None:
    async def talk() -> None:
        bench = Bench()
        bench.subscriptions.assign([A0])
        assert await bench.settle() == {A0: 10}
        bench.subscriptions.assigned_state(A0).advance(FetchPosition(50, 5, LEADER))
        bench.network.lead({0: LEADER, 1: LEADER}, topic_id=b"n" * 16)
        bench.listing[-2] = 0
        assert await bench.settle() == {A0: 0}
        assert bench.subscriptions.assigned_state(A0).state is FetchState.FETCHING

    run(talk())


def test_without_a_policy_a_topic_that_was_made_anew_has_no_offset() -> None:
    async def talk() -> None:
        bench = Bench(NONE, committed={A0: 42})
        bench.subscriptions.assign([A0])
        assert await bench.settle() == {A0: 42}
        bench.network.lead({0: LEADER, 1: LEADER}, topic_id=b"n" * 16)
        bench.committed = {}
        with pytest.raises(NoOffsetForPartition):
            await bench.settle()

    run(talk())
