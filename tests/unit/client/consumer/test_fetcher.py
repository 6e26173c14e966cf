"""The fetcher on a network in memory: whom it asks for what, when, and what it makes of answers."""

import asyncio
from collections.abc import Coroutine
from typing import Any

from odradek.client.consumer.completed_fetch import RecordDecoding
from odradek.client.consumer.fetch_buffer import FetchBuffer
from odradek.client.consumer.fetch_collector import FetchCollector
from odradek.client.consumer.fetcher import Fetcher
from odradek.client.consumer.partition_state import FetchPosition, FetchState
from odradek.client.net.metadata_cache import LeaderAndEpoch
from odradek.client.settings.settings import consumer_settings
from odradek.client.types import TopicPartition
from odradek.errors import Disconnected
from odradek.protocol.error_codes import ErrorCode
from odradek.protocol.messages.fetch_request import FetchRequest
from odradek.protocol.messages.fetch_response import (
    FetchableTopicResponse,
    FetchResponse,
    LeaderIdAndEpoch,
    NodeEndpoint,
    PartitionData,
)
from support.fakes.client_network import TOPIC_ID, FakeNetwork
from unit.client.consumer.fetches import A0, A1, at_positions, partition_data, values


class Bench:
    """Partitions of topic a; those with an even number are led by node 1, the others by node 2."""

    def __init__(self, *offsets: int, **settings: object) -> None:
        self.network = FakeNetwork()
        self.network.lead({number: (1 + number % 2, 5) for number in range(len(offsets))})
        self.subscriptions = at_positions(*offsets)
        for partition in self.subscriptions.partitions():
            leader = self.network.metadata.leader(partition)
            assert leader is not None
            self.subscriptions.meet_leader(partition, leader)
        self.buffer = FetchBuffer()
        self.collector = FetchCollector(self.subscriptions, self.buffer)
        made = consumer_settings({"bootstrap.servers": "none:1", "retry.backoff.ms": 1, **settings})
        self.fetcher = Fetcher(made, self.network, self.subscriptions, self.buffer, RecordDecoding())  # type: ignore[arg-type]

    def asked(self) -> dict[int, dict[TopicPartition, int]]:
        """By node, the offsets of the fetches that are on their way; each node has one."""
        found: dict[int, dict[TopicPartition, int]] = {}
        for node_id, request, response in self.network.posted:
            if isinstance(request, FetchRequest) and not response.done():
                assert node_id not in found, "one fetch for each node"
                found[node_id] = {
                    TopicPartition("a", each.partition): each.fetch_offset
                    for topic in request.topics
                    for each in topic.partitions
                }
        return found

    async def answer(self, node_id: int, *data: PartitionData, error_code: int = 0, **fields: Any) -> None:
        _, _, response = next(each for each in self.network.posted if each[0] == node_id and not each[2].done())
        topics = [FetchableTopicResponse(topic_id=TOPIC_ID, partitions=list(data))] if data else []
        response.set_result(FetchResponse(session_id=7, responses=topics, error_code=error_code, **fields))
        await asyncio.sleep(0)

    async def until_asked(self) -> dict[int, dict[TopicPartition, int]]:
        while not self.asked():
            await asyncio.sleep(0.001)
        return self.asked()


def run(work: Coroutine[Any, Any, None]) -> None:
    async def limited() -> None:
        async with asyncio.timeout(60):
            await work

    asyncio.run(limited())


def of(number: int, *batches: bytes, **fields: Any) -> PartitionData:
    data = partition_data(*batches, error_code=fields.pop("error_code", 0))
    data.partition_index = number
    for name, value in fields.items():
        setattr(data, name, value)
    return data


def test_every_leader_is_asked_once_and_again_while_the_application_works() -> None:
    async def talk() -> None:
        bench = Bench(5, 6, 7)
        bench.fetcher.send()
        bench.fetcher.send()
        assert bench.asked() == {1: {A0: 5, TopicPartition("a", 2): 7}, 2: {A1: 6}}
        await bench.answer(2, of(1, values(b"x", b"y", base_offset=6)))
        assert bench.asked()[2] == {A1: 8}, "behind what is in the buffer, which nobody has taken yet"
        await bench.answer(2, of(1, values(b"z", base_offset=8)))
        assert 2 not in bench.asked(), "two chunks are enough"
        assert [row.value for row in bench.collector.collect(10)] == [b"x", b"y", b"z"]
        assert bench.collector.take(10) is None
        bench.fetcher.send()
        assert bench.asked()[2] == {A1: 9}

    run(talk())


def test_what_comes_for_a_position_that_was_left_is_dropped() -> None:
    async def talk() -> None:
        bench = Bench(5)
        bench.fetcher.send()
        bench.subscriptions.seek(A0, FetchPosition(100, None, LeaderAndEpoch(1, 5)))
        await bench.answer(1, of(0, values(b"x", base_offset=5)))
        assert not bench.buffer and bench.asked() == {1: {A0: 100}}

    run(talk())


