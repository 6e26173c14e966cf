"""Client ids, group ids and transactional ids that hold line breaks and escape sequences: a node's log and the commands
show them escaped."""

import asyncio
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from odradek.cli.app import run
from odradek.client.consumer.consumer import Consumer
from odradek.client.net.channel import Channel, ChannelConfig
from odradek.client.producer.producer import Producer
from odradek.common.failures import ProtocolError
from odradek.protocol.messages.metadata_request import MetadataRequest
from support.processes.cli import Command
from support.processes.nodes import OURS, Cluster, Node, NodeSpec
from support.waiting import wait_until

pytestmark = pytest.mark.slow

HOSTILE = "x\n2026-01-01 00:00:00.000 node 1 ERROR    raft: forged\x00\x7f\x1b[31m\u202e\u2028[red]"
SHOWN = r"x\n2026-01-01 00:00:00.000 node 1 ERROR    raft: forged\x00\x7f\x1b[31m\u202e\u2028[red]"
TOPIC = "orders"
WAIT_S = 60
SETTINGS = {"group.initial.rebalance.delay.ms": "0"}


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Node]:
    root: Path = tmp_path_factory.mktemp("foreign")
    with Cluster(root, [NodeSpec(1, OURS, "broker,controller", settings=SETTINGS)]) as cluster:
        cluster.start()
        wait_until(lambda: answers(cluster[1]), "it answers", WAIT_S, cluster[1].log_tail)
        asyncio.run(use_names(cluster[1].broker_address))
        yield cluster[1]


def answers(node: Node) -> bool:
    async def ask() -> bool:
        channel = Channel(node.host, node.broker_port, ChannelConfig(client_id=HOSTILE))
        try:
            response = await channel.send(MetadataRequest(topics=[]), 5_000)
            return bool(getattr(response, "brokers", None))
        except (OSError, ProtocolError):
            return False
        finally:
            await channel.close()

    return asyncio.run(ask())


async def use_names(address: str) -> None:
    common = {"bootstrap.servers": address, "client.id": HOSTILE}
    async with Producer({**common, "transactional.id": HOSTILE}) as producer, producer.transaction():
        await producer.send(TOPIC, HOSTILE.encode(), key=HOSTILE.encode(), headers=[(HOSTILE, b"h")])
    config = {**common, "group.id": HOSTILE, "auto.offset.reset": "earliest", "isolation.level": "read_committed"}
    async with Consumer(config) as consumer:
        consumer.subscribe([TOPIC])
        records = []
        while not records:
            records = await consumer.poll(1_000)
        await consumer.commit()


@pytest.fixture
def odradek(node: Node, capsys: pytest.CaptureFixture[str]) -> Command:
    return Command(capsys, node.broker_address)


def test_the_log_of_a_node_has_no_forged_line(node: Node) -> None:
    wait_until(lambda: SHOWN in node.log_text(), "the transactional id is logged", WAIT_S, node.log_tail)
    assert not [line for line in node.log_text().split("\n") if line.startswith("2026-01-01 00:00:00.000")]
    assert all(line.isprintable() for line in node.log_text().split("\n"))


@pytest.mark.parametrize(
    "arguments",
    [
        ("groups", "list"),
        ("groups", "describe", HOSTILE),
        ("groups", "describe", HOSTILE, "--members"),
        ("transactions", "list"),
        ("transactions", "describe", HOSTILE),
    ],
    ids=lambda arguments: "-".join(arguments[:2]),
)
def test_commands_show_names_escaped(odradek: Command, arguments: tuple[str, ...]) -> None:
    text = odradek.do(*arguments)
    assert all(line.isprintable() for line in text.split("\n"))
    assert "forged" in text and not [line for line in text.split("\n") if line.startswith("2026-01-01")]
    documents = odradek.do(*arguments, "--format", "json")
    assert documents.rstrip("\n").isprintable() and SHOWN in str(json.loads(documents))


def test_an_error_about_a_name_is_one_line(odradek: Command) -> None:
    answer = odradek.say("groups", "describe", HOSTILE + "none")
    assert answer.status == 1
    assert all(line.isprintable() for line in answer.err.split("\n"))


def test_records_are_written_as_they_are_to_a_pipe(node: Node) -> None:
    arguments = [sys.executable, "-m", "odradek.cli.main", "consume", TOPIC, "-n", "1"]
    done = subprocess.run([*arguments, "-b", node.broker_address], capture_output=True, check=True, timeout=WAIT_S)
    assert done.stdout == HOSTILE.encode() + b"\n"


def test_a_dump_of_a_log_shows_headers_escaped(node: Node, capsys: pytest.CaptureFixture[str]) -> None:
    segments = [str(path) for path in node.data.rglob(f"{TOPIC}-0/*.log")]
    assert run(["log", "dump", *segments]) == 0
    text = capsys.readouterr().out
    assert SHOWN in text and all(line.isprintable() for line in text.split("\n"))
