"""Our members in groups, on an Odradek node and on one of Apache Kafka, in both protocols: alone, and with members of
other clients."""

import itertools
import re
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

from support.figures import report
from support.loads import group_members
from support.loads.data_load import bootstrap_of
from support.loads.group_members import Member, wait_balanced
from support.loads.our_members import OurMember
from support.peers.java_clients import JavaClients, JavaMember
from support.processes.nodes import Cluster, Kind, NodeSpec
from support.waiting import wait_until

pytestmark = [pytest.mark.slow, pytest.mark.peer]

PARTITIONS = 6
TIMEOUT_S = 90
#: Those of `odradek up`, but for the sessions.
SETTINGS = {
    "auto.create.topics.enable": "false",
    "offsets.topic.replication.factor": "1",
    "offsets.topic.num.partitions": "4",
    "group.initial.rebalance.delay.ms": "250",
    "group.min.session.timeout.ms": "1000",
    "group.consumer.min.heartbeat.interval.ms": "200",
    "group.consumer.heartbeat.interval.ms": "200",
    "group.consumer.assignment.interval.ms": "0",
    "group.consumer.min.session.timeout.ms": "1000",
    # A member on a busy machine must not be missed, and one that comes back must be there before.
    "group.consumer.session.timeout.ms": "10000",
}
JAVA_ASSIGNORS = {
    "range": "org.apache.kafka.clients.consumer.RangeAssignor",
    "cooperative-sticky": "org.apache.kafka.clients.consumer.CooperativeStickyAssignor",
}
WAYS = ("range", "cooperative-sticky", "consumer")

_names = (f"names-{number}" for number in itertools.count())


def options_of(way: str, *, java: bool = False) -> dict[str, str]:
    if way == "consumer":
        return {"group.protocol": "consumer"}
    if not java:
        return {"partition.assignment.strategy": way}
    return {"partition.assignment.strategy": JAVA_ASSIGNORS[way], "heartbeat.interval.ms": "200"}


@dataclass
class World:
    cluster: Cluster
    kind: Kind

    def __post_init__(self) -> None:
        self.bootstrap = bootstrap_of(self.cluster)
        self.admin = AdminClient({"bootstrap.servers": self.bootstrap, "log_level": 0})
        self.producer = Producer({"bootstrap.servers": self.bootstrap, "log_level": 0})

    def new_topic(self) -> str:
        name = next(_names)
        self.admin.create_topics([NewTopic(name, PARTITIONS)])[name].result(TIMEOUT_S)
        wait_until(lambda: self._is_led(name), f"{name} has leaders", TIMEOUT_S)
        return name

    def _is_led(self, name: str) -> bool:
        partitions = self.admin.list_topics(name, timeout=10).topics[name].partitions.values()
        return len(partitions) == PARTITIONS and all(each.leader >= 0 for each in partitions)

    def produce(self, topic: str, each: int) -> None:
        """So many records to each partition."""
        for number in range(each * PARTITIONS):
            self.producer.produce(topic, b"%d" % number, partition=number % PARTITIONS)
        assert self.producer.flush(TIMEOUT_S) == 0

    def committed(self, group: str, topic: str) -> dict[int, int]:
        return group_members.committed(self.bootstrap, group, topic, PARTITIONS)


