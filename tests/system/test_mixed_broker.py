"""An Apache Kafka broker in a cluster of our controllers, and librdkafka as its client.

The broker registers, is unfenced, and serves: a topic, records with acks=all, a consumer group, a transaction. Our
leader is killed in the middle of it.
"""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, Message, Producer
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from support.figures import report
from support.processes.nodes import Cluster, Kind, NodeSpec, controllers
from support.processes.nodes_quorum import Quorum

pytestmark = [pytest.mark.slow, pytest.mark.peer]

BROKER_ID = 10
RECORDS = 300
_TIMEOUT_S = 120


def test_a_kafka_broker_serves_clients_while_our_leader_is_killed(tmp_path: Path) -> None:
    async def scenario(cluster: Cluster) -> None:
        cluster.start()
        async with Quorum(cluster) as quorum:
            view = await quorum.leader()
            bootstrap = cluster[BROKER_ID].broker_address
            await run(create_topic, bootstrap, "before")
            await run(produce, bootstrap, "before", 0)

            cluster[view.leader_id].kill()
            await run(produce, bootstrap, "before", RECORDS)
            after = await quorum.leader(above_epoch=view.leader_epoch)
            await run(create_topic, bootstrap, "after")
            await run(produce_in_transaction, bootstrap, "after")

            cluster.start(view.leader_id)
            await quorum.caught_up()
            before = await run(consume, bootstrap, "before", 2 * RECORDS)
            transactional = await run(consume, bootstrap, "after", RECORDS)
        assert sorted(before) == sorted(value(number) for number in range(2 * RECORDS))
        assert sorted(transactional) == sorted(value(number) for number in range(RECORDS))
        status = await asyncio.to_thread(cluster[BROKER_ID].stop)
        assert status in (0, 143), cluster[BROKER_ID].log_tail()
        report(
            "an Apache Kafka broker with our controllers",
            records=3 * RECORDS,
            lost=0,
            leader_killed=view.leader_id,
            leader_after=after.leader_id,
        )

    nodes = [*controllers(3), NodeSpec(BROKER_ID, Kind.KAFKA, roles="broker")]
    with Cluster(tmp_path, nodes) as cluster:
        asyncio.run(scenario(cluster))


async def run(function: Callable[..., Any], *arguments: object) -> Any:
    """librdkafka waits in its own way; the test goes on listening to the quorum meanwhile."""
    return await asyncio.to_thread(function, *arguments)


def value(number: int) -> bytes:
    return b"record %d" % number


def create_topic(bootstrap: str, name: str) -> None:
    admin = AdminClient({"bootstrap.servers": bootstrap})
    created = admin.create_topics([NewTopic(name, 3, 1)], operation_timeout=_TIMEOUT_S, request_timeout=_TIMEOUT_S)
    created[name].result(_TIMEOUT_S)


def produce(bootstrap: str, topic: str, first: int) -> None:
    producer = Producer({"bootstrap.servers": bootstrap, "acks": "all", "enable.idempotence": True})
    failures: list[object] = []
    for number in range(first, first + RECORDS):
        producer.produce(topic, value(number), on_delivery=lambda error, _: failures.append(error) if error else None)
    assert producer.flush(_TIMEOUT_S) == 0
    assert not failures


def produce_in_transaction(bootstrap: str, topic: str) -> None:
    """What is committed, and before it as much that is aborted."""
    producer = Producer({"bootstrap.servers": bootstrap, "transactional.id": "mixed"})
    producer.init_transactions(_TIMEOUT_S)
    for is_committed in (False, True):
        producer.begin_transaction()
        for number in range(RECORDS):
            producer.produce(topic, value(number) if is_committed else b"aborted")
        producer.flush(_TIMEOUT_S)
        if is_committed:
            producer.commit_transaction(_TIMEOUT_S)
        else:
            producer.abort_transaction(_TIMEOUT_S)


def consume(bootstrap: str, topic: str, count: int) -> list[bytes]:
    """In a group, and with a commit of its offsets at the end."""
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": f"group-{topic}",
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            "isolation.level": "read_committed",
        }
    )
    try:
        consumer.subscribe([topic])
        values: list[bytes] = []
        while len(values) < count:
            messages: list[Message] = consumer.consume(count - len(values), _TIMEOUT_S)
            assert messages, f"{len(values)} of {count} records of {topic} came"
            for message in messages:
                assert message.error() is None, message.error()
                values.append(message.value() or b"")
        consumer.commit(asynchronous=False)
        return values
    finally:
        consumer.close()
