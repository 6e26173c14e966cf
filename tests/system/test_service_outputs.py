"""Outputs that no broker takes, in exactly-once mode and without: one message's failure, and not that of its batch."""

import asyncio
import json
from collections.abc import Callable

import pytest

from odradek.client import Producer
from odradek.service import Retries, Send, Service
from odradek.testing import Cluster
from support.loads.data_load import read_all

MESSAGES = 60
PARTITIONS = 2
_WAIT_S = 120

BAD = {
    3: "too large for its topic",
    7: "too large for the producer",
    23: "a name that is none",
    41: "a topic that is not there",
}


def output(number: int) -> Send:
    if number not in BAD:
        return Send("doubled", 2 * number)
    topic = {3: "small", 23: "bad name!", 41: "nowhere"}.get(number, "doubled")
    return Send(topic, b"x" * (2_000_000 if number == 7 else 10_000))


async def until(condition: Callable[[], bool], running: asyncio.Task[None]) -> None:
    async with asyncio.timeout(_WAIT_S):
        while not condition():
            if running.done():
                await running
            await asyncio.sleep(0.02)


@pytest.mark.parametrize("exactly_once", [True, False])
def test_outputs_that_cannot_be_written(exactly_once: bool) -> None:
    async def main(bootstrap: str) -> None:
        async with Producer(bootstrap_servers=bootstrap) as producer:
            for number in range(MESSAGES):
                await producer.send("numbers", json.dumps(number).encode(), key=b"k%d" % number)
            await producer.flush()
        # How long the topic that is not there is looked for. Those that are must be found in it on a busy machine, too.
        limits = {"max.block.ms": 10_000}
        app = Service("doubling", bootstrap_servers=bootstrap, exactly_once=exactly_once, producer=limits)

        @app.handler("numbers", retries=Retries(in_place=0))
        async def double(number: int) -> Send:
            return output(number)

        running = asyncio.ensure_future(app.run())
        endings = app.figures.of("numbers").endings
        await until(lambda: sum(endings.values()) == MESSAGES, running)
        app.stop()
        await running

    with Cluster(settings={"auto.create.topics.enable": "false"}) as cluster:
        for topic in ("numbers", "doubled"):
            cluster.create_topic(topic, partitions=PARTITIONS)
        cluster.create_topic("small", configs={"max.message.bytes": "1000"})
        asyncio.run(main(cluster.bootstrap))
        doubled = sorted(json.loads(each) for each in read_all(cluster.bootstrap, "doubled", PARTITIONS).values())
        dead = sorted(json.loads(each) for each in read_all(cluster.bootstrap, "numbers.dead", PARTITIONS).values())
    assert doubled == [2 * number for number in range(MESSAGES) if number not in BAD]
    assert dead == sorted(BAD)
