"""Nodes inside the test's own process, on free ports, formatted in a temporary directory."""

from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from odradek.client.net.channel import Channel
from odradek.common.files import OsFileSystem
from odradek.common.ports import FileSystem
from odradek.common.uuids import random_uuid
from odradek.metadata.features.feature_versions import supported_features
from odradek.protocol.message import Message
from odradek.protocol.messages.broker_heartbeat_request import BrokerHeartbeatRequest
from odradek.protocol.messages.broker_registration_request import BrokerRegistrationRequest, Feature, Listener
from odradek.protocol.messages.create_topics_request import CreatableTopic, CreateTopicsRequest
from odradek.server.config.server_config import ServerConfig, load_server_config
from odradek.server.node import Node
from odradek.server.storage.format import FormatRequest, plan_format, run_format
from support.processes.network import PATIENCE_S
from support.processes.ports import free_ports

CLUSTER_ID = "bSXPc0xJod0nPk2Pq19b2w"
PATIENCE_MS = PATIENCE_S * 1000

#: Of a broker that is only pretended.
FAKE_BROKER = 100


def write_properties(directory: Path, node_id: int, roles: str, quorum: str, ports: Iterable[int], **more: Any) -> Path:
    """`quorum` is the line that says where the controllers are. Keyword `a_b=1` becomes `a.b=1`."""
    names = {"broker": "PLAINTEXT", "controller": "CONTROLLER"}
    listeners = [f"{names[role]}://127.0.0.1:{port}" for role, port in zip(roles.split(","), ports, strict=True)]
    lines = [
        f"process.roles={roles}",
        f"node.id={node_id}",
        f"listeners={','.join(listeners)}",
        "controller.listener.names=CONTROLLER",
        quorum,
        f"log.dirs={directory}/data{node_id}",
        *(f"{key.replace('_', '.')}={value}" for key, value in more.items()),
    ]
    path = directory / f"node{node_id}.properties"
    path.write_text("\n".join(lines))
    return path


def format_node(path: Path, *, standalone: bool = False) -> ServerConfig:
    files = OsFileSystem()
    config = load_server_config(files, str(path))
    run_format(files, plan_format(files, config, FormatRequest(CLUSTER_ID, standalone=standalone), random_uuid), 0)
    return config


def controller_config(directory: Path, **more: Any) -> ServerConfig:
    """One controller that is the whole quorum."""
    (port,) = free_ports(1)
    quorum = f"controller.quorum.bootstrap.servers=127.0.0.1:{port}"
    return format_node(write_properties(directory, 1, "controller", quorum, [port], **more), standalone=True)


def combined_config(directory: Path, **more: Any) -> ServerConfig:
    broker, controller = free_ports(2)
    quorum = f"controller.quorum.bootstrap.servers=127.0.0.1:{controller}"
    path = write_properties(directory, 1, "broker,controller", quorum, [broker, controller], **more)
    return format_node(path, standalone=True)


def three_controllers(directory: Path, **more: Any) -> list[ServerConfig]:
    """With static voters."""
    ports = free_ports(3)
    voters = ",".join(f"{index}@127.0.0.1:{port}" for index, port in enumerate(ports, 1))
    quorum = f"controller.quorum.voters={voters}"
    return [
        format_node(write_properties(directory, index, "controller", quorum, [port], **more))
        for index, port in enumerate(ports, 1)
    ]


@asynccontextmanager
async def running(config: ServerConfig, files: FileSystem | None = None) -> AsyncIterator[Node]:
    node = Node(config, files=files)
    await node.start()
    try:
        yield node
    finally:
        await node.stop()


@asynccontextmanager
async def talking_to(node: Node, name: str = "CONTROLLER") -> AsyncIterator[Channel]:
    channel = Channel("127.0.0.1", node.listeners.ports[name])
    try:
        yield channel
    finally:
        await channel.close()


async def ask(node: Node, request: Message, name: str = "CONTROLLER") -> Any:
    async with talking_to(node, name) as channel:
        return await channel.send(request, PATIENCE_MS)


async def register_fake_broker(node: Node) -> int:
    """Registered and unfenced; its epoch. Nobody keeps it alive: it lives for one session."""
    request = BrokerRegistrationRequest(
        broker_id=FAKE_BROKER,
        cluster_id=CLUSTER_ID,
        incarnation_id=random_uuid(),
        listeners=[Listener(name="PLAINTEXT", host="localhost", port=1)],
        features=[
            Feature(name=name, min_supported_version=levels.min, max_supported_version=levels.max)
            for name, levels in supported_features().items()
        ],
        log_dirs=[random_uuid()],
    )
    registered = await ask(node, request)
    assert registered.error_code == 0, registered
    epoch = int(registered.broker_epoch)
    beat = BrokerHeartbeatRequest(broker_id=FAKE_BROKER, broker_epoch=epoch, current_metadata_offset=epoch)
    answered = await ask(node, beat)
    assert answered.error_code == 0 and not answered.is_fenced, answered
    return epoch


def create_topics(*names: str, partitions: int = 1) -> CreateTopicsRequest:
    topics = [CreatableTopic(name=name, num_partitions=partitions, replication_factor=1) for name in names]
    return CreateTopicsRequest(topics=topics, timeout_ms=PATIENCE_MS)
