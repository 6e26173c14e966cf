"""Batches of a service: what one run handles, where it ends, and what happens when two runs overlap."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import pytest

from odradek.client import Admin, Consumer, Producer, TopicPartition
from odradek.common.failures import InputError
from odradek.errors import KafkaError
from odradek.service import BatchEnd, Reject, Retries, Service
from odradek.testing import Cluster

_PARTITIONS = 3


@asynccontextmanager
async def cluster_with_orders(count: int) -> AsyncIterator[Cluster]:
    async with Cluster() as cluster:
        await cluster.create_topic("orders", partitions=_PARTITIONS)
        await produce(cluster, range(count))
        yield cluster


async def produce(cluster: Cluster, numbers: range) -> None:
    async with Producer(bootstrap_servers=cluster.bootstrap) as producer:
        for number in numbers:
            await producer.send("orders", b"%d" % number, key=b"customer-%d" % (number % 40))


async def committed(cluster: Cluster, group: str) -> int:
    async with Admin(bootstrap_servers=cluster.bootstrap) as admin:
        offsets = (await admin.list_consumer_group_offsets([group]))[group]
    return sum(each.offset for partition, each in offsets.items() if partition.topic == "orders" and each is not None)


def test_a_run_ends_at_what_was_there_or_at_its_limit() -> None:
    async def test() -> None:
        async with cluster_with_orders(300) as cluster:
            app, seen = Service("shop", bootstrap_servers=cluster.bootstrap), Counter[int]()

            @app.handler("orders")
            def handle(order: int) -> None:
                seen[order] += 1

            first = await app.run_batch(max_records=100)
            assert (first.end, first.handled, first.lag, first.has_more) == (BatchEnd.MAX_RECORDS, 100, 200, True)
            assert await committed(cluster, "shop") == 100
            second = await app.run_batch()
            assert (second.end, second.handled, second.has_more) == (BatchEnd.CAUGHT_UP, 200, False)
            assert (await app.run_batch()).finished == 0
            assert seen == Counter(range(300))
            assert await committed(cluster, "shop") == 300

    asyncio.run(test())


def test_retries_and_dead_letters_are_those_of_the_service() -> None:
    async def test() -> None:
        async with cluster_with_orders(20) as cluster:
            app, attempts = Service("shop", bootstrap_servers=cluster.bootstrap), Counter[int]()

            @app.handler("orders", retries=Retries(in_place=0, topics=["1h"]))
            async def handle(order: int) -> None:
                attempts[order] += 1
                if order == 7:
                    raise LookupError("later")
                if order == 8:
                    raise Reject("never")

            result = await app.run_batch()
            assert (result.handled, result.retried_later, result.dead) == (18, 1, 1)
            again = await app.run_batch()
            assert (again.end, again.finished, again.waiting) == (BatchEnd.CAUGHT_UP, 0, 1)
            assert attempts[7] == 1  # not due: a later run tries it

    asyncio.run(test())


def test_a_run_that_is_out_of_time_commits_what_it_has_finished() -> None:
    async def test() -> None:
        async with cluster_with_orders(50) as cluster:
            app = Service("shop", bootstrap_servers=cluster.bootstrap, drain_limit_s=0.2)
            seen = Counter[int]()

            @app.handler("orders", concurrency=1, order="partition")
            async def handle(order: int) -> None:
                seen[order] += 1
                if len(seen) == 10:
                    await asyncio.Event().wait()

            result = await app.run_batch(max_seconds=2)
            assert (result.end, result.handled) == (BatchEnd.MAX_SECONDS, 9)
            assert await committed(cluster, "shop") == 9

    asyncio.run(test())


def test_runs_that_overlap_handle_twice_and_never_move_offsets_back() -> None:
    async def test() -> None:
        async with cluster_with_orders(60) as cluster:
            seen = Counter[int]()
            first_is_waiting, go_on = asyncio.Event(), asyncio.Event()

            async def wait() -> None:
                first_is_waiting.set()
                await go_on.wait()

            async def nothing() -> None:
                pass

            slow, quick = (service(cluster, seen, wait), service(cluster, seen, nothing))
            running = asyncio.ensure_future(slow.run_batch())
            await first_is_waiting.wait()
            assert (await quick.run_batch()).handled == 60
            go_on.set()
            result = await running
            assert result.end is BatchEnd.OVERLAP and not result.has_more
            assert set(seen) == set(range(60))
            assert await committed(cluster, "shop") == 60

    asyncio.run(test())


def service(cluster: Cluster, seen: Counter[int], then: Callable[[], object]) -> Service:
    app = Service("shop", bootstrap_servers=cluster.bootstrap)

    @app.handler("orders")
    async def handle(order: int) -> None:
        seen[order] += 1
        await then()  # type: ignore[misc]

    return app


def test_parallel_runs_share_the_partitions() -> None:
    async def test() -> None:
        async with cluster_with_orders(300) as cluster:
            seen = Counter[int]()

            async def nothing() -> None:
                pass

            apps = [service(cluster, seen, nothing) for _ in range(2)]
            results = await asyncio.gather(*(app.run_batch(parallel=True) for app in apps))
            results.append(await apps[0].run_batch(parallel=True))  # what a rebalance at the wrong moment left
            assert set(seen) == set(range(300))
            assert sum(result.handled for result in results) >= 300
            assert await committed(cluster, "shop") == 300

    asyncio.run(test())


def test_a_run_is_refused_while_the_group_has_members() -> None:
    """A service with the same group is running: its offsets are its own."""

    async def test() -> None:
        async with cluster_with_orders(10) as cluster:
            settings = {"bootstrap.servers": cluster.bootstrap, "group.id": "shop", "group.protocol": "consumer"}
            async with Consumer("orders", settings) as member:
                while not member.assignment():
                    await member.poll(100)

                async def nothing() -> None:
                    pass

                with pytest.raises(KafkaError, match="group shop has members"):
                    await service(cluster, Counter(), nothing).run_batch()
                assert (await member.committed([TopicPartition("orders", 0)]))[TopicPartition("orders", 0)] is None

    asyncio.run(test())


def test_what_a_batch_cannot_do() -> None:
    app = Service("shop", exactly_once=True)
    with pytest.raises(InputError, match="has no handlers"):
        asyncio.run(app.run_batch())
    app.handler("orders")(lambda order: None)
    with pytest.raises(InputError, match="at least once"):
        asyncio.run(app.run_batch())
    app = Service("shop")
    app.handler("orders")(lambda order: None)
    with pytest.raises(InputError, match="max_records 0"):
        asyncio.run(app.run_batch(max_records=0))
