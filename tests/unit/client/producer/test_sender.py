"""When the sender looks again, and when it does not."""

import asyncio
from typing import Any

from helpers.fake_network import FakeNetwork
from helpers.producing import idempotent
from odradek.client.producer.accumulator import Accumulator, AccumulatorSettings
from odradek.client.producer.sender import Sender
from odradek.client.settings import producer_settings
from odradek.protocol.message import Message


class Network(FakeNetwork):
    def post(
        self, node_id: int, request: Message, timeout_ms: float, *, version: int | None = None
    ) -> "asyncio.Future[Any] | None":
        return super().post(node_id, request, timeout_ms)


class Rounds(Sender):
    count = 0

    def _run(self) -> None:
        self.count += 1
        super()._run()


def test_it_does_not_look_again_and_again_for_what_may_not_be_sent_yet() -> None:
    async def talk() -> None:
        network, manager = Network(), idempotent()
        network.lead({0: (1, 0)})
        accumulator = Accumulator(
            AccumulatorSettings(linger_ms=0), network.metadata.leader, network.backoff, network.random, manager
        )
        sender = Rounds(
            producer_settings({"bootstrap.servers": "h:1"}),
            network,  # type: ignore[arg-type]
            accumulator,
            manager,
            lambda: None,
        )
        topic = accumulator.topic("a", 1)
        for _ in range(2):  # the second waits for the answer to the first
            batch = accumulator.new_batch(topic.queues[0], topic, 100, sender.now_ms())
            assert batch is not None and batch.packer.append(1, None, b"value", ()) == 0
            sender.wake()
            await asyncio.sleep(0)
        for _ in range(100):
            await asyncio.sleep(0)
        assert len(network.posted) == 1 and accumulator.has_undrained
        assert sender.count < 10
        await sender.close()

    asyncio.run(talk())
