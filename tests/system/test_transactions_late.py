"""Requests that come late and out of order: every Produce and EndTxn of a producer is sent again on another connection,
some time after it was answered. With transactions of version 2 none of them may change anything (KIP-890)."""

import asyncio
import random
from collections import Counter
from pathlib import Path

import pytest
from confluent_kafka import Consumer, TopicPartition

from odradek.client.net.channel import Channel
from odradek.protocol.error_codes import ErrorCode
from odradek.protocol.message import Message
from odradek.protocol.messages.end_txn_request import EndTxnRequest
from odradek.protocol.messages.end_txn_response import EndTxnResponse
from odradek.protocol.messages.find_coordinator_request import FindCoordinatorRequest
from odradek.protocol.messages.init_producer_id_request import InitProducerIdRequest
from odradek.protocol.messages.produce_request import PartitionProduceData, ProduceRequest, TopicProduceData
from odradek.protocol.messages.produce_response import ProduceResponse
from odradek.records.builder import BatchBuilder
from support.figures import report
from support.loads.data_load import CLIENT, bootstrap_of, create_topic
from support.processes.nodes import HOST, OURS, Cluster, NodeSpec
from support.processes.nodes_quorum import CHANNEL_CONFIG
from support.waiting import wait_until

pytestmark = pytest.mark.slow

TOPIC, NAME = "late", "producer"
TRANSACTIONS = 300
#: So many requests back, one may come again.
WINDOW = 12
_TIMEOUT_MS = 60_000
#: The last version of Produce in which a topic goes by its name.
_PRODUCE_VERSION = 12
_PASSING = (
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.CONCURRENT_TRANSACTIONS,
    ErrorCode.NOT_ENOUGH_REPLICAS,
)


def test_what_comes_late_changes_nothing(tmp_path: Path) -> None:
    with Cluster(tmp_path, [NodeSpec(1, OURS, roles="broker,controller")]) as cluster:
        cluster.start()
        create_topic(cluster, TOPIC, 1, 1)
        producer = asyncio.run(LateProducer(cluster[1].broker_port).run())
        wait_until(lambda: read_committed(cluster) == producer.committed, "exactly what was committed is there")
        assert producer.refused.total() > TRANSACTIONS // 4, "hardly anything came late"
        report("transactions: requests that come late", transactions=TRANSACTIONS, **producer.figures())


def read_committed(cluster: Cluster) -> list[bytes]:
    options = {"group.id": "reader", "enable.auto.commit": False, "isolation.level": "read_committed"}
    consumer = Consumer({"bootstrap.servers": bootstrap_of(cluster), **CLIENT, **options, "enable.partition.eof": True})
    consumer.assign([TopicPartition(TOPIC, 0, 0)])
    values: list[bytes] = []
    while True:
        for message in consumer.consume(1_000, 1):
            if message.error() is not None:
                consumer.close()
                return values
            values.append(message.value() or b"")


class LateProducer:
    def __init__(self, port: int) -> None:
        self.committed: list[bytes] = []
        #: What those that came late were told.
        self.refused: Counter[str] = Counter()
        self._draw = random.Random(890)
        self._channels = [Channel(HOST, port, CHANNEL_CONFIG) for _ in range(3)]
        self._sent: list[Message] = []
        self._producer_id = self._producer_epoch = -1

    async def run(self) -> "LateProducer":
        await self._begin()
        for number in range(TRANSACTIONS):
            is_commit = self._draw.random() < 0.7
            values = [b"%d-%d" % (number, place) for place in range(self._draw.randint(1, 3))]
            late = [asyncio.ensure_future(self._again()) for _ in range(self._draw.randint(0, 3))]
            for sequence, value in enumerate(values):
                await self._produce(sequence, value)
            await self._end(is_commit)
            await asyncio.gather(*late)
            if is_commit:
                self.committed += values
        for channel in self._channels:
            await channel.close()
        return self

    async def _begin(self) -> None:
        find = FindCoordinatorRequest(key_type=1, coordinator_keys=[NAME])
        while (await self._channels[0].send(find, _TIMEOUT_MS)).coordinators[0].error_code:
            await asyncio.sleep(0.05)
        request = InitProducerIdRequest(transactional_id=NAME, transaction_timeout_ms=60_000)
        while (response := await self._channels[0].send(request, _TIMEOUT_MS)).error_code in _PASSING:
            await asyncio.sleep(0.05)
        self._producer_id, self._producer_epoch = response.producer_id, response.producer_epoch

    async def _produce(self, sequence: int, value: bytes) -> None:
        builder = BatchBuilder(
            producer_id=self._producer_id,
            producer_epoch=self._producer_epoch,
            base_sequence=sequence,
            is_transactional=True,
        )
        builder.append(1_700_000_000_000, None, value)
        data = PartitionProduceData(index=0, records=bytes(builder.build()))
        request = ProduceRequest(
            transactional_id=NAME,
            acks=-1,
            timeout_ms=_TIMEOUT_MS,
            topic_data=[TopicProduceData(name=TOPIC, partition_data=[data])],
        )
        assert await self._send(request) == 0
        self._sent.append(request)

    async def _end(self, is_commit: bool) -> None:
        request = EndTxnRequest(
            transactional_id=NAME,
            producer_id=self._producer_id,
            producer_epoch=self._producer_epoch,
            committed=is_commit,
        )
        assert await self._send(request) == 0
        self._sent.append(request)

    async def _send(self, request: Message) -> int:
        """Until it is neither too early nor too late for it."""
        while True:
            code, response = await self._ask(self._channels[0], request)
            if code not in _PASSING:
                break
            await asyncio.sleep(0.005)
        if isinstance(response, EndTxnResponse) and code == 0:
            self._producer_id, self._producer_epoch = response.producer_id, response.producer_epoch
        return code

    async def _again(self) -> None:
        if self._sent:
            await asyncio.sleep(self._draw.uniform(0, 0.01))
            code, _ = await self._ask(self._draw.choice(self._channels[1:]), self._draw.choice(self._sent[-WINDOW:]))
            self.refused[ErrorCode(code).name] += 1

    async def _ask(self, channel: Channel, request: Message) -> tuple[int, Message]:
        version = _PRODUCE_VERSION if isinstance(request, ProduceRequest) else None
        response = await channel.send(request, _TIMEOUT_MS, version=version)
        if isinstance(response, ProduceResponse):
            return response.responses[0].partition_responses[0].error_code, response
        return response.error_code, response

    def figures(self) -> dict[str, object]:
        return {"records_committed": len(self.committed), "late": dict(self.refused.most_common())}
