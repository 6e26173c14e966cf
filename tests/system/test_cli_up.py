"""`odradek up` as a user has it: a cluster in the foreground, and none when it has ended."""

import json
import os
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from support.processes.cli import free_port
from support.processes.nodes import ODRADEK
from support.waiting import wait_until

WAIT_S = 90


class Up:
    """A running `odradek up --format json`; `said` is what it announced."""

    def __init__(self, directory: Path, *options: str) -> None:
        self.process = subprocess.Popen(
            [*ODRADEK, "up", "--format", "json", *options],
            cwd=directory,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        self.said: dict[str, Any] = json.loads(line) if line else {}

    @property
    def pids(self) -> list[int]:
        return [node["pid"] for node in self.said["nodes"]]

    def stop(self, number: signal.Signals = signal.SIGINT) -> str:
        """What it said on stderr all the time."""
        self.process.send_signal(number)
        _, err = self.process.communicate(timeout=WAIT_S)
        return err

    def kill(self) -> None:
        for pid in (self.process.pid, *self.pids):
            if is_running(pid):
                os.kill(pid, signal.SIGKILL)
        self.process.wait()
        for stream in (self.process.stdout, self.process.stderr):
            if stream is not None:
                stream.close()


@pytest.fixture
def up(tmp_path: Path) -> Iterator[Callable[..., Up]]:
    started: list[Up] = []

    def start(*options: str) -> Up:
        started.append(Up(tmp_path, *options))
        return started[-1]

    yield start
    for each in started:
        if each.said:
            each.kill()


def is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def produce(bootstrap: str, values: list[str]) -> None:
    failed: list[object] = []
    producer = Producer({"bootstrap.servers": bootstrap, "acks": "all"})
    for value in values:
        producer.produce("orders", value, partition=0, on_delivery=lambda error, _: error and failed.append(error))
    assert producer.flush(WAIT_S) == 0
    assert not failed


def consume(bootstrap: str, count: int) -> list[str]:
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "none", "enable.auto.commit": False})
    consumer.assign([TopicPartition("orders", 0, 0)])
    values: list[str] = []

    def all_there() -> bool:
        messages = consumer.consume(count - len(values), 1.0)
        values.extend(message.value().decode() for message in messages if message.error() is None)
        return len(values) == count

    wait_until(all_there, f"{count} records", WAIT_S)
    consumer.close()
    return values


def test_what_was_written_is_there_at_the_next_start(up: Callable[..., Up], tmp_path: Path) -> None:
    port = free_port(2)
    first = up("--port", port)
    assert first.said["bootstrap"] == f"localhost:{port}"
    (node,) = first.said["nodes"]
    assert node == {"id": 1, "pid": node["pid"], "port": int(port), "data": str(tmp_path / ".odradek/node-1/data")}
    assert (tmp_path / ".odradek" / ".gitignore").read_text() == "*\n"
    produce(first.said["bootstrap"], ["a", "b"])
    err = first.stop()
    assert first.process.returncode == 0 and not is_running(node["pid"]), err
    assert "stopping" in err and "Traceback" not in err
    assert (tmp_path / ".odradek/node-1/data/.kafka_cleanshutdown").exists()

    again = up("--port", port)
    assert consume(again.said["bootstrap"], 2) == ["a", "b"]
    again.stop(signal.SIGTERM)
    assert again.process.returncode == 0
    assert "stopped" in (tmp_path / ".odradek/node-1/node.log").read_text()


def test_with_verbose_the_logs_are_shown_and_no_files_are_named(up: Callable[..., Up], tmp_path: Path) -> None:
    running = up("-v", "--port", free_port(2))
    err = running.stop()
    assert "; their logs follow" in err and "node.log" not in err
    assert "node: ready" in err, "the log itself"
    assert not (tmp_path / ".odradek/node-1/node.log").exists()


