"""Moving in and out: a node stops or is killed, the other kind is started on its directory, and has everything."""

from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient

from support.figures import report
from support.loads.data_load import DataLoad, admin_of, bootstrap_of, create_topic, read_all, wait_for_isr
from support.loads.data_logs import check_identical_logs
from support.processes.nodes import OURS, Cluster, Kind, NodeSpec
from support.waiting import wait_until

pytestmark = [pytest.mark.slow, pytest.mark.peer]

TOPIC = "moving"
PARTITIONS = 3
#: Logs of several segments, with their indexes and producers' snapshots.
SMALL_SEGMENTS = {"segment.ms": "5000"}
RECORDS = 1_500


def test_a_single_node_moves_there_and_back(tmp_path: Path) -> None:
    """Ours, stopped, to Kafka; Kafka, killed, to ours; ours, killed, to Kafka; Kafka, stopped, to ours."""
    with Cluster(tmp_path, [NodeSpec(1, OURS, roles="broker,controller")]) as cluster:
        cluster.start()
        create_topic(cluster, TOPIC, PARTITIONS, 1, SMALL_SEGMENTS)
        kept = more_records(cluster, {})
        for is_killed, kind in ((False, Kind.KAFKA), (True, OURS), (True, Kind.KAFKA), (False, OURS)):
            if is_killed:
                cluster[1].kill()
            else:
                cluster[1].stop()
            start_as(cluster, 1, kind)
            wait_until(lambda: len(leaders(admin_of(cluster))) == PARTITIONS, "all partitions are led", 180)
            kept = more_records(cluster, kept)
        report("a node alone moves between Kafka and ours", moves=4, records=len(kept), lost=0)


def test_one_node_of_three_moves_there_and_back_under_load(tmp_path: Path) -> None:
    """Stopped, to Kafka; killed, to ours."""
    specs = [NodeSpec(node_id, OURS, roles="broker,controller") for node_id in (1, 2, 3)]
    with Cluster(tmp_path, specs) as cluster:
        cluster.start()
        create_topic(cluster, TOPIC, PARTITIONS, 3, SMALL_SEGMENTS)
        admin = admin_of(cluster)
        with DataLoad(bootstrap_of(cluster), TOPIC, PARTITIONS) as load:
            for is_killed, kind in ((False, Kind.KAFKA), (True, OURS)):
                load.more()
                if is_killed:
                    cluster[3].kill()
                else:
                    cluster[3].stop()
                load.more()
                start_as(cluster, 3, kind)
                wait_for_isr(admin, TOPIC, 1, 2, 3)
                load.more()
        verdict = load.check(minimum=1_000)
        cluster.check_alive()
        for node in cluster.nodes.values():
            node.kill()
        identical = check_identical_logs(cluster.nodes.values(), TOPIC, PARTITIONS)
    report("a node of three moves between Kafka and ours", moves=2, **asdict(verdict), identical_bytes=identical)


def start_as(cluster: Cluster, node_id: int, kind: Kind) -> None:
    node = cluster[node_id]
    node.spec = replace(node.spec, kind=kind)
    cluster.start(node_id)


def more_records(cluster: Cluster, kept: Mapping[tuple[int, int], bytes]) -> dict[tuple[int, int], bytes]:
    """What was kept is what is read; then some more are added to it."""
    bootstrap = bootstrap_of(cluster)
    assert read_all(bootstrap, TOPIC, PARTITIONS) == kept
    with DataLoad(bootstrap, TOPIC, PARTITIONS) as load:
        load.more(RECORDS)
    found = read_all(bootstrap, TOPIC, PARTITIONS)
    assert kept.items() <= found.items()
    added = {place: value for place, value in found.items() if place not in kept}
    assert load.acknowledged.items() <= added.items()
    assert sorted(added.values()) == sorted([*load.acknowledged.values(), *load.acknowledged_somewhere])
    return found


def leaders(admin: AdminClient) -> list[int]:
    partitions = admin.list_topics(TOPIC, timeout=5).topics[TOPIC].partitions
    return [partition.leader for partition in partitions.values() if partition.leader >= 0]
