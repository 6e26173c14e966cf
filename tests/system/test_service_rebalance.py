"""Two instances of a service that come and go: partitions are drained before they are given up, so that nothing is
handled twice and messages of a key keep their order across instances."""

import asyncio
import json
from collections import Counter, defaultdict
from collections.abc import Callable

from odradek.client import Producer
from odradek.service import Context, Retries, Send, Service
from odradek.testing import Cluster
from support.figures import report

KEYS = 20
#: Of each instance, between one change and the next.
ENOUGH = 200
_AT_A_TIME = 10
_WAIT_S = 120


async def until(condition: Callable[[], bool], *running: asyncio.Task[None]) -> None:
    async with asyncio.timeout(_WAIT_S):
        while not condition():
            for task in running:
                if task.done():
                    await task
            await asyncio.sleep(0.01)


async def produce(bootstrap: str, has_enough: asyncio.Event) -> int:
    """As long as they are wanted, and how many those were."""
    number = 0
    async with Producer(bootstrap_servers=bootstrap) as producer:
        while not has_enough.is_set():
            for _ in range(_AT_A_TIME):
                await producer.send("orders", json.dumps(number).encode(), key=b"key-%d" % (number % KEYS))
                number += 1
            await asyncio.sleep(0.02)
    return number


def test_instances_come_and_go() -> None:
    handled: Counter[int] = Counter()
    by_key: defaultdict[bytes | None, list[int]] = defaultdict(list)
    by_instance: Counter[str] = Counter()

    def instance(name: str, bootstrap: str, protocol: str) -> Service:
        noticing = {"heartbeat.interval.ms": 200} if protocol == "classic" else {}
        app = Service("shop", bootstrap_servers=bootstrap, consumer={"group.protocol": protocol, **noticing})

        @app.handler("orders", retries=Retries(in_place=1, backoff_ms=1), concurrency=8)
        async def handle(number: int, context: Context) -> Send:
            await asyncio.sleep(0.004)
            if number % 50 == 0 and context.attempt == 1:
                raise ValueError("once")
            handled[number] += 1
            by_key[context.key].append(number)
            by_instance[name] += 1
            return Send("receipts", number)

        return app

    async def come_and_go(bootstrap: str, protocol: str) -> int:
        has_enough = asyncio.Event()
        producing = asyncio.ensure_future(produce(bootstrap, has_enough))
        first, second = instance("first", bootstrap, protocol), instance("second", bootstrap, protocol)
        first_runs = asyncio.ensure_future(first.run())
        await until(lambda: by_instance["first"] >= ENOUGH, first_runs)
        second_runs = asyncio.ensure_future(second.run())
        await until(lambda: by_instance["second"] >= ENOUGH, first_runs, second_runs)
        first.stop()
        await first_runs
        seen = by_instance["second"]
        await until(lambda: by_instance["second"] >= seen + ENOUGH, second_runs)
        has_enough.set()
        count = await producing
        await until(lambda: len(handled) == count, second_runs)
        second.stop()
        await second_runs
        return count

    with Cluster(settings={"group.initial.rebalance.delay.ms": 0}) as cluster:
        for protocol in ("classic", "consumer"):
            for topic in ("orders", "receipts"):
                cluster.create_topic(topic, partitions=4)
            count = asyncio.run(come_and_go(cluster.bootstrap, protocol))
            assert set(handled.values()) == {1}
            assert all(numbers == sorted(numbers) for numbers in by_key.values()) and len(by_key) == KEYS
            report("service: instances come and go", protocol=protocol, messages=count, twice=0, **by_instance)
            for topic in ("orders", "receipts"):
                cluster.delete_topic(topic)
            handled.clear(), by_key.clear(), by_instance.clear()
