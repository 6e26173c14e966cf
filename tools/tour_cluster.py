"""The part of the tour about the quorum: processes that elect, are killed, and have Apache Kafka among them."""

import time
from collections.abc import Callable
from pathlib import Path

from confluent_kafka import Consumer, KafkaException, Producer
from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]

from support.processes.nodes import Cluster, Kind, Node, NodeSpec, controllers
from tour_words import say, shell, title

RECORDS = 2_000
KILLS = 3
CHANGES = 20
_BROKER, _KAFKA_BROKER = 11, 12
_PATIENCE_S = 60.0
_SHORT_S = 5.0


def tour(home: Path) -> None:
    nodes = [
        *controllers(3, Kind.ODRADEK),
        NodeSpec(_BROKER, Kind.ODRADEK, roles="broker"),
        NodeSpec(_KAFKA_BROKER, Kind.KAFKA, roles="broker"),
    ]
    with Cluster(home, nodes) as cluster:
        _elect(cluster, home)
        _kill_leaders(cluster)
        _mixed(cluster)


def _elect(cluster: Cluster, home: Path) -> None:
    title("1. Three controllers and a broker of ours, each a process; and the broker of an Apache Kafka 4.3.1 to come")
    started = time.monotonic()
    cluster.start(1, 2, 3, _BROKER)
    admin = _admin(cluster[_BROKER])
    _create(admin, "orders")
    say(f"first topic created by librdkafka {time.monotonic() - started:.2f} s after the processes were started")
    cluster.start(_KAFKA_BROKER)  # its JVM takes a while; we go on meanwhile
    address = f"--bootstrap-controller={cluster[1].controller_address}"
    shell("quorum", "describe", address, lines=16, cwd=home)
    shell("metadata", "tree", "image/topics/byName", address, lines=12, cwd=home)


def _kill_leaders(cluster: Cluster) -> None:
    title("2. kill -9 of the active controller, while topics are created")
    admin, made, longest_s = _admin(cluster[_BROKER]), 0, 0.0
    for _ in range(KILLS):
        leader = _leader(cluster)
        leader.kill()
        last = time.monotonic()
        for _ in range(CHANGES):
            _create(admin, f"topic-{made}")
            made, now = made + 1, time.monotonic()
            longest_s, last = max(longest_s, now - last), now
        say(f"controller {leader.id} killed; controller {_leader(cluster).id} leads, and {made} topics are there")
        _restart(leader)
    listed = admin.list_topics(timeout=_PATIENCE_S).topics
    lost = [number for number in range(made) if f"topic-{number}" not in listed]
    say(f"{KILLS} kills, {made} topics acknowledged, {len(lost)} lost; longest wait for one of them {longest_s:.2f} s")


def _restart(node: Node) -> None:
    """Until it follows again: with two of three nothing would be left for the next kill."""
    joined = "-> Follower in epoch"
    before = node.log_text().count(joined)
    node.start()
    _until(lambda: node.log_text().count(joined) > before, f"controller {node.id} follows again")


def _mixed(cluster: Cluster) -> None:
    title("3. The Apache Kafka broker has joined our controllers: produce, a transaction, a consumer group")
    # Ours leaves in a controlled way: it serves metadata, not yet data.
    cluster[_BROKER].stop()
    kafka = cluster[_KAFKA_BROKER]
    _until(lambda: _is_up(kafka), "the Apache Kafka broker is up")
    _create(_admin(kafka), "mixed", on=kafka.id)
    producer = Producer({"bootstrap.servers": kafka.broker_address, "transactional.id": "tour"})
    producer.init_transactions(_PATIENCE_S)
    producer.begin_transaction()
    for number in range(RECORDS):
        producer.produce("mixed", b"record %d" % number)
    producer.commit_transaction(_PATIENCE_S)
    options = {"group.id": "tour", "auto.offset.reset": "earliest", "isolation.level": "read_committed"}
    consumer = Consumer({"bootstrap.servers": kafka.broker_address, **options})
    consumer.subscribe(["mixed"])
    consumed = 0
    while consumed < RECORDS:
        consumed += len(consumer.consume(RECORDS - consumed, _PATIENCE_S))
    consumer.close()
    say(f"{RECORDS:,} records in one transaction through the Kafka broker, {consumed:,} consumed by a group")


def _leader(cluster: Cluster) -> Node:
    """By what the controllers' own logs say: the latest epoch that one of them became active in."""
    active: dict[int, Node] = {}

    def look() -> bool:
        for node in cluster.controllers:
            for line in node.log_text().splitlines():
                if "became active in epoch" in line:
                    active[int(line.split("became active in epoch ")[1].split()[0])] = node
        return bool(active) and active[max(active)].is_running

    _until(look, "a controller is active")
    return active[max(active)]


def _admin(node: Node) -> AdminClient:
    return AdminClient({"bootstrap.servers": node.broker_address, "reconnect.backoff.max.ms": 200, "log_level": 0})


def _create(admin: AdminClient, name: str, on: int = _BROKER) -> None:
    """Once it is there, however often it has to be asked for."""

    def created() -> bool:
        topic = NewTopic(name, 1, replica_assignment=[[on]])
        try:
            admin.create_topics([topic], request_timeout=_SHORT_S)[name].result(_SHORT_S)
        except KafkaException as error:
            return "TOPIC_ALREADY_EXISTS" in str(error)
        except TimeoutError:
            return False
        return True

    _until(created, f"the topic {name} is created")


def _is_up(node: Node) -> bool:
    node.check_alive()
    try:
        return node.id in _admin(node).list_topics(timeout=_SHORT_S).brokers
    except KafkaException:
        return False


def _until(condition: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + _PATIENCE_S
    while not condition():
        if time.monotonic() > deadline:
            raise SystemExit(f"tour: in {_PATIENCE_S:.0f} s it did not come to: {what}")
        time.sleep(0.01)
