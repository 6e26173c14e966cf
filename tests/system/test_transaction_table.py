"""One table of transactional requests, in every state of a transactional id and by the right producer and wrong ones,
sent to a coordinator of ours and to one of Apache Kafka's: the same error codes, producer ids, epochs and states.

Each request is sent twice, since a client repeats what was not answered; then the transaction is described.
"""

import asyncio
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from odradek.client.net.channel import Channel
from odradek.common.ids import TopicPartition
from odradek.errors import Disconnected
from odradek.protocol.error_codes import ErrorCode
from odradek.protocol.error_names import error_name
from odradek.protocol.message import Message
from odradek.protocol.messages.broker_heartbeat_request import BrokerHeartbeatRequest
from odradek.protocol.messages.broker_registration_request import Listener
from odradek.protocol.messages.create_topics_request import CreateTopicsRequest
from odradek.protocol.messages.describe_transactions_request import DescribeTransactionsRequest
from odradek.protocol.messages.find_coordinator_request import FindCoordinatorRequest
from odradek.protocol.messages.init_producer_id_request import InitProducerIdRequest
from odradek.protocol.messages.metadata_request import MetadataRequest, MetadataRequestTopic
from support.builders.controller import registration, topic
from support.figures import report
from support.processes.nodes import HOST, Cluster, Kind, NodeSpec
from support.processes.nodes_quorum import CHANNEL_CONFIG
from system.conversations.transactions import FIRST_PRODUCER_ID, LIVE, STUCK, Case, cases, state_log

pytestmark = [pytest.mark.slow, pytest.mark.peer]

TIMEOUT_S = 120
_TIMEOUT_MS = 60_000
#: Requests that one connection may have in flight.
_AT_ONCE = CHANNEL_CONFIG.in_flight_max
ABSENT_BROKER = 2
#: Nobody listens there.
_CLOSED_PORT = 1
_PASSING = (ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, ErrorCode.COORDINATOR_NOT_AVAILABLE)
SETTINGS = {
    "transaction.state.log.num.partitions": "1",
    "offsets.topic.num.partitions": "1",
    "auto.create.topics.enable": "false",
    # The absent broker stays unfenced without a heartbeat.
    "broker.session.timeout.ms": "600000",
}


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Cluster]]:
    """A cluster of ours and one of Apache Kafka's, whose coordinators have loaded the states of all cases."""
    root = tmp_path_factory.mktemp("transactions")
    clusters = [
        Cluster(root / kind.value, [NodeSpec(1, kind, roles="broker,controller")], settings=SETTINGS)
        for kind in (Kind.ODRADEK, Kind.KAFKA)
    ]
    with clusters[0], clusters[1]:
        for cluster in clusters:
            cluster.start()
        for cluster in clusters:
            asyncio.run(create_partitions(cluster))
            cluster[1].begin_stop()
        for cluster in clusters:
            cluster[1].end_stop()
            write_states(cluster[1].data)
            cluster.start()
        for cluster in clusters:
            asyncio.run(until_loaded(cluster))
        yield clusters


def write_states(data: Path) -> None:
    log = data / "__transaction_state-0" / f"{0:020}.log"
    assert not log.exists() or log.stat().st_size == 0
    log.write_bytes(state_log(round(time.time() * 1000)))
    # Then the log is recovered, and what was written is found.
    (data / ".kafka_cleanshutdown").unlink()


async def create_partitions(cluster: Cluster) -> None:
    """Topic `stuck` is on a broker that registers and takes no connection, so markers cannot be written to it."""
    controller = Channel(HOST, cluster[1].controller_port, CHANNEL_CONFIG)
    broker = Channel(HOST, cluster[1].broker_port, CHANNEL_CONFIG)
    try:
        await until_answered(cluster, broker, MetadataRequest(topics=[]), lambda said: bool(said.brokers))
        # Before there is another broker that their partitions could be placed on.
        for key_type in (0, 1):
            find = FindCoordinatorRequest(key_type=key_type, coordinator_keys=["any"])
            await until_answered(cluster, broker, find, lambda said: not said.coordinators[0].error_code)
        listener = Listener(name="PLAINTEXT", host=HOST, port=_CLOSED_PORT, security_protocol=0)
        register = registration(ABSENT_BROKER, cluster_id=cluster.cluster_id, listeners=[listener])
        registered = await controller.send(register, _TIMEOUT_MS)
        beat = {"broker_id": ABSENT_BROKER, "broker_epoch": registered.broker_epoch, "current_metadata_offset": 10**6}
        # The second one says again that it has all metadata, which a broker that stops waits for.
        for _ in range(2):
            await controller.send(BrokerHeartbeatRequest(**beat), _TIMEOUT_MS)
        topics = [topic(LIVE.topic, [[1]]), topic(STUCK.topic, [[ABSENT_BROKER]])]
        created = await controller.send(CreateTopicsRequest(topics=topics, timeout_ms=_TIMEOUT_MS), _TIMEOUT_MS)
        assert [one.error_code for one in created.topics] == [0, 0], created
        await until_answered(cluster, broker, leaders(STUCK, LIVE), lambda said: leader_ids(said) == [1, 2])
        state = TopicPartition("__transaction_state", 0)
        await until_answered(cluster, broker, leaders(state), lambda said: leader_ids(said) == [1])
        # Whoever answers for the id, even by refusing it, has loaded the partition.
        refused = InitProducerIdRequest(transactional_id="any", transaction_timeout_ms=0)
        await until_answered(
            cluster, broker, refused, lambda said: said.error_code == ErrorCode.INVALID_TRANSACTION_TIMEOUT
        )
    finally:
        await controller.close()
        await broker.close()


