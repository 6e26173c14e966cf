"""Clients that are closed while their brokers are gone: they give up soon, and say what was not done."""

import asyncio
import logging

import pytest

from odradek.client import Consumer, Producer, async_context
from odradek.client.net.network_client import NetworkClient
from odradek.errors import ProducerClosed
from odradek.testing import Cluster

_POLL_MS = 60_000


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """The wait itself is not what is tested."""
    monkeypatch.setattr(NetworkClient.unless_gone, "__defaults__", (200,))
    monkeypatch.setattr(async_context, "EXIT_TIMEOUT_MS", 200)


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_a_consumer_whose_brokers_are_gone_gives_up(protocol: str, caplog: pytest.LogCaptureFixture) -> None:
    """Without that its last commit is repeated until a time-out; the log says which of the two it was."""

    async def test() -> None:
        async with Cluster() as cluster:
            await cluster.create_topic("orders")
            async with Producer(bootstrap_servers=cluster.bootstrap) as producer:
                await producer.send_and_wait("orders", b"tea")
            consumer = Consumer(
                "orders",
                {
                    "bootstrap.servers": cluster.bootstrap,
                    "group.id": f"closing-{protocol}",
                    "group.protocol": protocol,
                    "auto.offset.reset": "earliest",
                },
            )
            await consumer.start()
            assert len(await consumer.poll(_POLL_MS)) == 1
            await cluster.kill(1)
            await consumer.close()

    asyncio.run(test())
    messages = [record.getMessage() for record in caplog.records if record.name == "odradek.client.group"]
    assert any("the automatic commit failed: every broker has refused connections" in line for line in messages), (
        messages
    )
    warnings = [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]
    assert any("could not be established (attempt 1): connection refused" in line for line in warnings), warnings


def test_close_takes_no_longer_than_it_is_told(caplog: pytest.LogCaptureFixture) -> None:
    """The broker is silent: connections stay, and nothing is answered."""

    async def test() -> None:
        async with Cluster() as cluster:
            await cluster.create_topic("orders")
            async with Producer(bootstrap_servers=cluster.bootstrap) as producer:
                await producer.send_and_wait("orders", b"tea")
            settings = {
                "bootstrap.servers": cluster.bootstrap,
                "group.id": "silent",
                "auto.offset.reset": "earliest",
            }
            consumer = Consumer("orders", settings)
            await consumer.start()
            assert len(await consumer.poll(_POLL_MS)) == 1
            await cluster.pause(1)
            await consumer.close(timeout_ms=300)
            await cluster.resume(1)

    asyncio.run(test())
    messages = [record.getMessage() for record in caplog.records if record.name == "odradek.client.group"]
    assert any("not done within 300 ms" in line for line in messages), messages


def test_a_producer_that_is_cancelled_does_not_wait_for_brokers_that_are_gone() -> None:
    """As by Ctrl-C: what was not delivered by then fails, well before delivery.timeout.ms."""

    async def test() -> None:
        async with Cluster() as cluster:
            await cluster.create_topic("orders")
            sent = asyncio.Event()
            outcomes: list[BaseException | None] = []

            async def produce() -> None:
                settings = {"bootstrap.servers": cluster.bootstrap, "delivery.timeout.ms": 3_600_000}
                async with Producer(settings) as producer:
                    await producer.send_and_wait("orders", b"tea")
                    await cluster.kill(1)
                    await producer.send("orders", b"cake", on_delivery=lambda _, error: outcomes.append(error))
                    sent.set()
                    await asyncio.Event().wait()

            producing = asyncio.ensure_future(produce())
            await sent.wait()
            producing.cancel()
            with pytest.raises(asyncio.CancelledError):
                await producing
            await asyncio.sleep(0)
            assert [type(error) for error in outcomes] == [ProducerClosed]

    asyncio.run(test())
