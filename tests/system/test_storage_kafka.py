"""Directories that we format and directories that Apache Kafka formats are the same."""

import asyncio
import re
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from odradek.cli.app import run
from odradek.client.net.channel import Channel
from odradek.errors import Disconnected
from odradek.protocol.messages.metadata_request import MetadataRequest
from support import vectors
from support.peers import kafka_tools
from support.peers.kafka_node import kafka_node
from support.processes.nodes import HOST, node_on
from support.processes.nodes_quorum import CHANNEL_CONFIG
from support.processes.storage import CLUSTER_ID, read_checkpoint, tree, write_config

pytestmark = [pytest.mark.peer, pytest.mark.slow]

STORAGE_TOOL = "kafka.tools.StorageTool"
DIRECTORIES = ("JEXY6aqzQY-32P5TStzaFg", "MvDxzVmcRsaTz33bUuRU6A")
SCRAM = "SCRAM-SHA-512=[name=alice,password=secret,salt=MXp2b2swb2Fnd2N5NnRkMHV5,iterations=5000]"


def neutral(value: Any) -> Any:
    """Without what differs between any two runs: the time in a header."""
    if isinstance(value, dict):
        return {
            key: 0 if key == "lastContainedLogTimestamp" and inner else neutral(inner) for key, inner in value.items()
        }
    return [neutral(inner) for inner in value] if isinstance(value, list | tuple) else value


#: Apache Kafka's tool finalizes them unless told otherwise, ours does not: nothing here serves them.
SHARE_AND_STREAMS = ["--feature", "share.version=1", "--feature", "streams.version=1"]


@pytest.mark.parametrize(
    ("dynamic", "options"),
    [
        (False, ["--release-version", "4.1", "--feature", "transaction.version=1", "--add-scram", SCRAM]),
        (
            True,
            [
                *("--initial-controllers", f"1@localhost:9093:{DIRECTORIES[0]},2@127.0.0.1:9094:{DIRECTORIES[1]}"),
                *SHARE_AND_STREAMS,
            ],
        ),
    ],
    ids=["static", "dynamic"],
)
def test_both_write_the_same_files(dynamic: bool, options: list[str], tmp_path: Path) -> None:
    ours, theirs = tmp_path / "ours", tmp_path / "theirs"
    our_config = write_config(tmp_path / "a", ours, dynamic=dynamic)
    their_config = write_config(tmp_path / "b", theirs, dynamic=dynamic)
    assert run(["storage", "format", "-t", CLUSTER_ID, "-c", str(our_config), *options]) == 0
    kafka_tools.run(STORAGE_TOOL, "format", "-t", CLUSTER_ID, "-c", str(their_config), *options)
    our_files, their_files = tree(ours), tree(theirs)
    assert list(our_files) == list(their_files)
    for name, content in our_files.items():
        if name.endswith(".checkpoint"):
            assert neutral(read_checkpoint(ours / name)) == neutral(read_checkpoint(theirs / name))
            assert len(content) == len(their_files[name])
        else:
            assert meta_lines(content) == meta_lines(their_files[name])


def meta_lines(content: bytes) -> list[str]:
    """Without the date; an id of a directory that was made up is as good as another."""
    lines = content.decode().splitlines()
    known = [line for line in lines if not line.startswith("#")]
    made_up = re.compile(rf"directory\.id=(?!{DIRECTORIES[0]})[A-Za-z0-9_-]{{22}}")
    return [made_up.sub("directory.id=?", line) for line in known]


def test_each_shows_what_the_other_formatted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ours = write_config(tmp_path / "a", tmp_path / "ours", dynamic=True)
    theirs = write_config(tmp_path / "b", tmp_path / "theirs", dynamic=True)
    assert run(["storage", "format", "-t", CLUSTER_ID, "-c", str(ours), "--standalone"]) == 0
    said = kafka_tools.run(STORAGE_TOOL, "info", "-c", str(ours))
    assert "Found log directories:" in said and f"cluster.id={CLUSTER_ID}" in said and "problem" not in said
    kafka_tools.run(STORAGE_TOOL, "format", "-t", CLUSTER_ID, "-c", str(theirs), "--standalone")
    assert run(["storage", "info", "-c", str(theirs)]) == 0
    assert capsys.readouterr().out.count(CLUSTER_ID) == 2


def test_apache_kafka_starts_on_a_directory_that_we_formatted(tmp_path: Path) -> None:
    data = tmp_path / "data"
    config = write_config(tmp_path / "ours", data)
    config.write_text(config.read_text().replace(f"{data}/one,{data}/two", str(data)))
    assert run(["storage", "format", "-t", CLUSTER_ID, "-c", str(config)]) == 0
    with kafka_node(data, tmp_path / "node") as node:
        said = kafka_tools.run(
            "org.apache.kafka.tools.FeatureCommand", "--bootstrap-server", node.bootstrap, "describe"
        )
        node.stop()
    assert re.search(r"metadata\.version\s.*FinalizedVersionLevel: 4\.3-IV0", said)
    assert re.search(r"transaction\.version\s.*FinalizedVersionLevel: 2", said)
    assert re.search(r"share\.version\s.*FinalizedVersionLevel: 0", said)


def test_features_of_a_directory_that_apache_kafka_formatted_stay(tmp_path: Path) -> None:
    """Those that nothing here serves too: other nodes of the cluster may."""
    with node_on(vectors.unpack(vectors.CLEAN, tmp_path / "kafkas"), tmp_path / "node") as node:
        features = asyncio.run(finalized_features(node.broker_port))
        assert (features["share.version"], features["streams.version"], features["metadata.version"]) == (1, 1, 30)


async def finalized_features(port: int) -> Mapping[str, int]:
    channel = Channel(HOST, port, CHANNEL_CONFIG)
    try:
        async with asyncio.timeout(60):
            while channel.features.epoch < 0:
                with suppress(Disconnected):
                    await channel.send(MetadataRequest(topics=[]), 60_000)
                await asyncio.sleep(0.05)
        return channel.features.levels
    finally:
        await channel.close()
