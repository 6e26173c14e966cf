"""Three nodes, each broker and controller: a broker is given up with the active controller whose process it shared."""

import asyncio
import time
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient

from support.figures import report
from support.processes.nodes import OURS, Cluster, NodeSpec
from support.processes.nodes_quorum import Quorum
from support.waiting import wait_until

pytestmark = pytest.mark.slow

SESSION_MS = 3_600_000


def test_the_broker_of_a_dead_active_controller_is_fenced_without_its_session(tmp_path: Path) -> None:
    specs = [NodeSpec(node_id, OURS, roles="broker,controller") for node_id in (1, 2, 3)]
    with Cluster(tmp_path, specs, settings={"broker.session.timeout.ms": str(SESSION_MS)}) as cluster:
        cluster.start()
        admin = AdminClient({"bootstrap.servers": ",".join(node.broker_address for node in cluster.nodes.values())})
        wait_until(lambda: len(admin.list_topics(timeout=5).brokers) == len(specs), "all brokers are there")
        active = cluster[asyncio.run(active_controller(cluster))]
        active.kill()
        started = time.monotonic()
        # With a session of an hour only the refused connection can have told.
        wait_until(lambda: active.id not in admin.list_topics(timeout=5).brokers, "the dead broker is fenced")
        report(
            "the active controller's own broker, fenced after kill -9", ms=round((time.monotonic() - started) * 1000)
        )


async def active_controller(cluster: Cluster) -> int:
    async with Quorum(cluster) as quorum:
        return (await quorum.leader()).leader_id