def test_two_cannot_have_one_directory_or_one_port(up: Callable[..., Up], tmp_path: Path) -> None:
    port = free_port(2)
    up("--port", port)
    twice = subprocess.run([*ODRADEK, "up", "--port", free_port(2)], cwd=tmp_path, capture_output=True, text=True)
    assert twice.returncode == 1
    assert twice.stderr == (
        f"odradek: a cluster is already running in {tmp_path}/.odradek; use --data for another directory.\n"
    )
    elsewhere = subprocess.run(
        [*ODRADEK, "up", "--port", port, "--data", "other"], cwd=tmp_path, capture_output=True, text=True
    )
    assert elsewhere.returncode == 1
    assert elsewhere.stderr == (
        f"odradek: port {port} of localhost is not available (Address already in use); use --port for other ports.\n"
    )


@pytest.mark.slow
def test_three_nodes_outlive_one(up: Callable[..., Up], tmp_path: Path) -> None:
    cluster = up("--nodes", "3", "--port", free_port(6), "--data", "three")
    bootstrap = cluster.said["bootstrap"]
    produce(bootstrap, ["a"])
    os.kill(cluster.pids[1], signal.SIGKILL)
    produce(bootstrap, ["b"])
    assert consume(bootstrap, 2) == ["a", "b"]
    err = cluster.stop()
    assert cluster.process.returncode == 0
    again = f"odradek server start {tmp_path}/three/node-2/server.properties starts it again"
    assert f"odradek: node 2: ended by SIGKILL; the other nodes continue. {again}\n" in err
    assert not any(map(is_running, cluster.pids))
    fewer = subprocess.run(
        [*ODRADEK, "up", "--nodes", "1", "--data", "three"], cwd=tmp_path, capture_output=True, text=True
    )
    assert fewer.returncode == 1 and "holds a cluster of 3 nodes" in fewer.stderr


def test_the_last_node_takes_the_command_with_it(up: Callable[..., Up]) -> None:
    cluster = up("--port", free_port(2), "--ephemeral")
    data = cluster.said["nodes"][0]["data"]
    assert os.path.isdir(data)
    os.kill(cluster.pids[0], signal.SIGKILL)
    _, err = cluster.process.communicate(timeout=WAIT_S)
    assert cluster.process.returncode == 1
    assert "odradek: node 1: ended by SIGKILL" in err
    assert not os.path.exists(data), "nothing of an ephemeral cluster is kept"


def test_nodes_end_when_the_command_is_killed(up: Callable[..., Up], tmp_path: Path) -> None:
    cluster = up("--port", free_port(2))
    cluster.process.kill()
    wait_until(lambda: not is_running(cluster.pids[0]), "the node has noticed", WAIT_S)
    assert (tmp_path / ".odradek/node-1/data/.kafka_cleanshutdown").exists()


def test_a_node_that_cannot_start_says_why(tmp_path: Path) -> None:
    data = tmp_path / "data"
    options = ["--port", free_port(2), "--data", str(data)]
    Up(tmp_path, *options).stop()
    topic = data / "node-1" / "data" / "__cluster_metadata-0"
    (topic / "quorum-state").write_text("nonsense")
    failed = subprocess.run([*ODRADEK, "up", *options], cwd=tmp_path, capture_output=True, text=True)
    assert failed.returncode == 1
    assert "odradek: node 1: " in failed.stderr and "quorum-state" in failed.stderr
    assert "Traceback" not in failed.stderr


def test_it_stops_though_nobody_listens_any_more(up: Callable[..., Up], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PYTHONUNBUFFERED", raising=False)  # what is buffered is flushed once more at the exit
    cluster = up("--port", free_port(2), "--ephemeral")
    assert cluster.process.stdout is not None and cluster.process.stderr is not None
    cluster.process.stdout.close()
    cluster.process.stderr.close()
    cluster.process.terminate()
    assert cluster.process.wait(WAIT_S) == 0
    assert not is_running(cluster.pids[0])


def test_data_and_ephemeral_exclude_each_other(tmp_path: Path) -> None:
    done = subprocess.run([*ODRADEK, "up", "--data", "x", "--ephemeral"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 2 and "exclude each other" in done.stderr
