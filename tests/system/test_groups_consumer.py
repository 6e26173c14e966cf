"""Consumer groups (KIP-848) through clients that we did not write, on three nodes, and groups that go from the classic
protocol to this one and back while they work."""

import itertools
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from functools import partial

import pytest
from confluent_kafka.admin import AdminClient, ConsumerGroupDescription, NewTopic

from support.figures import report
from support.loads import group_members
from support.loads.data_load import bootstrap_of
from support.loads.group_members import Member, members, until_no_error, wait_balanced
from support.peers.java_clients import JavaClients, JavaMember
from support.processes.nodes import OURS, Cluster, NodeSpec
from support.waiting import wait_until

pytestmark = pytest.mark.slow

TOPIC = "topic"
PARTITIONS = 6
#: A member on a busy machine must not be missed.
SESSION_MS = 10_000
TIMEOUT_S = 60
CONSUMER = {"group.protocol": "consumer"}
JAVA_ASSIGNORS = {
    "range": "org.apache.kafka.clients.consumer.RangeAssignor",
    "cooperative-sticky": "org.apache.kafka.clients.consumer.CooperativeStickyAssignor",
}

_names = (f"group-{number}" for number in itertools.count())


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """With the intervals of `odradek up`, and with shorter sessions."""
    settings = {
        "default.replication.factor": "3",
        "min.insync.replicas": "2",
        "offsets.topic.replication.factor": "3",
        "offsets.topic.num.partitions": "8",
        "group.initial.rebalance.delay.ms": "250",
        "group.min.session.timeout.ms": "1000",
        "group.consumer.min.heartbeat.interval.ms": "200",
        "group.consumer.heartbeat.interval.ms": "200",
        "group.consumer.assignment.interval.ms": "0",
        "group.consumer.min.session.timeout.ms": "1000",
        "group.consumer.session.timeout.ms": str(SESSION_MS),
    }
    specs = [NodeSpec(node_id, OURS, roles="broker,controller") for node_id in (1, 2, 3)]
    with Cluster(tmp_path_factory.mktemp("consumer-groups"), specs, settings=settings) as made:
        made.start()
        admin = admin_of(made)
        wait_until(lambda: len(admin.list_topics(timeout=5).brokers) == len(specs), "all brokers are there", TIMEOUT_S)
        create(made, TOPIC)
        yield made
        made.check_alive()


@pytest.fixture(scope="module")
def java(tmp_path_factory: pytest.TempPathFactory) -> Iterator[JavaClients]:
    with JavaClients(tmp_path_factory.mktemp("java")) as clients:
        yield clients


@pytest.fixture
def group() -> str:
    return next(_names)


def admin_of(cluster: Cluster) -> AdminClient:
    return AdminClient({"bootstrap.servers": bootstrap_of(cluster), "log_level": 0})


def create(cluster: Cluster, topic: str) -> None:
    admin = admin_of(cluster)  # what it was asked ends with it
    admin.create_topics([NewTopic(topic, PARTITIONS)])[topic].result(TIMEOUT_S)


def member(cluster: Cluster, group: str, topic: str = TOPIC, **options: str) -> Member:
    return Member(bootstrap_of(cluster), group, topic, **CONSUMER, **options)


def committed(cluster: Cluster, group: str) -> dict[int, int]:
    return group_members.committed(bootstrap_of(cluster), group, TOPIC, PARTITIONS)


def described(cluster: Cluster, group: str) -> ConsumerGroupDescription:
    admin = admin_of(cluster)
    found: ConsumerGroupDescription = admin.describe_consumer_groups([group])[group].result(TIMEOUT_S)
    return found


def commit(each: Member | JavaMember, offset: int) -> None:
    each.commit(dict.fromkeys(each.partitions, offset))


def type_of(cluster: Cluster, group: str) -> str:
    return str(described(cluster, group).type.name)


def test_members_come_and_go(cluster: Cluster, group: str) -> None:
    with members(member(cluster, group) for _ in range(3)) as three:
        wait_balanced(three, PARTITIONS)
        seconds = max(one.assigned_s for one in three) - max(one.subscribed_s for one in three)
        report("a group of 3 confluent-kafka members is balanced", protocol="consumer", seconds=round(seconds, 3))
        with members([member(cluster, group)]) as more:
            wait_balanced([*three, *more], PARTITIONS)
        wait_balanced(three, PARTITIONS)
        three[0].commit(dict.fromkeys(three[0].partitions, 7))
        assert committed(cluster, group) == dict.fromkeys(three[0].partitions, 7)
        assert type_of(cluster, group) == "CONSUMER"


_VICTIM = """
import sys
from confluent_kafka import Consumer
consumer = Consumer({"bootstrap.servers": sys.argv[1], "group.id": sys.argv[2], "group.protocol": "consumer",
                     "log_level": 0})
consumer.subscribe([sys.argv[3]])
while True:
    consumer.poll(0.1)
"""


