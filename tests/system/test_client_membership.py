"""What a consumer's application sees of its group, on an Odradek node: callbacks, polls that do not come, leaving and
coming back."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Sequence
from typing import Any

import pytest

from odradek.client import Consumer, OffsetAndMetadata, RebalanceListener, TopicPartition
from odradek.errors import CommitFailed, NoGroup
from odradek.testing import Cluster

pytestmark = pytest.mark.slow

PARTITIONS = 4
TIMEOUT_S = 90
WAYS = ("range", "cooperative-sticky", "consumer")


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    with Cluster() as made:
        for name in ("t", "u"):
            made.create_topic(name, partitions=PARTITIONS)
        yield made


class Told(RebalanceListener):
    def __init__(self, on_revoked: Callable[[Sequence[TopicPartition]], Awaitable[None]] | None = None) -> None:
        self.events: list[str] = []
        self._on_revoked = on_revoked

    async def on_partitions_assigned(self, partitions: Sequence[TopicPartition]) -> None:
        if partitions:
            self.events.append("assigned")

    async def on_partitions_revoked(self, partitions: Sequence[TopicPartition]) -> None:
        self.events.append("revoked")
        if self._on_revoked is not None:
            await self._on_revoked(partitions)

    def on_partitions_lost(self, partitions: Sequence[TopicPartition]) -> None:
        self.events.append("lost")


def consumer(cluster: Cluster, way: str, group: str, **options: Any) -> Consumer:
    chosen = {"group_protocol": "consumer"} if way == "consumer" else {"partition_assignment_strategy": way}
    quick = {} if way == "consumer" else {"heartbeat_interval_ms": 200}
    return Consumer(
        bootstrap_servers=cluster.bootstrap,
        group_id=f"{group}-{way}",
        auto_offset_reset="earliest",
        enable_auto_commit=False,
        **chosen,
        **quick,
        **options,
    )


async def polling(condition: Callable[[], bool], *consumers: Consumer) -> None:
    async with asyncio.timeout(TIMEOUT_S):
        while not condition():
            for each in consumers:
                await each.poll(timeout_ms=20)


def all_of(topic: str) -> frozenset[TopicPartition]:
    return frozenset(TopicPartition(topic, number) for number in range(PARTITIONS))


def in_all_ways(scenario: Callable[[str], Awaitable[None]]) -> None:
    async def run() -> None:
        await asyncio.gather(*(scenario(way) for way in WAYS))

    asyncio.run(run())


def test_who_does_not_poll_is_missed_and_comes_back(cluster: Cluster) -> None:
    async def scenario(way: str) -> None:
        told = Told()
        async with (
            consumer(cluster, way, "stuck", max_poll_interval_ms=2_000) as stuck,
            consumer(cluster, way, "stuck") as other,
        ):
            stuck.subscribe(["t"], listener=told)
            other.subscribe(["t"])
            await polling(lambda: len(stuck.assignment()) == len(other.assignment()) == PARTITIONS // 2, stuck, other)
            held = {each: OffsetAndMetadata(1) for each in stuck.assignment()}
            await stuck.commit(held)
            await polling(lambda: other.assignment() == all_of("t"), other)
            with pytest.raises(CommitFailed):
                await stuck.commit(held)
            assert "lost" not in told.events, "callbacks come with the next poll"
            await polling(lambda: len(stuck.assignment()) == len(other.assignment()) == PARTITIONS // 2, stuck, other)
            assert "lost" in told.events

    in_all_ways(scenario)


def test_a_callback_may_commit_and_what_it_raises_comes_out_of_poll(cluster: Cluster) -> None:
    async def scenario(way: str) -> None:
        async def give_up(partitions: Sequence[TopicPartition]) -> None:
            await first.commit({each: OffsetAndMetadata(7, None, "bye") for each in partitions})
            raise ValueError("by the application")

        async with consumer(cluster, way, "raises") as first, consumer(cluster, way, "raises") as second:
            first.subscribe(["t"], listener=Told(give_up))
            await polling(lambda: first.assignment() == all_of("t"), first)
            second.subscribe(["t"])
            with pytest.raises(ValueError, match="by the application"):
                await polling(lambda: False, first, second)
            await polling(lambda: len(second.assignment()) == PARTITIONS // 2, first, second)
            found = await second.committed(second.assignment())
            assert found == {each: OffsetAndMetadata(7, None, "bye") for each in second.assignment()}
            first.subscribe(["t"], listener=Told())

    in_all_ways(scenario)


def test_a_consumer_leaves_and_comes_back_with_another_subscription(cluster: Cluster) -> None:
    async def scenario(way: str) -> None:
        told = Told()
        async with consumer(cluster, way, "returns") as goes, consumer(cluster, way, "returns") as stays:
            goes.subscribe(["t"], listener=told)
            stays.subscribe(["t"])
            await polling(lambda: len(goes.assignment()) == len(stays.assignment()) == PARTITIONS // 2, goes, stays)
            await goes.unsubscribe()
            assert told.events[-1] == "revoked" and goes.assignment() == frozenset()
            await polling(lambda: stays.assignment() == all_of("t"), stays)
            goes.subscribe(["u"], listener=told)
            await polling(lambda: goes.assignment() == all_of("u"), goes, stays)
            before = goes.group_metadata().generation_id
            goes.subscribe(["u", "t"], listener=told)
            await polling(lambda: goes.group_metadata().generation_id > before, goes, stays)
            await polling(lambda: goes.assignment() | stays.assignment() == all_of("t") | all_of("u"), goes, stays)

    in_all_ways(scenario)


def test_a_rebalance_can_be_enforced(cluster: Cluster) -> None:
    async def scenario(way: str) -> None:
        async with consumer(cluster, way, "enforced") as one:
            one.subscribe(["t"])
            await polling(lambda: one.assignment() == all_of("t"), one)
            before = one.group_metadata()
            assert before.group_id == f"enforced-{way}" and before.member_id
            one.enforce_rebalance("the table of the assignor has changed")
            if way != "consumer":  # which knows no such thing, as in Kafka
                await polling(lambda: one.group_metadata().generation_id > before.generation_id, one)
                await polling(lambda: one.assignment() == all_of("t"), one)

    in_all_ways(scenario)


def test_partitions_assigned_by_hand_are_committed_without_a_member(cluster: Cluster) -> None:
    async def scenario(way: str) -> None:
        part = TopicPartition("t", 0)
        async with consumer(cluster, way, "alone") as one:
            one.assign([part])
            assert await one.committed([part]) == {part: None}
            await one.commit({part: OffsetAndMetadata(3, None, "note")})
            assert await one.committed([part]) == {part: OffsetAndMetadata(3, None, "note")}

    in_all_ways(scenario)


def test_without_a_group_nothing_is_joined_or_committed(cluster: Cluster) -> None:
    async def scenario() -> None:
        async with Consumer(bootstrap_servers=cluster.bootstrap) as one:
            with pytest.raises(NoGroup, match=r"no group\.id"):
                await one.commit({TopicPartition("t", 0): OffsetAndMetadata(1)})
            with pytest.raises(NoGroup, match=r"no group\.id"):
                await one.committed([TopicPartition("t", 0)])

    asyncio.run(scenario())


def test_a_group_goes_on_when_its_coordinator_moves() -> None:
    """Every node is killed once, and started again: members keep what they have, and commit."""
    ready: list[str] = []
    killed: list[int] = []

    async def scenario(three: Cluster, way: str) -> None:
        told = Told()
        async with consumer(three, way, "moves") as one, consumer(three, way, "moves") as other:
            for each in (one, other):
                each.subscribe(["t"], listener=told)
            await polling(lambda: len(one.assignment()) == len(other.assignment()) == PARTITIONS // 2, one, other)
            before = list(told.events)
            ready.append(way)
            await polling(lambda: len(killed) == len(three.nodes), one, other)
            held = {each: OffsetAndMetadata(9) for each in one.assignment()}
            await one.commit(held, timeout_ms=TIMEOUT_S * 1_000)
            assert await one.committed(held, timeout_ms=TIMEOUT_S * 1_000) == held
            assert told.events == before

    async def faults(three: Cluster) -> None:
        async with asyncio.timeout(TIMEOUT_S):
            while len(ready) < len(WAYS):
                await asyncio.sleep(0.05)
        for node_id in three.nodes:
            await three.kill(node_id)
            await three.start(node_id)
            await three.wait_until_in_sync()
            killed.append(node_id)

    async def run() -> None:
        async with Cluster(nodes=3) as three:
            await three.create_topic("t", partitions=PARTITIONS, replication_factor=3)
            await asyncio.gather(faults(three), *(scenario(three, way) for way in WAYS))

    asyncio.run(run())


def test_a_poll_of_another_task_ends_with_the_consumer(cluster: Cluster) -> None:
    async def scenario(way: str) -> None:
        async with consumer(cluster, way, "closed") as reading:
            reading.subscribe(["t"])
            await polling(lambda: reading.assignment() == all_of("t"), reading)
            waiting = asyncio.ensure_future(reading.poll(timeout_ms=1000 * TIMEOUT_S))
            await asyncio.sleep(0)
            await reading.close()
            assert await waiting == []

    in_all_ways(scenario)
