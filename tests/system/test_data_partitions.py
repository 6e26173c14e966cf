"""Three nodes whose network breaks: a leader cut off, the active controller cut off, cuts in one direction, a bridge.

In each shape the side that has a majority goes on: records with acks=all are acknowledged during the fault. After it
all replicas are in sync again, and nothing that was acknowledged is lost.
"""

import asyncio
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient

from support.figures import report
from support.loads.data_load import DataLoad, admin_of, bootstrap_of, create_topic, leaders_of, wait_for_isr
from support.loads.data_logs import check_identical_logs
from support.processes import netns
from support.processes.netns import Network
from support.processes.nodes import OURS, Cluster, NodeSpec
from support.processes.nodes_quorum import Quorum
from support.waiting import wait_until

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not netns.is_possible(), reason="needs network namespaces, which only root may make"),
]

TOPIC = "load"
PARTITIONS = 3
NODES = (1, 2, 3)
DURING_A_FAULT = 100
#: A follower that is not heard of leaves the ISR soon, so that a fault need not last for half a minute.
SETTINGS = {"replica.lag.time.max.ms": "5000"}

Shape = Callable[[Network, int], None]


def isolated(network: Network, node_id: int) -> None:
    """From clients too: one that hears of nobody else would go on to believe it."""
    for other in others(node_id):
        network.cut_both_ways(node_id, other)


def mute(network: Network, node_id: int) -> None:
    """It hears the others; they do not hear it."""
    for other in others(node_id):
        network.cut(node_id, other)


def deaf(network: Network, node_id: int) -> None:
    for other in others(node_id):
        network.cut(other, node_id)


def others(node_id: int) -> list[int]:
    return [other for other in (*NODES, netns.CLIENT) if other != node_id]


def bridge(network: Network, node_id: int) -> None:
    """It and another cannot speak to each other; the third speaks to both."""
    network.cut_both_ways(node_id, NODES[node_id % len(NODES)])


def unseen(network: Network, node_id: int) -> None:
    """By clients alone."""
    network.cut(netns.CLIENT, node_id)


def test_the_majority_goes_on_in_every_shape_of_a_broken_network(tmp_path: Path) -> None:
    specs = [NodeSpec(node_id, OURS, roles="broker,controller") for node_id in NODES]
    cluster = Cluster(tmp_path, specs, settings=SETTINGS)
    with Network() as network:
        for node in cluster.nodes.values():
            network.place(node)
        with cluster:
            cluster.start()
            create_topic(cluster, TOPIC, PARTITIONS, len(NODES))
            break_in_every_shape(cluster, network)


def break_in_every_shape(cluster: Cluster, network: Network) -> None:
    admin = admin_of(cluster)
    gaps_ms: dict[str, int] = {}
    healed_ms: dict[str, int] = {}
    faults: list[tuple[str, Shape]] = [
        # The unseen one goes on to lead, so it comes first: later one node may lead all partitions.
        *(("leader", shape) for shape in (unseen, isolated, mute, deaf)),
        *(("controller", shape) for shape in (isolated, mute, bridge)),
    ]
    with DataLoad(bootstrap_of(cluster), TOPIC, PARTITIONS) as load:
        for whom, shape in faults:
            load.more()
            wait_for_isr(admin, TOPIC, *NODES)
            node_id = leaders_of(admin, TOPIC)[0] if whom == "leader" else active_controller(cluster)
            name = f"{whom} {shape.__name__}"
            began_s = time.monotonic()
            shape(network, node_id)
            wait_for_another(cluster, admin, whom, node_id, shape)
            load.more(DURING_A_FAULT)
            gaps_ms[name] = load.longest_gap_ms(began_s)
            network.heal()
            healed_s = time.monotonic()
            wait_for_isr(admin, TOPIC, *NODES)
            healed_ms[name] = round((time.monotonic() - healed_s) * 1000)
    wait_for_isr(admin, TOPIC, *NODES)  # again: one may have been taken out by what came before the network healed
    verdict = load.check(minimum=DURING_A_FAULT * len(faults))
    cluster.check_alive()
    for node in cluster.nodes.values():
        node.kill()
    identical = check_identical_logs(cluster.nodes.values(), TOPIC, PARTITIONS)
    report(
        "brokers: networks that break",
        **asdict(verdict),
        gaps_ms=gaps_ms,
        in_sync_after_ms=healed_ms,
        identical_bytes=identical,
    )


def wait_for_another(cluster: Cluster, admin: AdminClient, whom: str, node_id: int, shape: Shape) -> None:
    """Whoever nobody speaks to any more is followed by another; who can still do its work, need not be."""
    if shape in (unseen, bridge):
        return
    if whom == "leader":
        wait_until(lambda: leaders_of(admin, TOPIC).get(0, node_id) != node_id, "another leads the partition")
    else:
        wait_until(lambda: active_controller(cluster) != node_id, "another is the active controller")


def active_controller(cluster: Cluster) -> int:
    async def ask() -> int:
        async with Quorum(cluster) as quorum:
            return (await quorum.leader()).leader_id

    return asyncio.run(ask())