def test_a_node_that_is_full_waits_and_the_paused_do_not_hold_it_up() -> None:
    async def talk() -> None:
        bench = Bench(0, 0, 0)
        bench.fetcher.send()
        await bench.answer(1, of(0, values(b"a")), of(2))
        await bench.answer(1, of(0, values(b"b", base_offset=1)))
        assert 1 not in bench.asked()
        bench.subscriptions.pause([A0])
        bench.fetcher.send()
        assert 1 in bench.asked()
        _, request, _ = bench.network.posted[-1]
        assert isinstance(request, FetchRequest)
        assert [topic.partitions for topic in request.forgotten_topics_data] == [[0]]

    run(talk())


def test_a_leader_that_is_named_in_the_answer_is_gone_to_at_once() -> None:
    async def talk() -> None:
        bench = Bench(5)
        state = bench.subscriptions.assigned_state(A0)
        state.advance(FetchPosition(5, 4, LeaderAndEpoch(1, 5)))
        told: list[str] = []
        bench.fetcher.on_change = lambda: told.append("change")
        bench.fetcher.send()
        hint = LeaderIdAndEpoch(leader_id=3, leader_epoch=6)
        endpoints = [NodeEndpoint(node_id=3, host="new", port=9)]
        moved = of(0, error_code=ErrorCode.NOT_LEADER_OR_FOLLOWER, current_leader=hint)
        await bench.answer(1, moved, node_endpoints=endpoints)
        assert bench.network.metadata.leader(A0) == LeaderAndEpoch(3, 6)
        assert bench.network.updates_requested == 0
        assert state.state is FetchState.AWAIT_VALIDATION, "before anything is fetched from it"
        assert told == ["change"]
        state.complete_validation()
        bench.fetcher.send()
        assert bench.asked() == {3: {A0: 5}}

    run(talk())


def test_errors_that_metadata_helps_against_ask_for_it_and_wait() -> None:
    async def talk() -> None:
        for code in (ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.UNKNOWN_TOPIC_ID, ErrorCode.OFFSET_NOT_AVAILABLE):
            bench = Bench(5)
            bench.fetcher.send()
            await bench.answer(1, of(0, error_code=code))
            assert bench.network.updates_requested == 1 and not bench.buffer
            assert await bench.until_asked() == {1: {}}, "the session has it still"

    run(talk())


def test_a_node_that_does_not_answer_is_asked_again_later() -> None:
    async def talk() -> None:
        bench = Bench(5)
        bench.subscriptions.assigned_state(A0).prefer_replica(3, 1e12)
        bench.fetcher.send()
        node_id, _, response = bench.network.posted[-1]
        assert node_id == 3
        response.set_exception(Disconnected("gone"))
        assert await bench.until_asked() == {1: {A0: 5}}, "from the leader: the replica has lost its preference"
        assert bench.network.updates_requested >= 1

    run(talk())


def test_a_session_that_the_node_forgot_is_made_anew() -> None:
    async def talk() -> None:
        bench = Bench(5)
        bench.fetcher.send()
        await bench.answer(1, of(0, values(b"x", base_offset=5)))
        await bench.answer(1, error_code=ErrorCode.FETCH_SESSION_ID_NOT_FOUND)
        assert await bench.until_asked() == {1: {A0: 6}}
        _, request, _ = bench.network.posted[-1]
        assert isinstance(request, FetchRequest) and (request.session_id, request.session_epoch) == (0, 0)

    run(talk())


def test_the_leader_names_a_replica_that_is_nearer() -> None:
    async def talk() -> None:
        bench = Bench(5, **{"client.rack": "here"})
        bench.fetcher.send()
        _, request, _ = bench.network.posted[-1]
        assert isinstance(request, FetchRequest) and request.rack_id == "here"
        await bench.answer(1, of(0, preferred_read_replica=2))
        assert bench.asked() == {2: {A0: 5}}

    run(talk())


def test_who_is_not_connected_is_asked_when_he_is() -> None:
    async def talk() -> None:
        bench = Bench(5)
        bench.network.not_ready.add(1)
        bench.fetcher.send()
        assert bench.asked() == {}
        bench.network.not_ready.clear()
        assert await bench.until_asked() == {1: {A0: 5}}

    run(talk())


def test_the_ends_of_the_log_are_noted_even_without_records() -> None:
    async def talk() -> None:
        bench = Bench(5)
        bench.fetcher.send()
        await bench.answer(1, of(0))
        assert bench.subscriptions.lag(A0, read_committed=False) == 95

    run(talk())


def test_the_last_request_ends_the_session() -> None:
    async def talk() -> None:
        bench = Bench(5)
        bench.fetcher.send()
        await bench.answer(1, of(0, values(b"x", base_offset=5)))
        closing = asyncio.ensure_future(bench.fetcher.close())
        await asyncio.sleep(0)
        _, request, response = bench.network.posted[-1]
        assert isinstance(request, FetchRequest) and (request.session_id, request.session_epoch) == (7, -1)
        response.set_result(FetchResponse())
        await closing

    run(talk())