@pytest.fixture(scope="module", params=[Kind.ODRADEK, Kind.KAFKA], ids=lambda kind: kind.value)
def world(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    specs = [NodeSpec(1, request.param, roles="broker,controller")]
    with Cluster(tmp_path_factory.mktemp("client-groups"), specs, settings=SETTINGS) as cluster:
        cluster.start()
        world = World(cluster, request.param)
        wait_until(lambda: len(world.admin.list_topics(timeout=5).brokers) == 1, "the broker is there", TIMEOUT_S)
        yield world
        cluster.check_alive()


@pytest.fixture(scope="module")
def java(tmp_path_factory: pytest.TempPathFactory) -> Iterator[JavaClients]:
    with JavaClients(tmp_path_factory.mktemp("java")) as clients:
        yield clients


def at_once(ways: Sequence[str], scenario: Callable[[str], None]) -> None:
    """Groups have nothing to do with each other, and most of the time they wait."""
    with ThreadPoolExecutor(len(ways)) as pool:
        for ended in [pool.submit(scenario, way) for way in ways]:
            ended.result()


def started(stack: ExitStack, *members: OurMember | Member | JavaMember) -> None:
    for member in members:
        stack.callback(member.stop)
        member.start()


def read(members: list[OurMember]) -> list[tuple[int, int]]:
    return sorted(record for member in members for record in member.records)


def test_members_come_and_go_and_every_record_is_read_once(world: World) -> None:
    at_once(WAYS, lambda way: members_come_and_go_and_every_record_is_read_once(world, way))


def members_come_and_go_and_every_record_is_read_once(world: World, way: str) -> None:
    """Each takes over exactly where the one before has stopped: what was read is committed before it is given up."""
    topic = group = world.new_topic()
    options = {**options_of(way), "enable.auto.commit": True}
    members = [OurMember(world.bootstrap, group, topic, **options) for _ in range(4)]
    with ExitStack() as stack:
        started(stack, *members[:3])
        wait_balanced(members[:3], PARTITIONS)
        seconds = max(one.assigned_s for one in members[:3]) - max(one.subscribed_s for one in members[:3])
        report("a group of 3 of our members is balanced", broker=world.kind.value, way=way, seconds=round(seconds, 3))
        world.produce(topic, 40)
        wait_until(lambda: len(read(members)) >= 20 * PARTITIONS, "some are read", TIMEOUT_S)
        started(stack, members[3])
        wait_balanced(members, PARTITIONS)
        world.produce(topic, 40)
        members[0].stop()
        wait_balanced(members[1:], PARTITIONS)
        world.produce(topic, 40)
        expected = [(partition, offset) for partition in range(PARTITIONS) for offset in range(120)]
        wait_until(lambda: len(read(members)) >= len(expected), "all are read", TIMEOUT_S)
    assert read(members) == expected
    assert world.committed(group, topic) == dict.fromkeys(range(PARTITIONS), 120)
    for member in members:
        check_order(member, is_eager=way == "range")


def check_order(member: OurMember, *, is_eager: bool) -> None:
    """Nothing is assigned twice or revoked that was not there; who is eager gives up all it has at once. Who leaves
    while the others' leaving is dealt with hears, as in Kafka, that it has lost what it had."""
    held: set[int] = set()
    for number, (what, partitions) in enumerate(member.events, start=1):
        if what == "assigned":
            assert held.isdisjoint(partitions), member.events
            held.update(partitions)
        else:
            leaves = what == "lost" and number == len(member.events)
            assert (what == "revoked" or leaves) and held.issuperset(partitions), member.events
            assert not is_eager or held == set(partitions), member.events
            held.difference_update(partitions)
    assert not held, member.events


def test_a_group_of_three_clients(world: World, java: JavaClients) -> None:
    at_once(WAYS, lambda way: a_group_of_three_clients(world, java, way))


def a_group_of_three_clients(world: World, java: JavaClients, way: str) -> None:
    """Whoever leads it, all get their share, and commit it; whoever goes leaves its share to the others."""
    topic = group = world.new_topic()
    world.produce(topic, 5)
    ours = OurMember(world.bootstrap, group, topic, **options_of(way))
    theirs = Member(world.bootstrap, group, topic, **options_of(way))
    javas = JavaMember(java, world.bootstrap, group, topic, **options_of(way, java=True))
    three = [ours, theirs, javas]
    with ExitStack() as stack:
        started(stack, *three)
        wait_balanced(three, PARTITIONS)
        for each, offset in ((ours, 1), (theirs, 2), (javas, 3)):
            each.commit(dict.fromkeys(each.partitions, offset))
        held = {number: offset for one, offset in ((ours, 1), (theirs, 2), (javas, 3)) for number in one.partitions}
        assert world.committed(group, topic) == held
        theirs.stop()
        wait_balanced([ours, javas], PARTITIONS)
        ours.stop()
        wait_balanced([javas], PARTITIONS)


def test_a_static_member_comes_back_to_its_partitions(world: World) -> None:
    at_once(("range", "consumer"), lambda way: a_static_member_comes_back_to_its_partitions(world, way))


def a_static_member_comes_back_to_its_partitions(world: World, way: str) -> None:
    """Within its session nobody else gets them, and nobody is told anything."""
    topic = group = world.new_topic()
    options = options_of(way)
    session = {} if way == "consumer" else {"session.timeout.ms": 30_000}
    stays = OurMember(world.bootstrap, group, topic, **options, **session, **{"group.instance.id": "stays"})
    goes = OurMember(world.bootstrap, group, topic, **options, **session, **{"group.instance.id": "goes"})
    back = OurMember(world.bootstrap, group, topic, **options, **session, **{"group.instance.id": "goes"})
    with ExitStack() as stack:
        started(stack, stays, goes)
        wait_balanced([stays, goes], PARTITIONS)
        before, events = goes.partitions, list(stays.events)
        goes.stop()
        started(stack, back)
        wait_until(lambda: back.partitions == before, "it has its partitions again", TIMEOUT_S)
        assert stays.events == events


def test_patterns_find_topics(world: World) -> None:
    """One of our own, which each member matches, and one that the coordinator matches."""
    topic = world.new_topic()
    patterns: dict[str, str | re.Pattern[str]] = {
        "range": re.compile(f"{topic}|nothing"),
        "consumer": f"{topic}|nothing",
    }

    def scenario(way: str) -> None:
        found = OurMember(world.bootstrap, f"{topic}-{way}", "", pattern=patterns[way], **options_of(way))
        with ExitStack() as stack:
            started(stack, found)
            wait_balanced([found], PARTITIONS)
            wait_until(lambda: len(found.records) == PARTITIONS, "all is read", TIMEOUT_S)

    world.produce(topic, 1)
    at_once(list(patterns), scenario)


_VICTIM = """
import asyncio, sys
from odradek.client.consumer.consumer import Consumer
async def main():
    settings = dict(each.split("=", 1) for each in sys.argv[2:])
    async with Consumer(settings) as consumer:
        consumer.subscribe([sys.argv[1]])
        while True:
            await consumer.poll(timeout_ms=100)
asyncio.run(main())
"""


def test_a_killed_member_is_missed(world: World) -> None:
    at_once(("cooperative-sticky", "consumer"), lambda way: a_killed_member_is_missed(world, way))


def a_killed_member_is_missed(world: World, way: str) -> None:
    """When its session is over; the others keep what they have."""
    topic = group = world.new_topic()
    settings = {"bootstrap.servers": world.bootstrap, "group.id": group, **options_of(way)}
    if way != "consumer":
        settings |= {"session.timeout.ms": "8000", "heartbeat.interval.ms": "200"}
    stays = OurMember(world.bootstrap, group, topic, **options_of(way))
    command = [sys.executable, "-c", _VICTIM, topic, *(f"{name}={value}" for name, value in settings.items())]
    with ExitStack() as stack:
        started(stack, stays)
        wait_balanced([stays], PARTITIONS)
        victim = subprocess.Popen(command, stderr=subprocess.DEVNULL)
        try:
            wait_until(lambda: len(stays.partitions) == PARTITIONS // 2, "the other has its share", TIMEOUT_S)
        finally:
            victim.kill()
            victim.wait()
        wait_balanced([stays], PARTITIONS)
        assert [what for what, partitions in stays.events if partitions] == ["assigned", "revoked", "assigned"]
