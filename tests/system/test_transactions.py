"""Transactions by librdkafka on three nodes that are killed and stopped: every record is copied exactly once.

Nothing of an aborted transaction is ever seen, nothing of a committed one is missing, and nobody sees half of one.
"""

import json
import os
import random
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest
from confluent_kafka import Consumer, KafkaError, Producer, TopicPartition

from support.figures import report
from support.loads import copier
from support.loads.data_load import CLIENT, admin_of, bootstrap_of, create_topic, wait_for_isr
from support.processes.nodes import OURS, Cluster, Kind, NodeSpec, controllers
from support.waiting import wait_until

pytestmark = pytest.mark.slow

NODES = (1, 2, 3)
KAFKA_BROKER = 13
PARTITIONS = 4
COPIERS = 2
IS_SOAK = "ODRADEK_SOAK_FACTOR" in os.environ
RECORDS = 20_000
#: Of brokers and of copiers, in turn.
BOUNCES = 60 if IS_SOAK else 6
#: Every other one is a copier's.
MIXED_BOUNCES = 20 if IS_SOAK else 4
#: Of a copier that ends of itself: the innermost calls and its error.
_LAST_WORDS_CHARACTERS = 600
SETTINGS = {
    "offsets.topic.replication.factor": "3",
    "transaction.state.log.replication.factor": "3",
    "offsets.topic.num.partitions": "3",
    "transaction.state.log.num.partitions": "1",
    "transaction.state.log.min.isr": "2",
    "min.insync.replicas": "2",
}


def test_copies_exactly_once_whoever_is_bounced(tmp_path: Path) -> None:
    specs = [NodeSpec(node_id, OURS, roles="broker,controller") for node_id in NODES]
    with started(tmp_path, specs) as cluster:
        draw = random.Random(20)
        copy_under_bounces(cluster, BOUNCES, lambda bounce: draw.choice(NODES), "transactions: copied under bounces")


@pytest.mark.peer
def test_coordinators_of_either_kind_take_over_from_each_other(tmp_path: Path) -> None:
    """Two brokers of ours and one of Apache Kafka's: the coordinator of the transactions is killed again and again."""
    kinds = {11: OURS, 12: OURS, KAFKA_BROKER: Kind.KAFKA}
    specs = [*controllers(1), *(NodeSpec(node_id, kind, roles="broker") for node_id, kind in kinds.items())]
    with started(tmp_path, specs) as cluster:
        seen: list[int] = []

        def coordinator(bounce: int) -> int:
            if not seen:
                lead(cluster, KAFKA_BROKER)
            seen.append(leader_of(cluster, "__transaction_state", 0))
            return seen[-1]

        copy_under_bounces(cluster, MIXED_BOUNCES, coordinator, "transactions: coordinators of both kinds")
        seen.append(leader_of(cluster, "__transaction_state", 0))
        assert KAFKA_BROKER in seen and set(seen) != {KAFKA_BROKER}
        report("transactions: who coordinated", nodes=seen, apache_kafka=seen.count(KAFKA_BROKER))


@contextmanager
def started(root: Path, specs: Sequence[NodeSpec]) -> Iterator[Cluster]:
    with Cluster(root, specs, settings=SETTINGS) as cluster:
        cluster.start()
        for topic in ("in", "out"):
            create_topic(cluster, topic, PARTITIONS, 3)
        yield cluster


