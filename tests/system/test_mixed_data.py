"""One Apache Kafka broker and two of ours in a cluster, RF 3, min.insync 2, acks=all, with controllers of either kind.

Each kind leads and follows, is killed with -9 under load, comes back and catches up; a leader of each kind comes back
with records that nobody else has, and cuts them. At the end all three have the same bytes.
"""

import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient

from support.figures import report
from support.loads.data_load import CLIENT, DataLoad, admin_of, bootstrap_of, create_topic, leaders_of, wait_for_isr
from support.loads.data_logs import check_identical_logs
from support.processes.nodes import OURS, Cluster, Kind, NodeSpec, controllers
from support.waiting import wait_until

pytestmark = [pytest.mark.slow, pytest.mark.peer]

TOPIC = "load"
#: Records that only the leader has when it is killed.
TORN = "torn"
PARTITIONS = 3
KAFKA_ID = 4
BROKERS = (KAFKA_ID, 5, 6)
UNREPLICATED = 10
SETTINGS = {"leader.imbalance.check.interval.seconds": "1"}

#: A JVM starts in 3 s; on a busy machine in twenty times that.
_TIMEOUT_S = 180


def test_each_kind_leads_follows_and_is_killed_with_controllers_of_ours(tmp_path: Path) -> None:
    nodes = [*controllers(1), NodeSpec(KAFKA_ID, Kind.KAFKA, roles="broker"), *ours()]
    with Cluster(tmp_path, nodes, settings=SETTINGS) as cluster:
        kill_each_under_load(cluster, "our controller", before_the_end=lambda: cut_each_kind(cluster))


def test_each_kind_leads_follows_and_is_killed_with_a_controller_of_kafkas(tmp_path: Path) -> None:
    """The controller dies with its broker here, and nobody can be elected before both are back."""
    nodes = [NodeSpec(KAFKA_ID, Kind.KAFKA, roles="broker,controller"), *ours()]
    with Cluster(tmp_path, nodes, settings=SETTINGS) as cluster:
        kill_each_under_load(cluster, "Kafka's controller")


def ours() -> list[NodeSpec]:
    return [NodeSpec(node_id, OURS, roles="broker") for node_id in BROKERS if node_id != KAFKA_ID]


def kill_each_under_load(cluster: Cluster, name: str, before_the_end: Callable[[], None] = lambda: None) -> None:
    cluster.start()
    for topic in (TOPIC, TORN):
        create_topic(cluster, topic, PARTITIONS, len(BROKERS))
    admin = admin_of(cluster)
    gaps_ms: dict[str, int] = {}
    with DataLoad(bootstrap_of(cluster), TOPIC, PARTITIONS) as load:
        for victim in BROKERS:
            wait_until_each_leads(admin, TOPIC)
            load.more()
            began_s = time.monotonic()
            cluster[victim].kill()
            if not cluster[victim].spec.is_controller:
                load.more()
            cluster.start(victim)
            wait_for_isr(admin, TOPIC, *BROKERS)
            load.more()
            gaps_ms[f"{cluster[victim].spec.kind.value} {victim}"] = load.longest_gap_ms(began_s)
        wait_until_each_leads(admin, TOPIC)
    before_the_end()
    verdict = load.check(minimum=200 * len(BROKERS))
    cluster.check_alive()
    for node in cluster.nodes.values():
        node.kill()
    members = [cluster[node_id] for node_id in BROKERS]
    identical = sum(check_identical_logs(members, topic, PARTITIONS) for topic in (TOPIC, TORN))
    report(
        f"one broker of Kafka's and two of ours, {name}: kill -9 of each under load",
        **asdict(verdict),
        gaps_ms=gaps_ms,
        identical_bytes=identical,
    )


def wait_until_each_leads(admin: AdminClient, topic: str) -> None:
    """The controller goes back to the replicas that are named first; they were spread when the topic was made."""
    wait_until(
        lambda: set(leaders_of(admin, topic).values()) == set(BROKERS), f"each broker leads one of {topic}", _TIMEOUT_S
    )


def cut_each_kind(cluster: Cluster) -> None:
    """A leader appends what its followers, paused, do not get, and dies before they go on."""
    admin = admin_of(cluster)
    for victim in BROKERS[:2]:
        wait_until_each_leads(admin, TORN)
        partition = next(number for number, leader in leaders_of(admin, TORN).items() if leader == victim)
        produce_to_leader_alone(cluster, victim, partition)
        wait_until(
            lambda number=partition, was=victim: leaders_of(admin, TORN).get(number, was) != was, "another leads"
        )
        cluster.start(victim)
        wait_for_isr(admin, TORN, *BROKERS)
        wait_until(
            lambda node=cluster[victim], number=partition: has_cut(node.log_text(), number), "it has cut its log"
        )
    wait_for_isr(admin, TOPIC, *BROKERS)


def produce_to_leader_alone(cluster: Cluster, victim: int, partition: int) -> None:
    followers = [cluster[node_id] for node_id in BROKERS if node_id != victim]
    producer = Producer({"bootstrap.servers": cluster[victim].broker_address, "acks": "1", **CLIENT})
    errors: list[object] = []

    def send(value: bytes) -> None:
        producer.produce(TORN, value, partition=partition, on_delivery=lambda error, _: errors.append(error))
        assert producer.flush(60) == 0

    send(b"the connection stands")
    for follower in followers:
        follower.pause()
    for number in range(UNREPLICATED):
        send(b"unreplicated %d" % number)
    cluster[victim].kill()
    for follower in followers:
        follower.resume()
    assert errors == [None] * (UNREPLICATED + 1)


def has_cut(log_text: str, partition: int) -> bool:
    """In the words of either kind."""
    ours, kafkas = f"{TORN}-{partition}: truncated from ", f"partition={TORN}-{partition}, dir="
    return ours in log_text or any(kafkas in line and "Truncating to" in line for line in log_text.splitlines())
