"""Wall clocks that jump by an hour, there and back, and that tremble: time-outs are none of their business.

Each node's wall clock is turned with libfaketime; the monotonic clock stays what it is, as on a machine whose clock is
set. The node whose clock jumps leads the quorum and a partition.
"""

import asyncio
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

import pytest

from support.figures import report
from support.loads.data_load import DataLoad, admin_of, bootstrap_of, create_topic, wait_for_isr
from support.loads.data_logs import check_identical_logs
from support.processes.nodes import OURS, Cluster, Node, NodeSpec
from support.processes.nodes_quorum import Quorum, QuorumView

_LIBRARY = next(Path("/usr/lib").glob("*/faketime/libfaketimeMT.so.1"), None)

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(_LIBRARY is None, reason="needs libfaketime, from Debian's package faketime"),
]

TOPIC = "load"
PARTITIONS = 3
NODES = (1, 2, 3)
JUMPS = ("+3600", "-3600", "+0")
TREMBLES = ("+0.2", "-0.2") * 10
#: The clock alone must not be what makes the quorum change its leader. A busy machine may do it now and then.
EPOCHS_LIMIT = 3
#: Far less than an hour, and long enough for a machine that is busy: it is the clock alone that might end them.
SETTINGS = {"broker.session.timeout.ms": "60000", "controller.quorum.fetch.timeout.ms": "30000"}


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    made = Cluster(
        tmp_path, [NodeSpec(node_id, OURS, roles="broker,controller") for node_id in NODES], settings=SETTINGS
    )
    for node in made.nodes.values():
        node.launcher = [
            "env",
            f"LD_PRELOAD={_LIBRARY}",
            f"FAKETIME_TIMESTAMP_FILE={clock_file(node)}",
            "FAKETIME_NO_CACHE=1",
            "FAKETIME_DONT_FAKE_MONOTONIC=1",
        ]
    with made:
        for node in made.nodes.values():
            turn_clock(node, "+0")
        made.start()
        create_topic(made, TOPIC, PARTITIONS, len(NODES))
        yield made


def clock_file(node: Node) -> Path:
    return node.directory / "clock"


def turn_clock(node: Node, seconds: str) -> None:
    """In one step, so that nobody reads half of it."""
    new = clock_file(node).with_suffix(".new")
    new.write_text(f"{seconds}\n")
    new.rename(clock_file(node))


def test_a_clock_that_jumps_changes_nothing(cluster: Cluster) -> None:
    admin = admin_of(cluster)
    with DataLoad(bootstrap_of(cluster), TOPIC, PARTITIONS) as load:
        load.more()
        before = view_of(cluster)
        fenced_before = fenced(cluster)
        leader = cluster[before.leader_id]
        for seconds in JUMPS:
            turn_clock(leader, seconds)
            load.more(500)
        for seconds in TREMBLES:
            turn_clock(leader, seconds)
            load.more(50)
    wait_for_isr(admin, TOPIC, *NODES)
    epochs = view_of(cluster).leader_epoch - before.leader_epoch
    assert epochs < EPOCHS_LIMIT
    assert fenced(cluster) == fenced_before or epochs > 0
    verdict = load.check(minimum=500 * len(JUMPS))
    cluster.check_alive()
    for node in cluster.nodes.values():
        node.kill()
    identical = check_identical_logs(cluster.nodes.values(), TOPIC, PARTITIONS)
    report(
        "brokers: wall clocks that jump and tremble",
        jumps=len(JUMPS) + len(TREMBLES),
        epochs=epochs,
        **asdict(verdict),
        longest_gap_ms=load.longest_gap_ms(),
        identical_bytes=identical,
    )


def fenced(cluster: Cluster) -> int:
    """How often any node has read that a broker is fenced."""
    return sum(node.log_text().count(" is fenced") for node in cluster.nodes.values())


def view_of(cluster: Cluster) -> QuorumView:
    async def ask() -> QuorumView:
        async with Quorum(cluster) as quorum:
            return await quorum.leader()

    return asyncio.run(ask())