def copy_under_bounces(cluster: Cluster, bounces: int, victim_of: Callable[[int], int], name: str) -> None:
    fill(bootstrap_of(cluster))
    brokers = [node.id for node in cluster.nodes.values() if node.spec.is_broker]
    watcher, copiers = Watcher(bootstrap_of(cluster)), Copiers(bootstrap_of(cluster))
    kills: Counter[str] = Counter()
    try:
        for bounce in range(bounces):
            if watcher.wait_for_more(RECORDS // (bounces + 2), copiers) >= RECORDS:
                break
            if bounce % 2:
                kills["copiers_killed"] += copiers.kill(bounce % COPIERS)
                continue
            wait_for_isr(admin_of(cluster), "out", *brokers)
            victim = cluster[victim_of(bounce)]
            is_hard = bounce % 4 == 0
            if is_hard:
                victim.kill()
            else:
                victim.stop()
            kills["brokers_killed" if is_hard else "brokers_stopped"] += 1
            watcher.read_for(1)
            cluster.start(victim.id)
        wait_until(lambda: copiers.are_done() or watcher.read_for(0.2), "all is copied", 120, copiers.explain)
    finally:
        copiers.kill_all()
    watcher.read_to_the_end()
    report(name, **kills, copiers_given_up=len(copiers.failures), **watcher.verdict())


def lead(cluster: Cluster, node_id: int) -> None:
    """From now on this one coordinates all transactions."""
    others = [node.id for node in cluster.nodes.values() if node.spec.is_broker and node.id != node_id]
    plan = cluster.root / "plan.json"
    place = {"topic": "__transaction_state", "partition": 0, "replicas": [node_id, *others]}
    plan.write_text(json.dumps({"version": 1, "partitions": [place]}))
    for command in (["reassign", "run", str(plan), "--wait"], ["elect-leaders", "__transaction_state:0"]):
        odradek(*command, "--bootstrap", bootstrap_of(cluster))
    wait_until(lambda: leader_of(cluster, "__transaction_state", 0) == node_id, f"broker {node_id} coordinates")


def odradek(*arguments: str) -> None:
    done = subprocess.run([sys.executable, "-m", "odradek.cli.main", *arguments], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def leader_of(cluster: Cluster, topic: str, partition: int) -> int:
    found: list[int] = []

    def is_led() -> bool:
        metadata = admin_of(cluster).list_topics(topic, timeout=5).topics[topic].partitions[partition]
        found.append(metadata.leader)
        return metadata.leader >= 0

    wait_until(is_led, f"{topic}-{partition} has a leader")
    return found[-1]


def fill(bootstrap: str) -> None:
    producer = Producer({"bootstrap.servers": bootstrap, "enable.idempotence": True, **CLIENT})
    for number in range(RECORDS):
        producer.produce("in", b"%d" % number, partition=number % PARTITIONS)
        if number % 1_000 == 0:
            producer.poll(0)
    assert producer.flush(60) == 0


class Copiers:
    """As processes, so that they can be killed. They are started again until they end by themselves."""

    def __init__(self, bootstrap: str) -> None:
        self._bootstrap = bootstrap
        self._running = [self._start(number) for number in range(COPIERS)]
        self._done = [False] * COPIERS
        #: The last words of those that nobody killed: a client may give up, and is then started again.
        self.failures: list[str] = []

    def _start(self, number: int) -> "subprocess.Popen[bytes]":
        partitions = [str(each) for each in range(PARTITIONS) if each % COPIERS == number]
        command = [sys.executable, copier.__file__, self._bootstrap, f"copier-{number}", "in", "out", *partitions]
        return subprocess.Popen(command, stderr=subprocess.PIPE)

    def kill(self, number: int) -> bool:
        """Return False if there is nothing to kill: it has copied all its partitions while others are still busy."""
        if self._done[number]:
            return False
        self._running[number].kill()
        self._running[number].communicate()
        self._running[number] = self._start(number)
        return True

    def keep_running(self) -> None:
        for number, process in enumerate(self._running):
            if process.poll() is None or self._done[number]:
                continue
            _, said = process.communicate()
            if process.returncode == 0:
                self._done[number] = True
                continue
            self.failures.append(said.decode()[-_LAST_WORDS_CHARACTERS:].strip())
            self._running[number] = self._start(number)

    def explain(self) -> str:
        return "\n".join(["copiers that ended of themselves:", *self.failures])

    def are_done(self) -> bool:
        self.keep_running()
        return all(self._done)

    def kill_all(self) -> None:
        for number, process in enumerate(self._running):
            if not self._done[number]:
                process.kill()
                process.communicate()


class Watcher:
    """Reads what is committed, while it happens."""

    def __init__(self, bootstrap: str) -> None:
        options = {"group.id": "watcher", "enable.auto.commit": False, "isolation.level": "read_committed"}
        options |= {"enable.partition.eof": True, "auto.offset.reset": "error", "fetch.wait.max.ms": 100}
        self._consumer = Consumer({"bootstrap.servers": bootstrap, **CLIENT, **options})
        self._consumer.assign([TopicPartition("out", partition, 0) for partition in range(PARTITIONS)])
        self._places: dict[tuple[int, int], bytes] = {}
        self._order: list[list[int]] = [[] for _ in range(PARTITIONS)]
        self._transactions: Counter[bytes] = Counter()
        self._ended: set[int] = set()

    def wait_for_more(self, count: int, copiers: Copiers) -> int:
        target = min(len(self._places) + count, RECORDS)

        def are_there() -> bool:
            copiers.keep_running()
            self.read_for(0.2)
            return len(self._places) >= target

        wait_until(are_there, f"{count} more copies", 120, copiers.explain)
        return len(self._places)

    def read_for(self, seconds: float) -> bool:
        """False, so that it can be waited with."""
        end_s = time.monotonic() + seconds
        while time.monotonic() < end_s:
            self._take()
        return False

    def read_to_the_end(self) -> None:
        def is_at_the_end() -> bool:
            self.read_for(0.5)
            return len(self._ended) == PARTITIONS and len(self._places) >= RECORDS

        wait_until(is_at_the_end, "everything that is committed is read", 90, lambda: f"{len(self._places)} are")
        self._consumer.close()

    def _take(self) -> None:
        for message in self._consumer.consume(1_000, 0.05):
            error, partition = message.error(), message.partition() or 0
            if error is not None:
                if error.code() == KafkaError._PARTITION_EOF:
                    self._ended.add(partition)
                continue
            place = (partition, message.offset() or 0)
            assert place not in self._places, f"{place} was shown twice"
            self._places[place] = message.value() or b""
            self._order[partition].append(int(message.value() or b"-1"))
            self._ended.discard(partition)
            self._transactions[dict(message.headers() or [])["transaction"]] += 1

    def verdict(self) -> dict[str, int]:
        copies = Counter(self._places.values())
        torn = {tag: seen for tag, seen in self._transactions.items() if seen != int(tag.rpartition(b"/")[2])}
        found = {
            "copied": len(copies),
            "lost": RECORDS - len(copies),
            "doubled": sum(copies.values()) - len(copies),
            "torn": len(torn),
            "out_of_order": sum(numbers != sorted(numbers) for numbers in self._order),
        }
        assert [found[name] for name in ("lost", "doubled", "torn", "out_of_order")] == [0] * 4, f"{found} {torn}"
        return {**found, "transactions": len(self._transactions)}
