"""Classic groups through clients that we did not write, on three nodes: rebalances, static members, members that die,
and offsets that outlive the coordinator."""

import asyncio
import itertools
import signal
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from aiokafka import AIOKafkaConsumer
from aiokafka.structs import TopicPartition as AioPartition
from confluent_kafka import ConsumerGroupTopicPartitions, KafkaError, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource, NewTopic, ResourceType

from support.figures import report
from support.loads import group_members
from support.loads.data_load import bootstrap_of
from support.loads.group_members import Member, accepted, members, until_no_error, wait_balanced
from support.processes.nodes import OURS, Cluster, NodeSpec
from support.waiting import wait_until

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)  # of how kafka-python reads its own files
    import kafka

pytestmark = pytest.mark.slow

TOPIC = "topic"
PARTITIONS = 6
RECORDS = 60
TIMEOUT_S = 60

_names = (f"group-{number}" for number in itertools.count())


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    settings = {
        "default.replication.factor": "3",
        "min.insync.replicas": "2",
        "offsets.topic.replication.factor": "3",
        "group.initial.rebalance.delay.ms": "250",
        "group.min.session.timeout.ms": "1000",
    }
    specs = [NodeSpec(node_id, OURS, roles="broker,controller") for node_id in (1, 2, 3)]
    with Cluster(tmp_path_factory.mktemp("groups"), specs, settings=settings) as made:
        made.start()
        admin = AdminClient({"bootstrap.servers": bootstrap_of(made), "log_level": 0})
        wait_until(lambda: len(admin.list_topics(timeout=5).brokers) == len(specs), "all brokers are there", TIMEOUT_S)
        admin.create_topics([NewTopic(TOPIC, PARTITIONS)])[TOPIC].result(TIMEOUT_S)
        fill(made)
        yield made
        made.check_alive()


@pytest.fixture
def group() -> str:
    return next(_names)


def fill(cluster: Cluster) -> None:
    producer = Producer({"bootstrap.servers": bootstrap_of(cluster), "log_level": 0})
    for number in range(RECORDS):
        producer.produce(TOPIC, b"%d" % number, partition=number % PARTITIONS)
    assert producer.flush(TIMEOUT_S) == 0


def committed(cluster: Cluster, group: str) -> dict[int, int]:
    return group_members.committed(bootstrap_of(cluster), group, TOPIC, PARTITIONS)


@pytest.mark.parametrize("strategy", ["range", "roundrobin", "cooperative-sticky"])
def test_members_come_and_go(cluster: Cluster, group: str, strategy: str) -> None:
    options = {"partition.assignment.strategy": strategy}
    with members(Member(bootstrap_of(cluster), group, TOPIC, **options) for _ in range(3)) as three:
        wait_balanced(three, PARTITIONS)
        seconds = max(one.assigned_s for one in three) - max(one.subscribed_s for one in three)
        report("a group of 3 confluent-kafka members is balanced", strategy=strategy, seconds=round(seconds, 3))
        with members([Member(bootstrap_of(cluster), group, TOPIC, **options)]) as more:
            wait_balanced([*three, *more], PARTITIONS)
        wait_balanced(three, PARTITIONS)
        three[0].commit(dict.fromkeys(three[0].partitions, 7))
        assert committed(cluster, group) == dict.fromkeys(three[0].partitions, 7)


def test_static_members_come_back_without_a_rebalance(cluster: Cluster, group: str) -> None:
    def made(name: str) -> Member:
        return Member(bootstrap_of(cluster), group, TOPIC, **{"group.instance.id": name, "session.timeout.ms": 30_000})

    with members([made("one"), made("two")]) as (one, two):
        wait_balanced([one, two], PARTITIONS)
        before, generations = one.partitions, two.generations
        one.stop()
        with members([made("one")]) as (again,):
            wait_until(lambda: again.partitions == before, "it has what it had", TIMEOUT_S)
            assert two.generations == generations
            # A second process with the same name fences the first.
            with members([made("one")]) as (thief,):
                wait_until(lambda: again.fatal is not None, "the first is fenced", TIMEOUT_S)
                assert again.fatal is not None and "fenced" in again.fatal
                wait_until(lambda: thief.partitions == before, "the second has what the first had", TIMEOUT_S)
                assert two.generations == generations


