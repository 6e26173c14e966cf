"""`odradek quorum` and `odradek metadata` on running clusters, beside Kafka's own tools on the same ones."""

import json
import re
import subprocess
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from confluent_kafka.admin import AdminClient, NewTopic

from odradek.common.ids import uuid_to_text
from support import vectors
from support.peers import kafka_tools
from support.peers.kafka_node import kafka_node
from support.processes.nodes import ODRADEK, Cluster, Kind, NodeSpec
from support.processes.ports import free_ports
from support.waiting import wait_until

WAIT_S = 90
SNAPSHOT = "00000000000000000148-0000000002.checkpoint"

#: In the order in which Kafka prints them.
PARTITION_FIELDS = (
    *("replicas", "directories", "isr", "removingReplicas", "addingReplicas", "elr", "lastKnownElr", "leader"),
    *("leaderRecoveryState", "leaderEpoch", "partitionEpoch"),
)


def odradek(*arguments: str | Path) -> Any:
    done = subprocess.run([*ODRADEK, *map(str, arguments), "--format", "json"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def kafkas_snapshot(target: Path) -> Path:
    """The directory that Kafka left, as if its log had been dropped behind its last snapshot."""
    data = vectors.unpack(vectors.CLEAN, target)
    for file in (data / "__cluster_metadata-0").glob("[0l]*"):
        if file.name != SNAPSHOT:
            file.unlink()
    return data


class LiveKafka(NamedTuple):
    broker: str
    controller: str
    data: Path


@pytest.fixture(scope="module")
def kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveKafka]:
    """On what it wrote once; all it has to give of that is a snapshot."""
    root = tmp_path_factory.mktemp("kafka")
    data = kafkas_snapshot(root)
    with kafka_node(data, root / "scratch") as node:
        found = re.search(r"CONTROLLER://(127.0.0.1:\d+)", (root / "scratch" / "server.properties").read_text())
        assert found is not None
        controller = found[1]
        wait_until(lambda: _is_unfenced(controller), "the broker is unfenced", WAIT_S)
        yield LiveKafka(node.bootstrap, controller, data)


def _is_unfenced(controller: str) -> bool:
    path = "image/cluster/brokers/1/"
    return odradek("metadata", "cat", path, "--bootstrap-controller", controller)["fenced"] is False


@pytest.mark.peer
@pytest.mark.slow
@pytest.mark.parametrize("listener", ["broker", "controller"])
def test_describe_says_what_kafkas_tool_says(kafka: LiveKafka, listener: str) -> None:
    address = getattr(kafka, listener)
    ours, theirs = {"broker": ("-b", "--bootstrap-server")}.get(listener, ("--bootstrap-controller",) * 2)
    before = odradek("quorum", "describe", ours, address)
    tool = ("org.apache.kafka.tools.MetadataQuorumCommand", theirs, address, "describe")
    status = dict(re.findall(r"^(\w+):\s+(.*)$", kafka_tools.run(*tool, "--status"), re.MULTILINE))
    headings, *rows = kafka_tools.run(*tool, "--replication").splitlines()
    after = odradek("quorum", "describe", ours, address)
    assert (status["ClusterId"], int(status["LeaderId"])) == (before["cluster_id"], before["leader_id"])
    assert int(status["LeaderEpoch"]) == before["leader_epoch"] == after["leader_epoch"]
    assert before["high_watermark"] <= int(status["HighWatermark"]) <= after["high_watermark"]
    assert int(status["MaxFollowerLag"]) == before["max_follower_lag"]
    voters = [{"id": voter["id"], "endpoints": voter["endpoints"]} for voter in before["voters"]]
    assert json.loads(status["CurrentVoters"]) == voters
    assert json.loads(status["CurrentObservers"]) == before["observers"] == []
    assert len(rows) == len(before["replication"]) == 1
    assert [rows[0].split()[0], rows[0].split()[-1]] == ["1", "Leader"], headings


@pytest.mark.peer
@pytest.mark.slow
def test_the_tree_of_a_running_kafka(kafka: LiveKafka) -> None:
    """Its past comes as a snapshot over the wire, the new topic as records; its directory says the same."""
    admin = AdminClient({"bootstrap.servers": kafka.broker})
    for created in admin.create_topics([NewTopic("brand-new", num_partitions=2)]).values():
        created.result(WAIT_S)
    topics = odradek("metadata", "cat", "image/topics/byName", "--bootstrap-controller", kafka.controller)
    assert {"plain", "gzip", "txn", "brand-new"} <= topics.keys()
    assert [topics["brand-new"][number]["leader"] for number in ("0", "1")] == [1, 1]
    assert odradek("metadata", "cat", "image/topics/byName", "-b", kafka.broker) == topics
    assert odradek("metadata", "cat", "image/topics/byName", "--source", kafka.data) == topics


@pytest.mark.peer
@pytest.mark.slow
def test_names_and_values_are_those_of_kafkas_shell(tmp_path: Path) -> None:
    snapshot = vectors.unpack(vectors.CLEAN, tmp_path) / "__cluster_metadata-0" / SNAPSHOT
    ours = odradek("metadata", "tree", "image", "-s", snapshot)
    theirs = _shell_tree(snapshot)
    assert _names(ours) == _names(theirs)
    for path in ("features", "configs", "producerIds"):
        assert _as_printed(ours[path]) == theirs[path]
    for name, topic in ours["topics"]["byName"].items():
        assert {key: _as_kafka_prints(value) for key, value in topic.items()} == theirs["topics"]["byName"][name]
    assert ours["provenance"]["epoch"] == 2


def _shell_tree(snapshot: Path) -> dict[str, Any]:
    shown = kafka_tools.metadata_shell(snapshot, "tree image", lambda shown: "Optional[4.3-IV0]" in shown)
    logged = re.compile(r"\d{4}-\d\d-\d\dT")  # it complains about header and footer, on stdout
    return _parsed([line for line in shown.splitlines() if line.strip() and not logged.match(line)], 0)


def _parsed(lines: list[str], depth: int) -> Any:
    """A node's name ends in a colon and what it holds is indented below it; a line without is a value."""
    tree: dict[str, Any] = {}
    starts = [at for at, line in enumerate(lines) if _depth(line) == depth]
    for start, end in pairwise([*starts, len(lines)]):
        name = lines[start].strip()
        if not name.endswith(":"):
            return name
        tree[name[:-1]] = _parsed(lines[start + 1 : end], depth + 1)
    return tree


def _depth(line: str) -> int:
    return (len(line) - len(line.lstrip())) // 2


def _names(tree: Any) -> Any:
    """Without what leaves hold; a leaf of ours that is an object begins where Kafka's tree ends."""
    if not isinstance(tree, dict) or "incarnationId" in tree or "leaderEpoch" in tree or "epoch" in tree:
        return None
    return {name: _names(below) for name, below in tree.items()}


def _as_printed(tree: Any) -> Any:
    if isinstance(tree, dict):
        return {
            name: f"Optional[{below}]" if name == "metadataVersion" else _as_printed(below)
            for name, below in tree.items()
        }
    return str(tree)


def _as_kafka_prints(content: Any) -> str:
    if isinstance(content, str):
        return content
    assert sorted(content) == sorted(PARTITION_FIELDS)
    fields = ", ".join(f"{name}={_list(content[name])}" for name in PARTITION_FIELDS)
    return f"PartitionRegistration({fields})"


def _list(value: Any) -> str:
    return f"[{', '.join(map(str, value))}]" if isinstance(value, list) else str(value)


@pytest.mark.slow
@pytest.mark.parametrize("first", [Kind.ODRADEK, pytest.param(Kind.KAFKA, marks=pytest.mark.peer)])
def test_a_voter_comes_and_goes(tmp_path: Path, first: Kind) -> None:
    """A controller that only follows is added by its own file, and removed by its id and directory."""
    specs = [NodeSpec(1, first), NodeSpec(2, Kind.ODRADEK, is_first_voter=False)]
    with Cluster(tmp_path, specs, dynamic=True) as cluster:
        cluster.start()
        address = ("--bootstrap-controller", cluster[1].controller_address)
        wait_until(lambda: _members(address, "observers") == [2], "node 2 follows", WAIT_S, cluster[2].log_tail)
        added = odradek("quorum", "add-voter", "-c", cluster[2].properties, *address)
        assert (added["id"], added["endpoints"]) == (2, [f"CONTROLLER://{cluster[2].controller_address}"])
        assert _members(address, "voters") == [1, 2]
        both = ("--bootstrap-controller", cluster.controller_addresses)
        directory_id = added["directory_id"]
        odradek("quorum", "remove-voter", "--id", 2, "--directory-id", directory_id, "--yes", *both)
        assert _members(address, "voters") == [1]
        gone = _refusal("quorum", "remove-voter", "--id", "2", "--directory-id", directory_id, "--yes", *address)
        assert gone.startswith("odradek: VOTER_NOT_FOUND: ")
        assert _members(address, "voters") == [1]
        assert uuid_to_text(cluster[1].directory_id) in json.dumps(odradek("quorum", "describe", *address))


def _members(address: tuple[str, str], kind: str) -> list[int]:
    """None are there while there is no cluster."""
    command = [*ODRADEK, "quorum", "describe", *address, "--format", "json"]
    done = subprocess.run(command, capture_output=True, text=True)
    return [each["id"] for each in json.loads(done.stdout)[kind]] if done.returncode == 0 else []


def _refusal(*arguments: str) -> str:
    done = subprocess.run([*ODRADEK, *arguments], capture_output=True, text=True)
    assert done.returncode == 1
    return done.stderr


@pytest.mark.slow
def test_our_controller_gives_its_snapshot_and_what_came_after(tmp_path: Path) -> None:
    """On what Kafka left when it was stopped, a snapshot and no log; the command is all there is to ask it."""
    data = kafkas_snapshot(tmp_path)
    (port,) = free_ports(1)
    properties = tmp_path / "controller.properties"
    properties.write_text(
        f"process.roles=controller\nnode.id=1\nlog.dirs={data}\ncontroller.listener.names=CONTROLLER\n"
        f"listeners=CONTROLLER://127.0.0.1:{port}\ncontroller.quorum.voters=1@127.0.0.1:{port}\n"
    )
    before = odradek("metadata", "cat", "image", "-s", data)
    address = ("--bootstrap-controller", f"127.0.0.1:{port}")
    with (tmp_path / "node.log").open("wb") as log:
        node = subprocess.Popen([*ODRADEK, "server", "start", str(properties)], stdout=log, stderr=log)
    try:
        wait_until(lambda: _members(address, "voters") == [1], "it leads", WAIT_S, (tmp_path / "node.log").read_text)
        now = odradek("metadata", "cat", "image", *address)
    finally:
        node.kill()
        node.wait()
    assert now["provenance"]["offset"] > before["provenance"]["offset"] == 147
    assert _names(now["topics"]) == _names(before["topics"]) and "plain" in now["topics"]["byName"]
    assert now["configs"] == before["configs"]
