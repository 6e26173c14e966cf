"""`odradek log verify` finds nothing wrong with what Apache Kafka leaves of transactions in logs that it compacts."""

import random
from pathlib import Path

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import NewTopic

from odradek.cli.app import run
from support.loads.data_load import CLIENT, admin_of, bootstrap_of, leaders_of
from support.processes.nodes import Cluster, Kind, NodeSpec
from support.waiting import wait_until

pytestmark = [pytest.mark.slow, pytest.mark.peer]

TOPIC = "compacted"
#: Rounds of the cleaner, so that markers lose their data and then go.
CLEANINGS = 3
#: Producers are forgotten soon, and transactions without data at the next round.
SETTINGS = {
    "log.cleaner.backoff.ms": "50",
    "log.segment.delete.delay.ms": "100",
    "producer.id.expiration.ms": "1000",
    "producer.id.expiration.check.interval.ms": "200",
}
COMPACTED = {
    "cleanup.policy": "compact",
    "segment.ms": "100",
    "min.cleanable.dirty.ratio": "0.0",
    "delete.retention.ms": "0",
}


def test_nothing_is_wrong_with_compacted_logs_of_transactions(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """After a kill, and after a clean stop of the node that recovered from it."""
    draw = random.Random(4)
    with Cluster(tmp_path, [NodeSpec(1, Kind.KAFKA, roles="broker,controller")], settings=SETTINGS) as cluster:
        cluster.start()
        admin = admin_of(cluster)
        wait_until(lambda: len(admin.list_topics(timeout=5).brokers) == 1, "the broker is there")
        admin.create_topics([NewTopic(TOPIC, 1, 1, config=COMPACTED)])[TOPIC].result(60)
        write_until_cleaned(cluster, "before", draw)
        cluster[1].kill()
        assert problems_in(cluster, capsys) == []
        cluster.start(1)
        wait_until(lambda: leaders_of(admin, TOPIC) == {0: 1}, "the partition is led")
        write_until_cleaned(cluster, "after", draw)
        cluster[1].stop()
        assert problems_in(cluster, capsys) == []


def write_until_cleaned(cluster: Cluster, name: str, draw: random.Random) -> None:
    """Transactions of two producers, and records of two idempotent ones, over few keys."""
    cleaned_before = cleanings(cluster)
    transactional = [producer(cluster, {"transactional.id": f"{name}-{index}"}) for index in range(2)]
    idempotent = [producer(cluster, {"enable.idempotence": True}) for _ in range(2)]
    for member in transactional:
        member.init_transactions(60)

    def is_cleaned_after_more() -> bool:
        for member in transactional:
            member.begin_transaction()
            write(member, draw)
            (member.commit_transaction if draw.random() < 0.4 else member.abort_transaction)(60)
        for member in idempotent:
            write(member, draw)
        return cleanings(cluster) >= cleaned_before + CLEANINGS

    wait_until(is_cleaned_after_more, "the log was cleaned")


def write(member: Producer, draw: random.Random) -> None:
    for _ in range(draw.randint(1, 3)):
        member.produce(TOPIC, b"value", key=b"key %d" % draw.randrange(8))
    assert member.flush(60) == 0


def producer(cluster: Cluster, options: dict[str, object]) -> Producer:
    return Producer({"bootstrap.servers": bootstrap_of(cluster), **CLIENT, **options})


def cleanings(cluster: Cluster) -> int:
    return cluster[1].log_text().count(f"Log cleaner thread 0 cleaned log {TOPIC}-0")


def problems_in(cluster: Cluster, capsys: pytest.CaptureFixture[str]) -> list[str]:
    capsys.readouterr()
    run(["log", "verify", str(cluster[1].data)])
    return [line for line in capsys.readouterr().out.splitlines() if line.startswith("problem: ")]
