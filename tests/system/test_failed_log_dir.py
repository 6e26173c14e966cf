"""A node starts without a log directory that has failed: it serves the others, and loses nothing."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from support.processes.cli import Command
from support.processes.nodes import Cluster, Node, NodeSpec
from support.waiting import wait_until

WAIT_S = 120
TOPIC, PARTITIONS = "spread", 4


class World:
    """A node with two log directories, and what is in them before anything fails."""

    def __init__(self, node: Node, command: Command, first: Path, second: Path) -> None:
        self.node, self.command, self.first, self.second = node, command, first, second

    def start(self) -> None:
        self.node.start()

        def is_up() -> bool:
            self.node.check_alive()
            return self.command.say("cluster", "describe").status == 0

        wait_until(is_up, "it answers", WAIT_S, self.node.log_tail)

    def partitions_in(self, directory: Path) -> set[int]:
        return {int(path.name.rsplit("-", 1)[1]) for path in directory.glob(f"{TOPIC}-*")}

    def leaders(self) -> dict[int, int | None]:
        (topic,) = self.command.json("topics", "describe", TOPIC)
        return {partition["partition"]: partition["leader"] for partition in topic["partitions"]}

    def read(self, partition: int) -> bytes | None:
        consumer = Consumer({"bootstrap.servers": self.command.bootstrap, "group.id": "g", "log_level": 0})
        consumer.assign([TopicPartition(TOPIC, partition, 0)])
        try:
            message = consumer.poll(WAIT_S)
            assert message is not None and message.error() is None
            return message.value()
        finally:
            consumer.close()


@pytest.fixture
def world(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Iterator[World]:
    first, second = tmp_path / "first", tmp_path / "second"
    spec = NodeSpec(1, roles="broker,controller", settings={"log.dirs": f"{first},{second}"})
    with Cluster(tmp_path / "cluster", [spec]) as cluster:
        world = World(cluster[1], Command(capsys, cluster[1].broker_address), first, second)
        world.start()
        world.command.do("topics", "create", TOPIC, "--partitions", str(PARTITIONS), "--replication-factor", "1")
        producer = Producer({"bootstrap.servers": world.command.bootstrap, "log_level": 0})
        for partition in range(PARTITIONS):
            producer.produce(TOPIC, b"%d" % partition, partition=partition)
        assert producer.flush(WAIT_S) == 0
        assert world.node.stop() == 0
        yield world


def damage_meta_properties(directory: Path) -> Callable[[], None]:
    path = directory / "meta.properties"
    before = path.read_text()
    path.write_text("version=1\nnode.id=one\n")
    return lambda: path.write_text(before) and None


def put_file_in_its_place(directory: Path) -> Callable[[], None]:
    away = directory.with_name("away")
    directory.rename(away)
    directory.write_text("")

    def undo() -> None:
        directory.unlink()
        away.rename(directory)

    return undo


def let_a_checkpoint_fail(directory: Path) -> Callable[[], None]:
    """Reading it is an input/output error, which the node meets only when it loads the logs."""
    path = directory / "recovery-point-offset-checkpoint"
    before = path.read_bytes()
    path.unlink()
    path.symlink_to("/proc/self/mem")

    def undo() -> None:
        path.unlink()
        path.write_bytes(before)

    return undo


@pytest.mark.slow
def test_a_node_serves_what_is_left_until_the_directory_is_back(world: World) -> None:
    lost, kept = world.partitions_in(world.second), world.partitions_in(world.first)
    assert lost and kept and lost | kept == set(range(PARTITIONS))
    expected = {partition: 1 if partition in kept else None for partition in range(PARTITIONS)}
    for fail in (damage_meta_properties, put_file_in_its_place, let_a_checkpoint_fail):
        undo = fail(world.second)
        world.start()
        wait_until(lambda: world.leaders() == expected, f"{fail.__name__}: leaders", WAIT_S, world.node.log_tail)
        assert {partition: world.read(partition) for partition in kept} == {p: b"%d" % p for p in kept}
        assert world.partitions_in(world.first) == kept, "nothing was created anew"
        assert "KAFKA_STORAGE_ERROR" in json.dumps(world.command.say("cluster", "log-dirs").err)
        assert world.node.stop() == 0
        undo()
    world.start()
    wait_until(lambda: set(world.leaders().values()) == {1}, "all are back", WAIT_S, world.node.log_tail)
    assert [world.read(partition) for partition in range(PARTITIONS)] == [b"%d" % p for p in range(PARTITIONS)]
