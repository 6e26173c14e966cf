"""A sender at rest, and calls of transactions that go wrong before anything is sent."""

import asyncio
from typing import Any

import pytest

from odradek.client.net.channel import FinalizedFeatures
from odradek.client.producer.record_accumulator import AccumulatorSettings, RecordAccumulator
from odradek.client.producer.sender import Sender
from odradek.client.producer.transaction_manager import TransactionManager
from odradek.client.producer.transactions import Transactions
from odradek.client.settings.settings import producer_settings
from odradek.client.types import TopicPartition
from odradek.common.failures import InputError
from odradek.errors import ProducerFailed, WrongTransactionState
from odradek.protocol.message import Message
from support.fakes.client_network import FakeNetwork
from unit.client.producer.producing import idempotent

PLACE = TopicPartition("a", 0)


class Network(FakeNetwork):
    """Without coordinators: to ask for one is a mistake here."""

    features = FinalizedFeatures()

    def post(
        self, node_id: int, request: Message, timeout_ms: float, *, version: int | None = None
    ) -> "asyncio.Future[Any] | None":
        return super().post(node_id, request, timeout_ms)


class Rounds(Sender):
    count = 0

    def _run(self) -> None:
        self.count += 1
        super()._run()


class Bench:
    def __init__(self, manager: TransactionManager) -> None:
        self.network = Network()
        self.network.lead({0: (1, 0)})
        settings = AccumulatorSettings(linger_ms=0)
        leader = self.network.metadata.leader
        self.accumulator = RecordAccumulator(settings, leader, self.network.backoff, self.network.random, manager)
        self.sender = Rounds(
            producer_settings({"bootstrap.servers": "nowhere:9092"}),
            self.network,  # type: ignore[arg-type]
            self.accumulator,
            manager,
            lambda: None,
        )
        self.transactions = Transactions(manager, self.sender, max_block_ms=60_000)


def test_nobody_looks_again_and_again_for_what_may_not_be_sent_yet() -> None:
    async def talk() -> None:
        bench = Bench(idempotent())
        topic = bench.accumulator.topic("a", 1)
        for _ in range(2):  # the second waits for the answer to the first
            batch = bench.accumulator.new_batch(topic.queues[0], topic, 100, bench.sender.now_ms())
            assert batch is not None and batch.packer.append(1, None, b"value", ()) == 0
            bench.sender.wake()
            await asyncio.sleep(0)
        for _ in range(100):
            await asyncio.sleep(0)
        assert len(bench.network.posted) == 1 and bench.accumulator.has_undrained
        assert bench.sender.count < 10
        await bench.sender.close()

    asyncio.run(talk())


def test_who_waits_for_a_request_that_cannot_even_be_made_is_told() -> None:
    async def talk() -> None:
        bench = Bench(TransactionManager("x"))
        with pytest.raises(ProducerFailed, match="InitProducerId failed: AttributeError"):
            await bench.transactions.initialize()
        await bench.sender.close()

    asyncio.run(talk())


def test_offsets_of_a_transaction_may_be_numbers_but_not_below_zero() -> None:
    async def talk() -> None:
        bench = Bench(TransactionManager("x"))
        with pytest.raises(InputError, match="-1 is not a valid offset"):
            await bench.transactions.send_offsets({PLACE: -1}, "group")
        with pytest.raises(WrongTransactionState):  # and nothing worse
            await bench.transactions.send_offsets({PLACE: 5}, "group")
        await bench.sender.close()

    asyncio.run(talk())
