"""What groups and transactions cost beside Apache Kafka: commits, joins, transactions, copies exactly once.

Commits, joins and transactions are raw requests of our own channel, the same for both kinds, so that what a client
library does for each of them is not measured. Copies are librdkafka's.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import count
from typing import Any

from confluent_kafka import Consumer, Producer, TopicPartition

from beside import Effort, Figure, Figures, both_kinds, in_turn, servers_of
from loads import cpu_seconds, create_topic, produce
from odradek.client.net.channel import Channel, ChannelConfig
from odradek.protocol.error_codes import ErrorCode
from odradek.protocol.error_names import error_name
from odradek.protocol.message import Message
from odradek.protocol.messages.end_txn_request import EndTxnRequest
from odradek.protocol.messages.find_coordinator_request import FindCoordinatorRequest
from odradek.protocol.messages.heartbeat_request import HeartbeatRequest
from odradek.protocol.messages.init_producer_id_request import InitProducerIdRequest
from odradek.protocol.messages.join_group_request import JoinGroupRequest, JoinGroupRequestProtocol
from odradek.protocol.messages.offset_commit_request import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from odradek.protocol.messages.produce_request import PartitionProduceData, ProduceRequest, TopicProduceData
from odradek.protocol.messages.sync_group_request import SyncGroupRequest, SyncGroupRequestAssignment
from odradek.records.builder import BatchBuilder
from rows import Row
from support.processes.nodes import Cluster

SETTINGS = {
    "group.initial.rebalance.delay.ms": "0",
    "offsets.topic.replication.factor": "1",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
}
TOPIC = "bench"
_TIMEOUT_MS = 60_000
IN_FLIGHT = (1, 50)
COMMITS = 20_000
TRANSACTIONS = 2_000
MEMBERS = 100
#: Of a group that never comes to rest nothing is told.
_JOIN_TIMEOUT_S = 120
_PROTOCOL_TYPE, _PROTOCOL_NAME = "consumer", "range"
COPIES = 200_000
COPIES_A_TRANSACTION = 2_000
#: The last versions in which topics go by their names.
_COMMIT_VERSION, _PRODUCE_VERSION = 9, 12
#: A group or a transaction is not ready yet.
_RETRY_S = 0.002
_PASSING = (
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_COORDINATOR,
    ErrorCode.CONCURRENT_TRANSACTIONS,
    ErrorCode.NOT_ENOUGH_REPLICAS,
)
_numbers = count()

Work = Callable[["Client", int], Awaitable[None]]


def run(effort: Effort) -> Iterator[Row]:
    with both_kinds(settings=SETTINGS) as clusters:
        for cluster in clusters.values():
            create_topic(servers_of(cluster), TOPIC, 1)
            asyncio.run(_warm_up(cluster))
        for in_flight in IN_FLIGHT:
            yield from in_turn(clusters, effort, partial(commits, in_flight=in_flight, effort=effort))
        for in_flight in IN_FLIGHT:
            yield from in_turn(clusters, effort, partial(transactions, in_flight=in_flight, effort=effort))
        yield from in_turn(clusters, effort, lambda cluster: copies(cluster, effort))
        yield from in_turn(clusters, effort, joins)


def commits(cluster: Cluster, in_flight: int, effort: Effort) -> Figures:
    total, group = effort.of(COMMITS), f"commits-{next(_numbers)}"
    rate = _rate(cluster, total, in_flight, lambda client, number: client.commit(group, number))
    return _counted(cluster, f"offset commits, {in_flight} in flight", total, rate)


def transactions(cluster: Cluster, in_flight: int, effort: Effort) -> Figures:
    each, name = effort.of(TRANSACTIONS) // in_flight, f"txn-{next(_numbers)}"

    async def measure() -> float:
        producers = [await _Transactional.begin(cluster, f"{name}-{place}") for place in range(in_flight)]
        started_s = time.perf_counter()
        await asyncio.gather(*(producer.transactions(each) for producer in producers))
        spent_s = time.perf_counter() - started_s
        for producer in producers:
            await producer.client.close()
        return each * in_flight / spent_s

    return _counted(cluster, f"transactions of one record, {in_flight} producers", each * in_flight, measure())


def _counted(cluster: Cluster, name: str, total: int, rate: Coroutine[None, None, float]) -> Figures:
    """Beside the rate what each costs the broker: that hardly depends on what else the machine does."""
    nodes = list(cluster.nodes.values())
    before_s = cpu_seconds(nodes)
    found = {name: Figure(asyncio.run(rate), "a second", is_rate=True)}
    each_us = (cpu_seconds(nodes) - before_s) / total * 1_000_000
    return {**found, f"{name}, processor time of the broker each": Figure(each_us, "µs")}


def joins(cluster: Cluster) -> Figures:
    """Until all have the same generation and their assignment."""

    async def measure() -> float:
        group = f"joins-{next(_numbers)}"
        members = [_Member(Client(cluster), group) for _ in range(MEMBERS)]
        for member in members:
            await member.client.open()
        started_s = time.perf_counter()
        tasks = [asyncio.ensure_future(member.live()) for member in members]
        resting = asyncio.ensure_future(_at_rest(members))
        async with asyncio.timeout(_JOIN_TIMEOUT_S):
            ended, _ = await asyncio.wait((resting, *tasks), return_when=asyncio.FIRST_COMPLETED)
        for task in ended:
            task.result()  # a member that was refused says why
        spent_s = time.perf_counter() - started_s
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)
        for member in members:
            await member.client.close()
        return spent_s

    return {f"{MEMBERS} members join a group": Figure(asyncio.run(measure()) * 1_000, "ms")}


async def _at_rest(members: Sequence["_Member"]) -> None:
    while {member.generation for member in members} != {members[0].generation} or not members[0].generation:
        await asyncio.sleep(_RETRY_S)


def copies(cluster: Cluster, effort: Effort) -> Figures:
    """librdkafka reads, writes, and commits what it has read, in transactions."""
    servers, number, total = servers_of(cluster), next(_numbers), effort.of(COPIES)
    source, target = f"source-{number}", f"target-{number}"
    for topic in (source, target):
        create_topic(servers, topic, 1)
    produce(servers, source, total, 100, "all", list(cluster.nodes.values()))
    consumer = Consumer({"bootstrap.servers": servers, "group.id": source, "enable.auto.commit": False})
    consumer.assign([TopicPartition(source, 0, 0)])
    producer = Producer({"bootstrap.servers": servers, "transactional.id": source, "linger.ms": 5})
    producer.init_transactions(60)
    started_s, copied = time.perf_counter(), 0
    while copied < total:
        producer.begin_transaction()
        taken = 0
        while taken < min(COPIES_A_TRANSACTION, total - copied):
            for message in consumer.consume(COPIES_A_TRANSACTION - taken, 1):
                producer.produce(target, message.value())
                taken += 1
        position = consumer.position(consumer.assignment())
        producer.send_offsets_to_transaction(position, consumer.consumer_group_metadata(), 60)
        producer.commit_transaction(60)
        copied += taken
    rate = copied / (time.perf_counter() - started_s)
    consumer.close()
    return {"records of 100 B copied exactly once (librdkafka)": Figure(rate, "a second", is_rate=True)}


async def _rate(cluster: Cluster, total: int, in_flight: int, work: Work) -> float:
    """Each on a connection of its own, as consumers are: a broker answers those of one connection in turn."""
    clients = [Client(cluster) for _ in range(in_flight)]
    for client in clients:
        await client.open()
    left = iter(range(total))

    async def worker(client: Client) -> None:
        for number in left:
            await work(client, number)

    started_s = time.perf_counter()
    await asyncio.gather(*map(worker, clients))
    spent_s = time.perf_counter() - started_s
    for client in clients:
        await client.close()
    return total / spent_s


async def _warm_up(cluster: Cluster) -> None:
    """Both internal topics are there, and their partitions have leaders."""
    client = Client(cluster)
    await client.open()
    for kind in (0, 1):
        request = FindCoordinatorRequest(key_type=kind, coordinator_keys=["x"])
        while (await client.send(request)).coordinators[0].error_code:
            await asyncio.sleep(0.1)
    for number in range(2_000):
        await client.commit("warm", number)
    await client.close()


class Client:
    def __init__(self, cluster: Cluster) -> None:
        host, _, port = servers_of(cluster).partition(":")
        self._channel = Channel(host, int(port), ChannelConfig(client_id="bench"))

    async def open(self) -> None:
        await self._channel.connect()

    async def close(self) -> None:
        await self._channel.close()

    async def send(self, request: Message, version: int | None = None) -> Any:
        return await self._channel.send(request, _TIMEOUT_MS, version=version)

    async def commit(self, group: str, offset: int) -> None:
        partition = OffsetCommitRequestPartition(partition_index=0, committed_offset=offset, committed_metadata="")
        request = OffsetCommitRequest(
            group_id=group, topics=[OffsetCommitRequestTopic(name=TOPIC, partitions=[partition])]
        )
        while True:
            response = await self.send(request, _COMMIT_VERSION)
            code = response.topics[0].partitions[0].error_code
            if code not in _PASSING:
                break
            await asyncio.sleep(_RETRY_S)
        assert code == 0, code


@dataclass(slots=True)
class _Transactional:
    client: Client
    name: str
    producer_id: int
    producer_epoch: int

    @classmethod
    async def begin(cls, cluster: Cluster, name: str) -> "_Transactional":
        client = Client(cluster)
        await client.open()
        request = InitProducerIdRequest(transactional_id=name, transaction_timeout_ms=60_000)
        while (response := await client.send(request)).error_code in _PASSING:
            await asyncio.sleep(_RETRY_S)
        assert response.error_code == 0
        return cls(client, name, response.producer_id, response.producer_epoch)

    async def transactions(self, total: int) -> None:
        for _ in range(total):
            await self._produce()
            await self._end()

    async def _produce(self) -> None:
        builder = BatchBuilder(
            producer_id=self.producer_id, producer_epoch=self.producer_epoch, base_sequence=0, is_transactional=True
        )
        builder.append(int(time.time() * 1_000), None, bytes(100))
        records = bytes(builder.build())
        data = [TopicProduceData(name=TOPIC, partition_data=[PartitionProduceData(index=0, records=records)])]
        request = ProduceRequest(transactional_id=self.name, acks=-1, timeout_ms=_TIMEOUT_MS, topic_data=data)
        while True:
            response = await self.client.send(request, _PRODUCE_VERSION)
            code = response.responses[0].partition_responses[0].error_code
            if code not in _PASSING:
                break
            await asyncio.sleep(_RETRY_S)
        assert code == 0, code

    async def _end(self) -> None:
        request = EndTxnRequest(
            transactional_id=self.name,
            producer_id=self.producer_id,
            producer_epoch=self.producer_epoch,
            committed=True,
        )
        while (response := await self.client.send(request)).error_code in _PASSING:
            await asyncio.sleep(_RETRY_S)
        assert response.error_code == 0, response.error_code
        self.producer_id, self.producer_epoch = response.producer_id, response.producer_epoch


class _Member:
    """Joins, syncs, and joins again as long as the group changes."""

    def __init__(self, client: Client, group: str) -> None:
        self.client = client
        self.generation = 0
        self._group = group
        self._member_id = ""

    async def live(self) -> None:
        while True:
            joined = await self._join()
            assignments = [
                SyncGroupRequestAssignment(member_id=member.member_id, assignment=b"x") for member in joined.members
            ]
            request = SyncGroupRequest(
                group_id=self._group,
                generation_id=joined.generation_id,
                member_id=self._member_id,
                protocol_type=_PROTOCOL_TYPE,
                protocol_name=_PROTOCOL_NAME,
                assignments=assignments,
            )
            if (await self._ask(request, ErrorCode.REBALANCE_IN_PROGRESS)).error_code == 0:
                self.generation = joined.generation_id
                await self._until_rebalance(joined.generation_id)

    async def _join(self) -> Any:
        while True:
            request = JoinGroupRequest(
                group_id=self._group,
                session_timeout_ms=30_000,
                rebalance_timeout_ms=30_000,
                member_id=self._member_id,
                protocol_type=_PROTOCOL_TYPE,
                protocols=[JoinGroupRequestProtocol(name=_PROTOCOL_NAME, metadata=b"x")],
            )
            joined = await self._ask(request, ErrorCode.MEMBER_ID_REQUIRED)
            self._member_id = joined.member_id
            if joined.error_code == 0:
                return joined

    async def _until_rebalance(self, generation: int) -> None:
        request = HeartbeatRequest(group_id=self._group, generation_id=generation, member_id=self._member_id)
        while (await self._ask(request, ErrorCode.REBALANCE_IN_PROGRESS)).error_code == 0:
            await asyncio.sleep(0.05)

    async def _ask(self, request: Message, usual: ErrorCode) -> Any:
        """The answer, which may be the usual error. After any other the group would never come to rest."""
        response = await self.client.send(request)
        assert response.error_code in (ErrorCode.NONE, usual), (
            f"{type(request).__name__}: {error_name(response.error_code)}"
        )
        return response
