"""The sender over a network of which the test says everything."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, cast

import pytest

from odradek.client.net.channel import FinalizedFeatures
from odradek.client.net.metadata_cache import Node
from odradek.client.net.network_client import NetworkClient
from odradek.client.producer.delivery import Delivery
from odradek.client.producer.record_accumulator import AccumulatorSettings
from odradek.client.producer.sender import Sender
from odradek.client.settings.settings import producer_settings
from odradek.client.types import TopicPartition
from odradek.errors import DeliveryTimedOut, Disconnected, ProducerClosed, ProducerFailed, Refused
from odradek.protocol.error_codes import ErrorCode
from odradek.protocol.messages.produce_request import ProduceRequest
from odradek.protocol.messages.produce_response import (
    BatchIndexAndErrorMessage,
    LeaderIdAndEpoch,
    NodeEndpoint,
    PartitionProduceResponse,
    ProduceResponse,
    TopicProduceResponse,
)
from odradek.records.batch import read_batch
from unit.client.producer.producing import Queues

TOPIC_ID = bytes(15) + b"\x07"


class FakeMetadata:
    version = 1

    def __init__(self, queues: Queues) -> None:
        self._queues = queues
        self.learned: list[tuple[TopicPartition, int, int, Node | None]] = []

    def topic_id(self, name: str) -> bytes:
        return TOPIC_ID

    def topic_name(self, topic_id: bytes) -> str | None:
        return "t" if topic_id == TOPIC_ID else None

    def update_leader(self, place: TopicPartition, node_id: int, epoch: int, node: Node | None) -> bool:
        self.learned.append((place, node_id, epoch, node))
        self._queues.leaders[place.partition] = (node_id, epoch)
        return True

    def use_topic(self, name: str, now_ms: float) -> None: ...


class FakeNetwork:
    """Keeps what was posted, with the future of its answer."""

    features = FinalizedFeatures()

    def __init__(self, queues: Queues) -> None:
        self.metadata = FakeMetadata(queues)
        self.posted: list[tuple[int, ProduceRequest, asyncio.Future[Any]]] = []
        self.places = 5
        self.updates = 0

    def is_ready(self, node_id: int) -> bool:
        return sum(not answer.done() for _, _, answer in self.posted) < self.places

    def version(self, node_id: int, api: object) -> int:
        return 13

    def post(self, node_id: int, request: ProduceRequest, timeout_ms: float, version: int) -> asyncio.Future[Any]:
        answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self.posted.append((node_id, request, answer))
        return answer

    def post_and_forget(self, node_id: int, request: ProduceRequest, version: int) -> bool:
        return True

    def request_update(self) -> None:
        self.updates += 1

    async def ready(self, node_id: int, timeout_ms: float) -> bool:
        while not self.is_ready(node_id):
            await asyncio.sleep(0)
        return True

    async def updated(self, version: int) -> None:
        await asyncio.Event().wait()


class World:
    def __init__(self, **settings: object) -> None:
        self.queues = Queues(
            AccumulatorSettings(linger_ms=0, delivery_timeout_ms=60_000), leaders={0: (1, 0), 1: (2, 0)}
        )
        self.network = FakeNetwork(self.queues)
        given: dict[str, object] = {"bootstrap_servers": "x:1", "enable_idempotence": False, **settings}
        self.sender = Sender(
            producer_settings(None, **given),
            cast(NetworkClient, self.network),
            self.queues.accumulator,
            None,
            lambda: None,
        )

    def send(self, partition: int = 0, count: int = 1) -> list[Delivery]:
        found = []
        for _ in range(count):
            batch = self.queues.append(partition, now_ms=self.sender.now_ms())
            assert batch is not None
            found.append(Delivery(batch, batch.count - 1, 5))
        self.sender.wake()
        return found

    async def posted(self, count: int) -> tuple[int, ProduceRequest, "asyncio.Future[Any]"]:
        """The last of so many."""
        async with asyncio.timeout(30):
            while len(self.network.posted) < count:
                await asyncio.sleep(0.001)
        return self.network.posted[count - 1]


def answer(*partitions: PartitionProduceResponse, nodes: tuple[NodeEndpoint, ...] = ()) -> ProduceResponse:
    topics = [TopicProduceResponse(topic_id=TOPIC_ID, partition_responses=list(partitions))]
    return ProduceResponse(responses=topics, node_endpoints=list(nodes))


def run(test: Callable[[World], Awaitable[None]], **settings: object) -> None:
    async def within() -> None:
        world = World(**settings)
        async with asyncio.timeout(60):
            await test(world)
        await world.sender.close()

    asyncio.run(within())


def test_a_request_for_each_leader_with_topic_ids() -> None:
    async def test(world: World) -> None:
        first, second = world.send(0, 3)[2], world.send(1)[0]
        await world.posted(2)
        assert [node for node, _, _ in world.network.posted] == [1, 2]
        (topic,) = world.network.posted[0][1].topic_data
        assert topic.topic_id == TOPIC_ID
        batch = read_batch(topic.partition_data[0].records or b"")
        assert batch.count == 3
        world.network.posted[0][2].set_result(answer(PartitionProduceResponse(index=0, base_offset=10)))
        world.network.posted[1][2].set_result(answer(PartitionProduceResponse(index=1, base_offset=20)))
        assert ((await first).offset, (await second).offset) == (12, 20)

    run(test)


def test_a_hint_at_the_new_leader_is_followed_at_once() -> None:
    """KIP-951: "the new leader information in the response" spares the client a round of metadata and its back-off."""

    async def test(world: World) -> None:
        (delivery,) = world.send()
        _, _, refused = await world.posted(1)
        moved = PartitionProduceResponse(
            index=0,
            error_code=ErrorCode.NOT_LEADER_OR_FOLLOWER,
            current_leader=LeaderIdAndEpoch(leader_id=3, leader_epoch=1),
        )
        refused.set_result(answer(moved, nodes=(NodeEndpoint(node_id=3, host="h", port=9),)))
        node, _, taken = await world.posted(2)
        assert node == 3 and world.network.updates == 1
        assert world.network.metadata.learned == [(TopicPartition("t", 0), 3, 1, Node(3, "h", 9))]
        taken.set_result(answer(PartitionProduceResponse(index=0, base_offset=4)))
        assert (await delivery).offset == 4

    run(test, retry_backoff_ms=50_000, retry_backoff_max_ms=50_000)


def test_a_mistake_of_ours_fails_what_waits_instead_of_letting_it_wait(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def test(world: World) -> None:
        def broken(now_ms: float) -> object:
            raise KeyError("oops")

        monkeypatch.setattr(world.queues.accumulator, "ready", broken)
        (delivery,) = world.send()
        with pytest.raises(ProducerFailed, match="oops"):
            await delivery

    run(test)
    assert "the sender failed" in caplog.text


@pytest.mark.parametrize("error", [Disconnected("gone"), None])
def test_what_fails_in_passing_is_sent_again(error: Exception | None) -> None:
    async def test(world: World) -> None:
        (delivery,) = world.send()
        _, first, lost = await world.posted(1)
        if error is not None:
            lost.set_exception(error)
        else:
            lost.set_result(answer(PartitionProduceResponse(index=0, error_code=ErrorCode.NOT_ENOUGH_REPLICAS)))
        _, again, taken = await world.posted(2)
        assert again.topic_data[0].partition_data[0].records == first.topic_data[0].partition_data[0].records
        taken.set_result(answer(PartitionProduceResponse(index=0, base_offset=1)))
        assert (await delivery).offset == 1

    run(test)


def test_what_was_forgotten_in_an_answer_fails() -> None:
    async def test(world: World) -> None:
        (delivery,) = world.send()
        (await world.posted(1))[2].set_result(ProduceResponse())
        with pytest.raises(Refused, match="UNKNOWN_SERVER_ERROR"):
            await delivery

    run(test)


def test_records_that_are_to_blame_are_named() -> None:
    async def test(world: World) -> None:
        deliveries = world.send(0, 3)
        refused = PartitionProduceResponse(
            index=0,
            error_code=ErrorCode.INVALID_RECORD,
            error_message="one or more records are wrong",
            record_errors=[BatchIndexAndErrorMessage(batch_index=1, batch_index_error_message="no key")],
        )
        (await world.posted(1))[2].set_result(answer(refused))
        for index, said in enumerate(("records are wrong", "no key", "records are wrong")):
            with pytest.raises(Refused, match=said):
                await deliveries[index]

    run(test)


def test_no_more_requests_than_there_are_places_and_then_all_that_wait_in_one() -> None:
    async def test(world: World) -> None:
        world.network.places = 1
        world.queues.leaders[1] = (1, 0)
        world.send(0)
        await world.posted(1)
        waiting = [world.send(0)[0], world.send(1)[0]]
        for _ in range(10):
            await asyncio.sleep(0)
        assert len(world.network.posted) == 1
        world.network.posted[0][2].set_result(answer(PartitionProduceResponse(index=0)))
        _, request, taken = await world.posted(2)
        assert sorted(each.index for each in request.topic_data[0].partition_data) == [0, 1]
        taken.set_result(answer(PartitionProduceResponse(index=0), PartitionProduceResponse(index=1)))
        await asyncio.gather(*waiting)

    run(test)


def test_without_acks_what_is_written_is_done() -> None:
    async def test(world: World) -> None:
        (delivery,) = world.send()
        assert (await delivery).offset == -1

    run(test, acks=0)


def test_time_is_up_although_an_answer_may_come() -> None:
    async def test(world: World) -> None:
        (delivery,) = world.send()
        _, _, late = await world.posted(1)
        batch = delivery._batch
        batch.created_ms -= 60_000
        world.sender.wake()
        with pytest.raises(DeliveryTimedOut, match="1 records to t-0 were not acknowledged"):
            await delivery
        late.set_result(answer(PartitionProduceResponse(index=0)))
        accumulator = world.queues.accumulator
        async with asyncio.timeout(60):
            while accumulator.available_bytes < accumulator.settings.buffer_memory:
                await asyncio.sleep(0.001)
        assert isinstance(batch.error, DeliveryTimedOut)
        assert accumulator.available_bytes == accumulator.settings.buffer_memory

    run(test)


def test_closing_fails_what_is_left() -> None:
    async def test(world: World) -> None:
        (delivery,) = world.send()
        await world.posted(1)
        await world.sender.close()
        with pytest.raises(ProducerClosed):
            await delivery

    run(test)