async def until_loaded(cluster: Cluster) -> None:
    broker = Channel(HOST, cluster[1].broker_port, CHANNEL_CONFIG)
    try:
        one = next(case.transactional_id for case in cases() if case.state is not None)
        request = DescribeTransactionsRequest(transactional_ids=[one])
        await until_answered(cluster, broker, request, lambda said: said.transaction_states[0].error_code == 0)
        await until_answered(cluster, broker, leaders(LIVE), lambda said: leader_ids(said) == [1])
        find = FindCoordinatorRequest(key_type=0, coordinator_keys=["any"])
        await until_answered(cluster, broker, find, lambda said: not said.coordinators[0].error_code)
    finally:
        await broker.close()


def leaders(*partitions: TopicPartition) -> MetadataRequest:
    return MetadataRequest(topics=[MetadataRequestTopic(name=partition.topic) for partition in partitions])


def leader_ids(response: Any) -> list[int]:
    return sorted(partition.leader_id for one in response.topics for partition in one.partitions)


async def until_answered(cluster: Cluster, channel: Channel, request: Message, is_right: Any) -> Any:
    async with asyncio.timeout(TIMEOUT_S):
        while True:
            cluster.check_alive()
            try:
                response = await channel.send(request, _TIMEOUT_MS)
                if is_right(response):
                    return response
            except Disconnected:
                pass
            await asyncio.sleep(0.05)


async def fill_in(cluster: Cluster) -> dict[str, Any]:
    channel = Channel(HOST, cluster[1].broker_port, CHANNEL_CONFIG)
    table: dict[str, Any] = {}
    waiting = iter(list(cases()))

    async def work() -> None:
        for case in waiting:
            async with asyncio.timeout(TIMEOUT_S):
                table[case.name] = await answers(channel, case)

    try:
        await asyncio.gather(*(work() for _ in range(_AT_ONCE)))
    finally:
        await channel.close()
    return table


async def answers(channel: Channel, case: Case) -> list[str]:
    first = await answer(channel, case, ())
    # A transaction whose markers can be written is complete soon.
    passing = () if case.state is not None and case.state.is_stuck else (ErrorCode.CONCURRENT_TRANSACTIONS,)
    return [first, await answer(channel, case, passing), await description(channel, case)]


async def answer(channel: Channel, case: Case, passing: tuple[int, ...]) -> str:
    while True:
        response: Any = await channel.send(case.request, _TIMEOUT_MS, version=case.version)
        codes = sorted(codes_of(response))
        if not {*_PASSING, *passing}.intersection(codes):
            producer_id, epoch = getattr(response, "producer_id", -1), getattr(response, "producer_epoch", -1)
            return f"{','.join(map(error_name, codes))} {shown_id(producer_id)} {epoch}"
        await asyncio.sleep(0.02)


async def description(channel: Channel, case: Case) -> str:
    is_stuck = case.state is not None and case.state.is_stuck
    while True:
        response: Any = await channel.send(
            DescribeTransactionsRequest(transactional_ids=[case.transactional_id]), _TIMEOUT_MS
        )
        (one,) = response.transaction_states
        if is_stuck or not one.transaction_state.startswith("Prepare"):
            partitions = [(item.topic, item.partitions) for item in one.topics]
            state = f"{error_name(one.error_code)} {one.transaction_state}"
            return f"{state} {shown_id(one.producer_id)} {one.producer_epoch} {sorted(partitions)}"
        await asyncio.sleep(0.02)


def codes_of(message: Message) -> Iterator[int]:
    """All error codes of a response: of the response itself, its transactions, topics and partitions."""
    for name in message.field_names():
        value = getattr(message, name)
        if name in ("error_code", "partition_error_code"):
            yield value
        elif isinstance(value, list):
            for item in value:
                yield from codes_of(item)


def shown_id(producer_id: int) -> str:
    """Ids that the brokers allocate are not the same."""
    return "a new id" if 0 <= producer_id < FIRST_PRODUCER_ID else str(producer_id)


def test_the_same_requests_have_the_same_answers_in_every_state(both: list[Cluster]) -> None:
    async def of_both() -> list[dict[str, Any]]:
        return await asyncio.gather(*(fill_in(cluster) for cluster in both))

    ours, kafkas = asyncio.run(of_both())
    differing = {name: (ours[name], kafkas[name]) for name in ours if ours[name] != kafkas[name]}
    assert differing == {}
    report("transactions: answers like Apache Kafka's in every state", cases=len(ours))
