"""Thousands of partitions: made, written, read, started again and deleted, while another client goes on.

No broker may be fenced on the way: whoever is busy with a thousand logs still answers, and is still heard.
"""

import time
from collections.abc import Callable
from pathlib import Path

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient

from support.figures import report
from support.loads.data_load import (
    CLIENT,
    DataLoad,
    admin_of,
    bootstrap_of,
    create_topic,
    leaders_of,
    read_all,
    wait_for_isr,
)
from support.loads.data_logs import check_identical_logs
from support.processes.nodes import OURS, Cluster, Node, NodeSpec
from support.waiting import wait_until

MANY = "many"
PARTITIONS = 1_000
STEADY = "steady"


@pytest.mark.slow
def test_a_thousand_partitions_on_one_node(tmp_path: Path) -> None:
    with Cluster(tmp_path, [NodeSpec(1, OURS, roles="broker,controller")]) as cluster:
        cluster.start()
        create_topic(cluster, STEADY, 1, 1)
        admin = admin_of(cluster)
        seconds: dict[str, float] = {}
        with DataLoad(bootstrap_of(cluster), STEADY, 1, producers=1) as load:
            load.more(20)
            began_s = time.monotonic()
            seconds["made"] = timed(lambda: create_topic(cluster, MANY, PARTITIONS, 1))
            gap_ms = load.longest_gap_ms(began_s)
            seconds["written"] = timed(lambda: write_to_all(cluster))
            seconds["read"] = timed(lambda: check_all(cluster, records=1))
            load.more(20)
            assert not fenced(cluster[1])
            memory_mb, descriptors = resident_mb(cluster[1]), open_descriptors(cluster[1])
            seconds["stopped"] = timed(lambda: stop(cluster[1]))
            seconds["started"] = timed(lambda: start(cluster, admin))
            check_all(cluster, records=1)
            cluster[1].kill()
            seconds["started after kill -9"] = timed(lambda: start(cluster, admin))
            write_to_all(cluster)
            check_all(cluster, records=2)
            load.more(20)
        load.check(minimum=60)
        seconds["deleted"] = timed(lambda: delete(cluster, admin))
        create_topic(cluster, MANY, PARTITIONS, 1)
        check_all(cluster, records=0)
        rounded = {what: round(taken_s, 2) for what, taken_s in seconds.items()}
        report(
            "1,000 partitions on one node",
            seconds=rounded,
            longest_gap_of_another_ms=gap_ms,
            resident_mb=memory_mb,
            descriptors=descriptors,
        )


@pytest.mark.slow
def test_a_thousand_partitions_on_three_nodes_of_which_one_has_a_damaged_log(tmp_path: Path) -> None:
    """The leader that finds its log damaged gives up, another one leads, and all three are in sync in the end."""
    specs = [NodeSpec(node_id, OURS, roles="broker,controller") for node_id in (1, 2, 3)]
    with Cluster(tmp_path, specs) as cluster:
        cluster.start()
        admin = admin_of(cluster)
        create_topic(cluster, STEADY, 1, 3)
        made_s = timed(lambda: create_topic(cluster, MANY, PARTITIONS, 3))
        in_sync_s = timed(lambda: wait_for_isr(admin, MANY, 1, 2, 3))
        write_to_all(cluster)
        check_all(cluster, records=1)
        assert not any(fenced(node) for node in cluster.nodes.values())
        victim = leaders_of(admin, MANY)[0]
        damage(cluster[victim], partition=0)
        check_all(cluster, records=1)
        wait_until(lambda: leaders_of(admin, MANY)[0] != victim, "another one leads")
        write_to_all(cluster)
        check_all(cluster, records=2)
        wait_until(lambda: list(cluster[victim].data.glob(f"{MANY}-0.*-stray")), "the damaged log is set aside")
        wait_for_isr(admin, MANY, 1, 2, 3)
        for node in cluster.nodes.values():
            node.kill()
        identical = check_identical_logs(cluster.nodes.values(), MANY, PARTITIONS)
        report(
            "1,000 partitions on three nodes",
            made_s=round(made_s, 2),
            in_sync_s=round(in_sync_s, 2),
            identical_bytes=identical,
        )


def write_to_all(cluster: Cluster) -> None:
    """One record to each partition."""
    producer = Producer({"bootstrap.servers": bootstrap_of(cluster), "acks": "all", "linger.ms": 20, **CLIENT})
    failed: list[str] = []
    for partition in range(PARTITIONS):
        producer.produce(
            MANY,
            f"{partition}".encode(),
            partition=partition,
            on_delivery=lambda error, _: failed.append(str(error)) if error else None,
        )
    assert producer.flush(120) == 0
    assert not failed, f"{len(failed)} records failed: {failed[0]}"


def check_all(cluster: Cluster, *, records: int) -> None:
    found = read_all(bootstrap_of(cluster), MANY, PARTITIONS)
    expected = {
        (partition, offset): f"{partition}".encode() for partition in range(PARTITIONS) for offset in range(records)
    }
    assert found == expected


def start(cluster: Cluster, admin: AdminClient) -> None:
    cluster.start(1)
    wait_until(lambda: len(leaders_of(admin, MANY)) == PARTITIONS, "all partitions have leaders again")


def stop(node: Node) -> None:
    assert node.stop() == 0


def delete(cluster: Cluster, admin: AdminClient) -> None:
    admin.delete_topics([MANY], request_timeout=120)[MANY].result(120)
    data = cluster[1].data
    wait_until(lambda: not [path for path in data.glob(f"{MANY}-*") if "." not in path.name], "no log of it is left")


def damage(node: Node, partition: int) -> None:
    """A bit of what was written is another one now."""
    with (node.data / f"{MANY}-{partition}" / f"{0:020d}.log").open("r+b") as file:
        file.seek(65)
        byte = file.read(1)[0]
        file.seek(65)
        file.write(bytes([byte ^ 1]))


def fenced(node: Node) -> list[str]:
    return [line for line in node.log_text().splitlines() if " is fenced" in line]


def resident_mb(node: Node) -> int:
    assert node.process is not None
    status = Path(f"/proc/{node.process.pid}/status").read_text()
    return int(status.partition("VmRSS:")[2].split()[0]) // 1000


def open_descriptors(node: Node) -> int:
    assert node.process is not None
    return len(list(Path(f"/proc/{node.process.pid}/fd").iterdir()))


def timed(work: Callable[[], object]) -> float:
    began_s = time.monotonic()
    work()
    return time.monotonic() - began_s
