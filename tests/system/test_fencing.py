"""A broker whose process is gone is fenced at once, not after the session time-out; one that stops is let go."""

import re
from datetime import datetime
from pathlib import Path

import pytest

from support.figures import report
from support.processes.nodes import Cluster, Kind, Node, NodeSpec, controllers
from support.waiting import wait_until

pytestmark = [pytest.mark.slow, pytest.mark.peer]

OUR_BROKER, KAFKA_BROKER = 11, 12
RUNNING = r"RUNNING, Online at epoch \d+: unfenced"


def test_killed_brokers_are_fenced_by_their_broken_connection(tmp_path: Path) -> None:
    nodes = [
        *controllers(1, Kind.ODRADEK),
        NodeSpec(OUR_BROKER, Kind.ODRADEK, roles="broker"),
        NodeSpec(KAFKA_BROKER, Kind.KAFKA, roles="broker"),
    ]
    with Cluster(tmp_path, nodes, settings={"broker.session.timeout.ms": "3600000"}) as cluster:
        cluster.start()
        controller = cluster[1]
        took_ms = {}
        for broker_id in (OUR_BROKER, KAFKA_BROKER):
            wait_for_line(controller, rf"broker {broker_id} at epoch \d+ is unfenced")
            killed = datetime.now()
            cluster[broker_id].kill()
            # With a session of an hour only the broken connection can have told.
            fenced = wait_for_line(controller, rf"broker {broker_id} at epoch \d+ is fenced")
            took_ms[broker_id] = round((fenced - killed).total_seconds() * 1000)
        # The controller knows first that the broker is unfenced; one that does not know it yet need not be let go.
        known = len(lines(cluster[OUR_BROKER], RUNNING))
        cluster[OUR_BROKER].start()
        wait_for_line(cluster[OUR_BROKER], RUNNING, known + 1)
        assert cluster[OUR_BROKER].stop() == 0
        wait_for_line(controller, rf"broker {OUR_BROKER} at epoch \d+ is fenced", count=2)
        assert "the controller has moved its leaderships" in cluster[OUR_BROKER].log_text()
    report("fenced after kill -9", ours_ms=took_ms[OUR_BROKER], apache_kafka_ms=took_ms[KAFKA_BROKER])


def wait_for_line(node: Node, pattern: str, count: int = 1) -> datetime:
    """When the node logged it for the `count`th time."""

    def is_there() -> bool:
        node.check_alive()
        return len(lines(node, pattern)) >= count

    wait_until(is_there, f"node {node.id} logs {pattern}", explain=node.log_tail)
    return datetime.strptime(lines(node, pattern)[count - 1][:23], "%Y-%m-%d %H:%M:%S.%f")


def lines(node: Node, pattern: str) -> list[str]:
    return [line for line in node.log_text().splitlines() if re.search(pattern, line)]
