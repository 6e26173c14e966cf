"""Controllers as processes, ours or Apache Kafka's, and the requests that benchmarks time at them.

Everything goes over the wire with the same client, and both kinds get the same settings; Apache Kafka's JVM gets the
flags of its distribution.
"""

import asyncio
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import odradek
from odradek.client.net.channel import Channel, ChannelConfig
from odradek.common.failures import ApiError
from odradek.common.uuids import random_uuid
from odradek.metadata.features.feature_versions import supported_features
from odradek.protocol.error_codes import ErrorCode
from odradek.protocol.message import Message
from odradek.protocol.messages.alter_client_quotas_request import (
    AlterClientQuotasRequest,
    EntityData,
    EntryData,
    OpData,
)
from odradek.protocol.messages.broker_heartbeat_request import BrokerHeartbeatRequest
from odradek.protocol.messages.broker_registration_request import BrokerRegistrationRequest, Feature, Listener
from odradek.protocol.messages.describe_quorum_request import DescribeQuorumRequest, PartitionData, TopicData
from support.processes.nodes import HOST, Cluster, Kind, Node, NodeSpec
from timing import scratch_directory

KINDS = (Kind.ODRADEK, Kind.KAFKA)

_KAFKA_FLAGS = (
    *("-Xmx1G", "-Xms1G", "-server", "-XX:+UseG1GC", "-XX:MaxGCPauseMillis=20"),
    *("-XX:InitiatingHeapOccupancyPercent=35", "-XX:+ExplicitGCInvokesConcurrent", "-Djava.awt.headless=true"),
)

#: A node that starts is asked this often; more often would take the core that it needs.
_PAUSE_S = 0.005
_CHANNEL = ChannelConfig(client_id="bench", reconnect_backoff_ms=5, reconnect_backoff_max_ms=10)

#: A node that has not answered after so long never will.
_START_TIMEOUT_S = 120
#: Longer than anything that is measured.
ANSWER_TIMEOUT_MS = 120_000
#: While a leader is being looked for: one that has just died may leave a request without an answer.
_LOOK_TIMEOUT_MS = 1_000

#: A follower is behind by what came since its last fetch.
_CLOSE_RECORDS = 3

#: Apache Kafka's brokers do it as often.
_HEARTBEAT_S = 2
#: "Everything": a broker that has not read up to its own registration stays fenced.
_ALL_METADATA = 2**40

FAKE_BROKER_IDS = (100, 101, 102)


def spec(
    kind: Kind, node_id: int = 1, roles: str = "controller", settings: Mapping[str, str] | None = None
) -> NodeSpec:
    return NodeSpec(node_id, kind, roles, settings or {}, java_flags=_KAFKA_FLAGS)


@contextmanager
def bytecode() -> Iterator[None]:
    """Nodes of ours start with their bytecode at hand, as installed packages do, whatever the environment says."""
    before = dict(os.environ)
    with tempfile.TemporaryDirectory(prefix="odradek-bench-", dir=scratch_directory()) as directory:
        os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
        os.environ["PYTHONPYCACHEPREFIX"] = directory
        try:
            subprocess.run([sys.executable, "-m", "compileall", "-q", *odradek.__path__], check=True)
            yield
        finally:
            os.environ.clear()
            os.environ.update(before)


@contextmanager
def cluster_of(*specs: NodeSpec) -> Iterator[Cluster]:
    """Formatted, not started."""
    with (
        tempfile.TemporaryDirectory(prefix="odradek-bench-", dir=scratch_directory()) as directory,
        Cluster(Path(directory), specs) as cluster,
    ):
        yield cluster


def quorum_of(kind: Kind, controllers: int, settings: Mapping[str, str] | None = None) -> list[NodeSpec]:
    return [spec(kind, node_id, settings=settings) for node_id in range(1, controllers + 1)]


class Client:
    """Asks every controller of a cluster, and its brokers."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self._channels: dict[int, Channel] = {}
        self._changes = 0

    async def close(self) -> None:
        for channel in self._channels.values():
            await channel.close()

    async def ask(self, port: int, request: Message) -> Any:
        """The answer, None if there is none."""
        channel = self._channels.get(port)
        if channel is None:
            channel = self._channels[port] = Channel(HOST, port, _CHANNEL)
        try:
            return await channel.send(request, _LOOK_TIMEOUT_MS)
        except ApiError:
            return None

    async def leader(self) -> Node:
        """The controller that says it leads, and then takes a change."""
        deadline_s = time.monotonic() + _START_TIMEOUT_S
        while time.monotonic() < deadline_s:
            self.cluster.check_alive()
            for node in self.cluster.running_controllers():
                if await self._leads(node) and await self.change(node):
                    return node
            await asyncio.sleep(_PAUSE_S)
        raise AssertionError(f"no controller leads after {_START_TIMEOUT_S} s")

    async def change(self, node: Node) -> bool:
        """One small change of the metadata; whether it was acknowledged. No two changes are alike."""
        self._changes += 1
        operation = OpData(key="producer_byte_rate", value=float(self._changes))
        entry = EntryData(entity=[EntityData(entity_type="user", entity_name="bench")], ops=[operation])
        answer = await self.ask(node.controller_port, AlterClientQuotasRequest(entries=[entry]))
        return answer is not None and answer.entries[0].error_code == 0

    async def is_followed(self, leader: Node) -> bool:
        """Whether every voter has the leader's log but for the last moment."""
        described = await self._described(leader)
        if described is None:
            return False
        ends = [voter.log_end_offset for voter in described.current_voters]
        return bool(min(ends) > max(ends) - _CLOSE_RECORDS)

    async def until(self, port: int, request: Message, is_wanted: Callable[[Any], bool]) -> None:
        deadline_s = time.monotonic() + _START_TIMEOUT_S
        while time.monotonic() < deadline_s:
            self.cluster.check_alive()
            answer = await self.ask(port, request)
            if answer is not None and is_wanted(answer):
                return
            await asyncio.sleep(_PAUSE_S if answer is None else 0)
        raise AssertionError(f"no such answer to {request} after {_START_TIMEOUT_S} s")

    async def _leads(self, node: Node) -> bool:
        described = await self._described(node)
        return described is not None and described.leader_id == node.id

    async def _described(self, node: Node) -> Any:
        """None if the node does not lead."""
        topic = TopicData(topic_name="__cluster_metadata", partitions=[PartitionData(partition_index=0)])
        answer = await self.ask(node.controller_port, DescribeQuorumRequest(topics=[topic]))
        if answer is None or answer.error_code or answer.topics[0].partitions[0].error_code:
            return None
        return answer.topics[0].partitions[0]