def test_a_killed_members_partitions_move_within_its_session(cluster: Cluster, group: str) -> None:
    victim = subprocess.Popen([sys.executable, "-c", _VICTIM, bootstrap_of(cluster), group, TOPIC])
    try:
        with members([member(cluster, group)]) as (survivor,):
            wait_until(lambda: len(survivor.partitions) == PARTITIONS // 2, "both have their half", TIMEOUT_S)
            victim.send_signal(signal.SIGKILL)
            killed_s = time.monotonic()
            wait_balanced([survivor], PARTITIONS)
            seconds = round(survivor.assigned_s - killed_s, 3)
            report("partitions of a killed member moved", protocol="consumer", session_ms=SESSION_MS, seconds=seconds)
    finally:
        victim.kill()
        victim.wait(TIMEOUT_S)


def test_a_regular_expression_finds_a_topic_that_comes_later(cluster: Cluster, group: str) -> None:
    with members([member(cluster, group, topic="^later-.*") for _ in range(2)]) as both:
        wait_until(lambda: len(described(cluster, group).members) == 2, "both have joined", TIMEOUT_S)
        create(cluster, "later-1")
        wait_balanced(both, PARTITIONS)


def test_static_members_come_back_to_what_they_had(cluster: Cluster, group: str) -> None:
    def made(name: str) -> Member:
        return member(cluster, group, **{"group.instance.id": name})

    with members([made("one"), made("two")]) as (one, two):
        wait_balanced([one, two], PARTITIONS)
        before, generations = one.partitions, two.generations
        one.stop()
        with members([made("one")]) as (again,):
            wait_until(lambda: again.partitions == before, "it has what it had", TIMEOUT_S)
            assert two.generations == generations


@pytest.mark.parametrize("ending", ["restart", "kill -9"])
def test_the_group_outlives_its_coordinator(cluster: Cluster, group: str, ending: str) -> None:
    with members(member(cluster, group) for _ in range(3)) as three:
        wait_balanced(three, PARTITIONS)
        three[0].commit(dict.fromkeys(three[0].partitions, 3))
        coordinator = cluster[described(cluster, group).coordinator.id]
        if ending == "restart":
            coordinator.stop()
        else:
            coordinator.kill()
        with members([member(cluster, group)]) as more:
            wait_balanced([*three, *more], PARTITIONS)
        wait_balanced(three, PARTITIONS)
        coordinator.start()
        until_no_error(lambda: three[0].commit(dict.fromkeys(three[0].partitions, 5)), "commits are taken")
        for partition, offset in committed(cluster, group).items():
            assert offset == 5 if partition in three[0].partitions else offset == 3


# Both protocols at once


class Rolling:
    """Members of one group, of both clients, in the protocol that each is started with."""

    def __init__(self, cluster: Cluster, java: JavaClients, group: str, strategy: str) -> None:
        self._cluster = cluster
        self._java = java
        self._group = group
        self._strategy = strategy
        self._offsets = itertools.count(1)
        self.running: list[Member | JavaMember] = []

    def start_pair(self, protocol: str) -> list[Member | JavaMember]:
        ours: dict[str, str] = {"group.protocol": protocol}
        javas = {"group.protocol": protocol}
        if protocol == "classic":
            ours["partition.assignment.strategy"] = self._strategy
            javas["partition.assignment.strategy"] = JAVA_ASSIGNORS[self._strategy]
            javas["heartbeat.interval.ms"] = "200"
        servers = bootstrap_of(self._cluster)
        # Java leads: as a leader librdkafka may copy what a Java member says of itself into its assignment, and such
        # a group cannot be upgraded, by Kafka's rules.
        pair: list[Member | JavaMember] = [
            JavaMember(self._java, servers, self._group, TOPIC, **javas),
            Member(servers, self._group, TOPIC, **ours),
        ]
        for each in pair:
            each.start()
            self.running.append(each)
            wait_balanced(self.running, PARTITIONS)
        return pair

    def stop(self, each: Member | JavaMember) -> None:
        self.running.remove(each)
        each.stop()

    def check(self, kind: str) -> None:
        """All partitions have an owner, whose commits are taken."""
        wait_balanced(self.running, PARTITIONS)
        wait_until(lambda: type_of(self._cluster, self._group) == kind, f"it is a {kind} group", TIMEOUT_S)
        for each in self.running:
            wait_until(partial(self._commits_are_taken, each), "commits are taken", TIMEOUT_S)

    def _commits_are_taken(self, each: Member | JavaMember) -> bool:
        """Partitions may still move between members that have all they should: then it commits again."""
        offset, before = next(self._offsets), each.partitions
        commit(each, offset)
        found = committed(self._cluster, self._group)
        return before == each.partitions and found.items() >= dict.fromkeys(before, offset).items()


@pytest.mark.peer
@pytest.mark.parametrize("strategy", JAVA_ASSIGNORS)
def test_a_group_goes_to_the_consumer_protocol_and_back_member_by_member(
    cluster: Cluster, java: JavaClients, group: str, strategy: str
) -> None:
    rolling = Rolling(cluster, java, group, strategy)
    try:
        old = rolling.start_pair("classic")
        rolling.check("CLASSIC")
        new = rolling.start_pair("consumer")
        rolling.check("CONSUMER")
        rolling.stop(old[1])
        rolling.check("CONSUMER")
        rolling.stop(old[0])
        rolling.check("CONSUMER")
        rolling.start_pair("classic")
        rolling.check("CONSUMER")
        for each in new:
            rolling.stop(each)
        rolling.check("CLASSIC")
    finally:
        for each in list(rolling.running):
            rolling.stop(each)
