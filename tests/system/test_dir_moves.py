"""Replicas move between the log directories of a broker while they are written to, whoever asks for it, and however
often the broker dies meanwhile. Nothing that was acknowledged is lost."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Producer

from support.figures import report
from support.loads.data_load import DataLoad, create_topic, read_all
from support.peers import kafka_tools
from support.processes.cli import Command
from support.processes.nodes import Cluster, NodeSpec
from support.waiting import wait_until

WAIT_S = 120

#: Many partitions, with little in each but for what the load adds; and a few with so much that the limit holds it back.
SMALL, SMALL_PARTITIONS = "small", 40
LARGE, LARGE_PARTITIONS, LARGE_RECORDS = "large", 4, 400
VALUE = bytes(20_000)

#: The limit lets ten seconds' worth through at once: the rest would take minutes, unless it is taken away.
BYTES_PER_SECOND = 20_000


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    log_dirs = ",".join(str(tmp_path / name) for name in ("one", "two"))
    spec = NodeSpec(1, roles="broker,controller", settings={"log.dirs": log_dirs})
    with Cluster(tmp_path / "cluster", [spec]) as made:
        made.start()
        create_topic(made, SMALL, SMALL_PARTITIONS, 1)
        create_topic(made, LARGE, LARGE_PARTITIONS, 1)
        producer = Producer({"bootstrap.servers": made[1].broker_address})
        for number in range(LARGE_RECORDS):
            producer.produce(LARGE, VALUE, partition=number % LARGE_PARTITIONS)
        assert producer.flush(WAIT_S) == 0
        yield made


@pytest.fixture
def command(cluster: Cluster, capsys: pytest.CaptureFixture[str]) -> Command:
    return Command(capsys, cluster[1].broker_address)


def plan_for(path: Path, log_dir: Path) -> str:
    """Everything goes there."""
    topics = ((SMALL, SMALL_PARTITIONS), (LARGE, LARGE_PARTITIONS))
    partitions = [
        {"topic": topic, "partition": index, "replicas": [1], "log_dirs": [str(log_dir)]}
        for topic, count in topics
        for index in range(count)
    ]
    path.write_text(json.dumps({"version": 1, "partitions": partitions}))
    return str(path)


def places(command: Command, *, future: bool = False) -> dict[str, int]:
    """How many replicas are in each directory, or are on their way to it."""
    (broker,) = command.json("cluster", "log-dirs", "--topic", SMALL, "--topic", LARGE)
    return {
        Path(each["path"]).name: sum(replica["future"] == future for replica in each["replicas"])
        for each in broker["log_dirs"]
    }


def kafkas_reassignment(command: Command, *arguments: str) -> str:
    name = "org.apache.kafka.tools.reassign.ReassignPartitionsCommand"
    return kafka_tools.run(name, "--bootstrap-server", command.bootstrap, *arguments)


@pytest.mark.slow
@pytest.mark.peer
def test_all_replicas_move_under_load_and_through_a_kill(cluster: Cluster, command: Command, tmp_path: Path) -> None:
    all_replicas = SMALL_PARTITIONS + LARGE_PARTITIONS
    to_move = places(command)["one"]
    there = plan_for(tmp_path / "there.json", tmp_path / "two")
    with DataLoad(command.bootstrap, SMALL, SMALL_PARTITIONS, producers=1) as load:
        load.more()
        kafkas_reassignment(
            command,
            *("--execute", "--reassignment-json-file", there),
            *("--replica-alter-log-dirs-throttle", str(BYTES_PER_SECOND)),
        )
        wait_until(lambda: places(command, future=True)["two"] > 0, "replicas are on their way", WAIT_S)
        load.more()
        cluster[1].kill()
        cluster[1].start()
        wait_until(lambda: places(command, future=True)["two"] > 0, "the limit holds, also after a restart", WAIT_S)
        on_the_way = places(command, future=True)["two"]
        load.more()
        command.do("configs", "alter", "--broker", "1", "--delete", "replica.alter.log.dirs.io.max.bytes.per.second")
        wait_until(lambda: places(command) == {"one": 0, "two": all_replicas}, "all are there", WAIT_S)
        load.more()
        verified = kafkas_reassignment(command, "--verify", "--reassignment-json-file", there)
        assert verified.count("completed successfully") == all_replicas, verified

        back = plan_for(tmp_path / "back.json", tmp_path / "one")
        moved = command.say("reassign", "run", back, "--wait")  # on stderr it says how far it is, if that takes long
        assert moved.status == 0, moved
        assert places(command) == {"one": all_replicas, "two": 0} and not places(command, future=True)["one"]
        assert {each["state"] for each in command.json("reassign", "status", back)} == {"done"}
        load.more()
    verdict = load.check()
    assert list(read_all(command.bootstrap, LARGE, LARGE_PARTITIONS).values()) == [VALUE] * LARGE_RECORDS
    shown = kafka_tools.run(
        *("org.apache.kafka.tools.LogDirsCommand", "--bootstrap-server", command.bootstrap, "--describe")
    )
    (broker,) = json.loads(shown[shown.index("{") :])["brokers"]
    assert {Path(each["logDir"]).name: each["error"] for each in broker["logDirs"]} == {"one": None, "two": None}
    report(
        "replicas moved between log directories under load",
        replicas=to_move + all_replicas,
        on_the_way_when_killed=on_the_way,
        acknowledged=verdict.acknowledged,
        lost=verdict.lost,
        longest_gap_ms=load.longest_gap_ms(),
    )