@asynccontextmanager
async def client_of(cluster: Cluster) -> AsyncIterator[Client]:
    client = Client(cluster)
    try:
        yield client
    finally:
        await client.close()


class FakeBroker:
    """Somebody to place replicas on: registered, unfenced, and never in a hurry for an answer."""

    def __init__(self, cluster: Cluster, leader: Node, broker_id: int) -> None:
        self._id = broker_id
        self._cluster_id = cluster.cluster_id
        self._channel = Channel(HOST, leader.controller_port, _CHANNEL)

    async def register(self) -> int:
        """Its epoch."""
        features = [
            Feature(name=name, min_supported_version=levels.min, max_supported_version=levels.max)
            for name, levels in supported_features().items()
        ]
        request = BrokerRegistrationRequest(
            broker_id=self._id,
            cluster_id=self._cluster_id,
            incarnation_id=random_uuid(),
            listeners=[Listener(name="PLAINTEXT", host=HOST, port=1, security_protocol=0)],
            features=features,
            rack=None,
            log_dirs=[random_uuid()],
        )
        answer = await self._channel.send(request, ANSWER_TIMEOUT_MS)
        assert answer.error_code == 0, f"the broker was not registered: {ErrorCode(answer.error_code).name}"
        return int(answer.broker_epoch)

    async def heartbeat(self, epoch: int) -> bool:
        """Whether it is unfenced."""
        request = BrokerHeartbeatRequest(broker_id=self._id, broker_epoch=epoch, current_metadata_offset=_ALL_METADATA)
        answer = await self._channel.send(request, ANSWER_TIMEOUT_MS)
        assert answer.error_code == 0, f"a heartbeat was refused: {ErrorCode(answer.error_code).name}"
        return not answer.is_fenced

    async def live(self, epoch: int) -> None:
        while True:
            await asyncio.sleep(_HEARTBEAT_S)
            await self.heartbeat(epoch)

    async def close(self) -> None:
        await self._channel.close()


@asynccontextmanager
async def fake_brokers(cluster: Cluster, leader: Node, count: int) -> AsyncIterator[None]:
    """As long as the block lasts."""
    brokers = [FakeBroker(cluster, leader, broker_id) for broker_id in FAKE_BROKER_IDS[:count]]
    lives = []
    try:
        for broker in brokers:
            epoch = await broker.register()
            while not await broker.heartbeat(epoch):
                await asyncio.sleep(_PAUSE_S)
            lives.append(asyncio.ensure_future(broker.live(epoch)))
        yield
    finally:
        for life in lives:
            life.cancel()
        await asyncio.gather(*lives, return_exceptions=True)
        for broker in brokers:
            await broker.close()


class Connections:
    """As many connections to one node as requests may be on their way: Apache Kafka answers those of one connection
    one after the other."""

    def __init__(self, node: Node, count: int) -> None:
        self._channels = [Channel(HOST, node.controller_port, _CHANNEL) for _ in range(count)]

    async def connect(self) -> None:
        await asyncio.gather(*(channel.connect() for channel in self._channels))

    async def close(self) -> None:
        for channel in self._channels:
            await channel.close()

    async def send_all(self, requests: list[Message]) -> list[Any]:
        """Each on the next connection that is free. The answers, in no order."""
        waiting = iter(requests)
        answers: list[Any] = []

        async def work(channel: Channel) -> None:
            for request in waiting:
                answers.append(await channel.send(request, ANSWER_TIMEOUT_MS))

        await asyncio.gather(*(work(channel) for channel in self._channels))
        return answers


def check_accepted(results: list[Any]) -> None:
    for result in results:
        assert result.error_code == 0, f"{ErrorCode(result.error_code).name}: {result.error_message}"


def resident_bytes(node: Node) -> int:
    assert node.process is not None
    status = Path(f"/proc/{node.process.pid}/status").read_text()
    fields: Mapping[str, str] = dict(line.split(":", 1) for line in status.splitlines())
    return int(fields["VmRSS"].split()[0]) * 1024
