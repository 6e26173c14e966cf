"""A broker whose process is gone is fenced at once, not after the session time-out; one that stops is let go."""

import re
import time
from datetime import datetime
from pathlib import Path

import pytest

from helpers.figures import report
from helpers.nodes import Cluster, Kind, Node, NodeSpec, controllers

pytestmark = [pytest.mark.slow, pytest.mark.peer]

OUR_BROKER, KAFKA_BROKER = 11, 12
_TIMEOUT_S = 60


def test_killed_brokers_are_fenced_by_their_broken_connection(tmp_path: Path) -> None:
    nodes = [
        *controllers(1, Kind.ODRADEK),
        NodeSpec(OUR_BROKER, Kind.ODRADEK, roles="broker"),
        NodeSpec(KAFKA_BROKER, Kind.KAFKA, roles="broker"),
    ]
    with Cluster(tmp_path, nodes, settings={"broker.session.timeout.ms": "120000"}) as cluster:
        cluster.start()
        controller = cluster[1]
        took_ms = {}
        for broker_id in (OUR_BROKER, KAFKA_BROKER):
            wait_for_line(controller, rf"broker {broker_id} at epoch \d+ is unfenced")
            killed = datetime.now()
            cluster[broker_id].kill()
            # With a session of two minutes only the broken connection can have told.
            fenced = wait_for_line(controller, rf"broker {broker_id} at epoch \d+ is fenced")
            took_ms[broker_id] = round((fenced - killed).total_seconds() * 1000)
        cluster[OUR_BROKER].start()
        wait_for_line(controller, rf"broker {OUR_BROKER} at epoch \d+ is unfenced", count=2)
        assert cluster[OUR_BROKER].stop() == 0
        wait_for_line(controller, rf"broker {OUR_BROKER} at epoch \d+ is fenced", count=2)
        assert "the controller has moved its leaderships" in cluster[OUR_BROKER].log_text()
    report("fenced after kill -9", ours_ms=took_ms[OUR_BROKER], apache_kafka_ms=took_ms[KAFKA_BROKER])


def wait_for_line(node: Node, pattern: str, count: int = 1) -> datetime:
    """When the node logged it for the `count`th time."""
    deadline = time.monotonic() + _TIMEOUT_S
    while time.monotonic() < deadline:
        found = [line for line in node.log_text().splitlines() if re.search(pattern, line)]
        if len(found) >= count:
            return datetime.strptime(found[count - 1][:23], "%Y-%m-%d %H:%M:%S.%f")
        node.check_alive()
        time.sleep(0.01)
    raise AssertionError(f"{pattern} was not logged\n{node.log_tail()}")