_VICTIM = """
import sys
from confluent_kafka import Consumer
consumer = Consumer({"bootstrap.servers": sys.argv[1], "group.id": sys.argv[2], "session.timeout.ms": 6000,
                     "heartbeat.interval.ms": 200, "log_level": 0})
consumer.subscribe([sys.argv[3]], on_assign=lambda _, given: print(len(given), flush=True))
while True:
    consumer.poll(0.1)
"""


def test_a_killed_members_partitions_move_within_its_session(cluster: Cluster, group: str) -> None:
    victim = subprocess.Popen(
        [sys.executable, "-c", _VICTIM, bootstrap_of(cluster), group, TOPIC], stdout=subprocess.PIPE, text=True
    )
    try:
        assert victim.stdout is not None
        with members([Member(bootstrap_of(cluster), group, TOPIC)]) as (survivor,):
            wait_until(lambda: len(survivor.partitions) == PARTITIONS // 2, "both have their half", TIMEOUT_S)
            victim.send_signal(signal.SIGKILL)
            killed_s = time.monotonic()
            wait_balanced([survivor], PARTITIONS)
            seconds = round(survivor.assigned_s - killed_s, 3)
            report("partitions of a killed member moved", session_ms=6000, seconds=seconds)
    finally:
        victim.kill()
        victim.communicate()


def test_aiokafka_shares_partitions_and_keeps_offsets(cluster: Cluster, group: str) -> None:
    def made() -> AIOKafkaConsumer:
        return AIOKafkaConsumer(
            TOPIC,
            bootstrap_servers=bootstrap_of(cluster),
            group_id=group,
            enable_auto_commit=False,
            auto_offset_reset="earliest",
            heartbeat_interval_ms=200,
        )

    async def test() -> None:
        one, two = made(), made()
        await asyncio.gather(one.start(), two.start())
        try:
            seen = 0
            async with asyncio.timeout(TIMEOUT_S):
                while len(one.assignment()) != 3 or len(two.assignment()) != 3:
                    await asyncio.gather(one.getmany(timeout_ms=100), two.getmany(timeout_ms=100))
                await asyncio.gather(*(each.seek_to_beginning() for each in (one, two)))
                while seen < RECORDS:
                    for found in await asyncio.gather(one.getmany(timeout_ms=200), two.getmany(timeout_ms=200)):
                        seen += sum(map(len, found.values()))
            await asyncio.gather(one.commit(), two.commit())
            assert await one.committed(AioPartition(TOPIC, 0)) == RECORDS // PARTITIONS
        finally:
            await asyncio.gather(one.stop(), two.stop())

    asyncio.run(test())
    assert committed(cluster, group) == dict.fromkeys(range(PARTITIONS), RECORDS // PARTITIONS)


def test_kafka_python_shares_partitions_and_keeps_offsets(cluster: Cluster, group: str) -> None:
    halves: list[set[int]] = [set(), set()]
    #: Who has read nothing has nothing to commit.
    have_read = [False, False]
    ending = threading.Event()

    def poll(mine: int) -> None:
        consumer = kafka.KafkaConsumer(
            TOPIC,
            bootstrap_servers=bootstrap_of(cluster).split(","),
            group_id=group,
            enable_auto_commit=False,
            auto_offset_reset="earliest",
            heartbeat_interval_ms=200,
        )
        while not ending.is_set():
            have_read[mine] |= bool(consumer.poll(timeout_ms=100))
            halves[mine] = {one.partition for one in consumer.assignment()}
        consumer.commit()
        consumer.close()

    threads = [threading.Thread(target=poll, args=(mine,)) for mine in (0, 1)]
    for thread in threads:
        thread.start()
    try:
        wait_until(lambda: sorted(map(len, halves)) == [3, 3] and not halves[0] & halves[1], "halves", TIMEOUT_S)
        wait_until(lambda: all(have_read), "both have read", TIMEOUT_S)
    finally:
        ending.set()
        for thread in threads:
            thread.join(TIMEOUT_S)
    assert committed(cluster, group) != {}


def test_offsets_outlive_a_killed_coordinator_and_restarts(cluster: Cluster, group: str) -> None:
    with members(Member(bootstrap_of(cluster), group, TOPIC) for _ in range(2)) as two:
        wait_balanced(two, PARTITIONS)
        for member in two:
            member.commit({index: index + 1 for index in member.partitions})
        everything = {index: index + 1 for index in range(PARTITIONS)}
        assert committed(cluster, group) == everything
        generations = [member.generations for member in two]

        coordinator = coordinator_of(cluster, group)
        cluster[coordinator].kill()
        assert committed(cluster, group) == everything
        assert coordinator_of(cluster, group) != coordinator
        # Members are heard by the new coordinator within their sessions, and nobody has to join again.
        member = two[0]
        until_no_error(lambda: member.commit({min(member.partitions): 9}), "a member commits again")
        assert [member.generations for member in two] == generations
        everything[min(member.partitions)] = 9
        assert committed(cluster, group) == everything
        cluster.start(coordinator)

    for node in cluster.nodes.values():
        node.begin_stop()
    for node in cluster.nodes.values():
        node.end_stop()
    cluster.start()
    assert committed(cluster, group) == everything


def coordinator_of(cluster: Cluster, group: str) -> int:
    admin = AdminClient({"bootstrap.servers": bootstrap_of(cluster), "log_level": 0})
    described = until_no_error(
        lambda: admin.describe_consumer_groups([group])[group].result(TIMEOUT_S), "the group is described"
    )
    found: int = described.coordinator.id
    return found


def alter(admin: AdminClient, group: str, offsets: dict[int, int]) -> None:
    wanted = [TopicPartition(TOPIC, index, offset) for index, offset in offsets.items()]
    asked = ConsumerGroupTopicPartitions(group, wanted)
    accepted(admin.alter_consumer_group_offsets([asked])[group].result(TIMEOUT_S).topic_partitions)


def test_an_admin_client_lists_alters_and_deletes(cluster: Cluster, group: str) -> None:
    admin = AdminClient({"bootstrap.servers": bootstrap_of(cluster), "log_level": 0})
    until_no_error(lambda: alter(admin, group, {0: 3, 1: 4}), "offsets are altered")

    def states() -> dict[str, str]:
        """Of all brokers. By a new client: librdkafka may have dropped one that was away when it last looked."""
        looking = AdminClient({"bootstrap.servers": bootstrap_of(cluster), "log_level": 0})
        assert len(looking.list_topics(timeout=TIMEOUT_S).brokers) == len(cluster.nodes), "a broker is away"
        listed = looking.list_consumer_groups().result(TIMEOUT_S)
        assert not listed.errors, listed.errors
        return {one.group_id: one.state.name for one in listed.valid}

    wait_until(lambda: states().get(group) == "EMPTY", "the group is listed", TIMEOUT_S, lambda: f"{states()}")
    assert committed(cluster, group) == {0: 3, 1: 4}
    admin.delete_consumer_groups([group])[group].result(TIMEOUT_S)
    wait_until(lambda: group not in states(), "the group is not listed any more", TIMEOUT_S)
    assert committed(cluster, group) == {}


def test_offsets_that_too_few_replicas_would_hold_are_refused(cluster: Cluster, group: str) -> None:
    """As after a restart of all nodes, while the first that came back is in sync with itself alone."""
    admin = AdminClient({"bootstrap.servers": bootstrap_of(cluster), "log_level": 0})

    def is_refused() -> bool:
        try:
            alter(admin, group, {0: 3})
        except KafkaException as error:
            return bool(error.args[0].code() == KafkaError.COORDINATOR_NOT_AVAILABLE)
        return False

    until_no_error(lambda: alter(admin, group, {0: 3}), "offsets are altered")
    coordinator = coordinator_of(cluster, group)
    away = next(node_id for node_id in cluster.nodes if node_id != coordinator)
    with all_replicas_needed(admin):
        cluster[away].stop()
        wait_until(is_refused, "a replica is missed", TIMEOUT_S)
        cluster.start(away)
        until_no_error(lambda: alter(admin, group, {0: 4}), "all replicas are there again")
        assert committed(cluster, group) == {0: 4}


@contextmanager
def all_replicas_needed(admin: AdminClient) -> Iterator[None]:
    """Of the groups' topic."""

    def change(operation: AlterConfigOpType) -> None:
        entry = ConfigEntry("min.insync.replicas", "3", incremental_operation=operation)
        asked = ConfigResource(ResourceType.TOPIC, "__consumer_offsets", incremental_configs=[entry])
        admin.incremental_alter_configs([asked])[asked].result(TIMEOUT_S)

    change(AlterConfigOpType.SET)
    try:
        yield
    finally:
        change(AlterConfigOpType.DELETE)
