"""A team's own tests on an embedded cluster: a project that knows nothing but the package, run by its own pytest.

Once by two workers, each with a cluster of its own in its process, and once on three nodes that are processes.
"""

import re
import subprocess
import sys
from pathlib import Path

import pytest

_TESTS = """
import asyncio
import os

import pytest
from confluent_kafka import Consumer, Producer
from odradek.testing import Cluster

def read(bootstrap, topic, count):
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": topic, "auto.offset.reset": "earliest"})
    consumer.subscribe([topic])
    found = consumer.consume(count, 60)
    consumer.close()
    return [message.value() for message in found]

def write(bootstrap, topic, *values):
    producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 0})
    for value in values:
        producer.produce(topic, value)
    assert producer.flush(60) == 0

seen = []

@pytest.mark.parametrize("value", [b"one", b"two"])
def test_each_test_has_a_topic_of_its_own(odradek_bootstrap, odradek_topic, value):
    assert odradek_topic not in seen
    seen.append(odradek_topic)
    write(odradek_bootstrap, odradek_topic, value)
    assert read(odradek_bootstrap, odradek_topic, 1) == [value]

@pytest.mark.odradek_topic(partitions=3, configs={"cleanup.policy": "compact"})
def test_a_topic_can_be_said_more_of(odradek_bootstrap, odradek_topic):
    metadata = Producer({"bootstrap.servers": odradek_bootstrap}).list_topics(odradek_topic, 60)
    assert len(metadata.topics[odradek_topic].partitions) == 3

def test_the_cluster_is_as_configured(odradek_cluster):
    assert len(odradek_cluster.nodes) == int(os.environ["NODES"])

def test_our_client(odradek_bootstrap, odradek_topic):
    from odradek.client import Consumer, Producer

    async def main():
        async with Producer(bootstrap_servers=odradek_bootstrap) as producer:
            await producer.send_and_wait(odradek_topic, b"hello", key=b"k")
        reading = {"bootstrap_servers": odradek_bootstrap, "group_id": "ours", "auto_offset_reset": "earliest"}
        async with Consumer(odradek_topic, **reading) as consumer:
            async for record in consumer:
                return record.key, record.value

    assert asyncio.run(main()) == (b"k", b"hello")

def test_a_fault(odradek_topic, odradek_cluster):
    if len(odradek_cluster.nodes) < 3:
        return
    odradek_cluster.kill(2)
    write(odradek_cluster.bootstrap, odradek_topic, b"without node 2")
    odradek_cluster.start(2)
"""


def run_pytest(project: Path, nodes: int, *arguments: str) -> str:
    (project / "test_orders.py").write_text(_TESTS)
    (project / "pytest.ini").write_text("[pytest]\nodradek_settings =\n    num.partitions=1\nfilterwarnings = error\n")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments],
        cwd=project,
        env={"PATH": "/usr/bin:/bin", "NODES": str(nodes)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.slow
def test_two_workers_with_a_node_each(tmp_path: Path) -> None:
    assert re.search(r"^6 passed", run_pytest(tmp_path, 1, "-n", "2"), re.MULTILINE)


@pytest.mark.slow
def test_three_nodes_that_are_processes(tmp_path: Path) -> None:
    assert re.search(r"^6 passed", run_pytest(tmp_path, 3, "--odradek-nodes", "3", "--odradek-processes"), re.MULTILINE)


def test_wrong_options_are_told(tmp_path: Path) -> None:
    (tmp_path / "test_one.py").write_text("def test_one(odradek_bootstrap): pass\n")
    (tmp_path / "pytest.ini").write_text("[pytest]\nodradek_nodes = many\n")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode != 0 and 'odradek_nodes: "many" is no number of nodes' in done.stdout
