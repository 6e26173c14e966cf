"""Clusters inside the test's process, used by librdkafka, with every fault there is."""

import asyncio
import os
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from odradek.common.failures import Fault, InputError
from odradek.errors import Refused
from odradek.testing import Cluster
from odradek.testing.embedded_node import EmbeddedNode
from odradek.testing.hosted_node import HostedNode
from odradek.testing.topics import _cluster, _partitions
from support import figures
from support.peers.plain_clients import consume, produce
from support.waiting import wait_until


def test_one_node_with_async_with_leaves_nothing_behind() -> None:
    async def main() -> tuple[str, str]:
        async with Cluster() as cluster:
            await cluster.create_topic("orders", partitions=2, configs={"retention.ms": 1_000, "preallocate": False})
            await asyncio.to_thread(produce, cluster.bootstrap, "orders", ["a", "b"])
            assert await asyncio.to_thread(consume, cluster.bootstrap, "orders", 2) == ["a", "b"]
            with pytest.raises(Refused, match="already exists"):
                await cluster.create_topic("orders")
            await cluster.delete_topic("orders")
            return cluster.directory, repr(cluster.nodes[1])

    before = threading.enumerate()
    directory, shown = asyncio.run(main())
    assert not os.path.exists(directory)
    assert shown.startswith("<node 1 at localhost:") and shown.endswith(", running>")
    assert not [each for each in threading.enumerate() if each.name.startswith("odradek") and each not in before]


def test_a_directory_that_is_named_is_kept(tmp_path: Path) -> None:
    for expected in (["a"], ["a", "b"]):
        with Cluster(directory=str(tmp_path / "kept"), settings={"num.partitions": 1}) as cluster:
            if expected == ["a"]:
                cluster.create_topic("orders")
            produce(cluster.bootstrap, "orders", expected[-1:])
            assert consume(cluster.bootstrap, "orders", len(expected)) == expected


@pytest.fixture(scope="module")
def three() -> Iterator[Cluster]:
    with Cluster(nodes=3) as cluster:
        cluster.create_topic("orders", replication_factor=3, configs={"min.insync.replicas": 2})
        yield cluster


@pytest.fixture
def cluster(three: Cluster) -> Iterator[Cluster]:
    """All nodes there before a test, and after it."""
    yield three
    for node in three.nodes.values():
        if not node.is_running:
            node.start()
        node.resume()
        node.heal()
        node.slow_disk(0)
    three.wait_until_in_sync()


def leader(cluster: Cluster) -> HostedNode:
    """Of the only partition: the node that a client cannot do without."""

    async def ask() -> int | None:
        async with _cluster([node.address for node in cluster.nodes.values() if node.can_answer]) as asked:
            return (await _partitions(asked, ["orders"]))[0].leader_id

    found = asyncio.run(ask())
    assert found is not None
    return cluster.nodes[found]


@pytest.mark.parametrize("fault", ["kill", "stop", "cut_off", "pause"])
def test_clients_go_on_without_the_leader(cluster: Cluster, fault: str) -> None:
    produce(cluster.bootstrap, "orders", [f"before {fault}"])
    lost = leader(cluster)
    getattr(cluster, fault)(lost.id)
    assert not lost.can_answer
    produce(cluster.bootstrap, "orders", [f"during {fault}"])
    assert leader(cluster) is not lost


def test_a_slow_disk_holds_up_who_writes_and_not_for_longer_than_it_is_slow(cluster: Cluster) -> None:
    slow = leader(cluster)
    disk = slow._current.disk  # type: ignore[attr-defined]
    used: list[float] = []
    monkeypatch = pytest.MonkeyPatch()
    monkeypatch.setattr("odradek.testing.faulty_files.time.sleep", used.append)
    cluster.slow_disk(slow.id, 250)
    produce(cluster.bootstrap, "orders", ["slowly"])
    assert disk.delay_ms == 250 and 0.25 in used
    cluster.slow_disk(slow.id, 0)
    monkeypatch.undo()


def test_operations_of_the_blocking_form_may_be_awaited(cluster: Cluster) -> None:
    async def main() -> None:
        await cluster.create_topic("awaited")
        await cluster.restart(3)
        await cluster.delete_topic("awaited")

    asyncio.run(main())
    assert cluster.nodes[3].can_answer


def test_what_cannot_be_done_is_refused_in_words(cluster: Cluster) -> None:
    for wrong, said in (
        (lambda: Cluster(nodes=0), "nodes=0: a cluster has 1 to 32 nodes"),
        (lambda: Cluster().bootstrap, "the cluster has not started"),
        (lambda: cluster.kill(7), "there is no node 7; there are 1 to 3"),
        (lambda: cluster.start(1), "node 1 is running already"),
        (lambda: cluster.slow_disk(1, -1), "0 or more would be right"),
    ):
        with pytest.raises(InputError, match=said):
            wrong()
    cluster.pause(3)
    with pytest.raises(InputError, match=r"node 3 is paused, so that it cannot be cut off; resume\(3\) first"):
        cluster.cut_off(3)
    cluster.kill(3)
    with pytest.raises(InputError, match=r"node 3 is not running, so that it cannot be paused; start\(3\) starts it"):
        cluster.pause(3)


def test_who_is_cancelled_while_the_cluster_starts_leaves_nothing_behind() -> None:
    before = threading.enumerate()

    async def main() -> str:
        cluster = Cluster()
        entering = asyncio.ensure_future(cluster.__aenter__())
        while not cluster.directory:
            await asyncio.sleep(0.001)
        entering.cancel()
        with pytest.raises(asyncio.CancelledError):
            await entering
        return cluster.directory

    assert not os.path.exists(asyncio.run(main()))
    assert not [each for each in threading.enumerate() if each.name.startswith("odradek") and each not in before]


def test_a_killed_node_loses_its_disk_and_its_connections_at_once() -> None:
    """It would answer that its files had failed, and a killed process answers nothing."""
    with Cluster() as cluster:
        node = cluster.nodes[1]
        assert isinstance(node, EmbeddedNode)
        run, is_busy, may_go_on = node._current, threading.Event(), threading.Event()

        def work() -> None:
            is_busy.set()
            may_go_on.wait()

        run._soon(work)
        is_busy.wait()
        killing = threading.Thread(target=run.kill)
        killing.start()
        wait_until(lambda: run._is_killed, "the kill to begin")
        assert not run.disk.is_gone
        may_go_on.set()
        killing.join()
        assert run.disk.is_gone and not node.is_running


def test_wrong_settings_of_brokers_are_told_and_leave_nothing_behind() -> None:
    with pytest.raises(InputError, match=r"num.partitions.*many"):
        Cluster(settings={"num.partitions": "many"}).__enter__()


def test_a_node_that_cannot_start_does_not_keep_the_others_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    """Node 2 waits for the only controller, node 1."""
    start = HostedNode.start

    def start_or_not(node: HostedNode) -> None:
        if node.id == 1:
            raise Fault("no")
        start(node)

    before = threading.enumerate()
    monkeypatch.setattr(HostedNode, "start", start_or_not)
    with pytest.raises(Fault, match="no"):
        Cluster(nodes=2).__enter__()
    assert not [each for each in threading.enumerate() if each.name.startswith("odradek") and each not in before]


@pytest.mark.slow
def test_the_same_faults_on_processes() -> None:
    with Cluster(nodes=3, processes=True) as cluster:
        cluster.create_topic("orders", replication_factor=3, configs={"min.insync.replicas": 2})
        pids = [node.pid for node in cluster.nodes.values()]  # type: ignore[attr-defined]
        for fault in ("kill", "cut_off", "stop"):
            lost = leader(cluster)
            getattr(cluster, fault)(lost.id)
            produce(cluster.bootstrap, "orders", [f"during {fault}"])
            undone = cluster.heal if fault == "cut_off" else cluster.start
            undone(lost.id)
            cluster.wait_until_in_sync()
        cluster.pause(2)
        assert not cluster.nodes[2].can_answer
        cluster.resume(2)
        cluster.slow_disk(1, 2)
        produce(cluster.bootstrap, "orders", ["slowly"])
        assert consume(cluster.bootstrap, "orders", 4) == ["during kill", "during cut_off", "during stop", "slowly"]
        pids += [node.pid for node in cluster.nodes.values()]  # type: ignore[attr-defined]
    wait_until(lambda: not [pid for pid in pids if os.path.exists(f"/proc/{pid}")], "no process is left")


def test_report_how_soon_clusters_are_ready() -> None:
    took_ms = {}
    for nodes in (1, 3):
        began_s = time.perf_counter()
        with Cluster(nodes=nodes):
            took_ms[f"ready_ms_of_{nodes}"] = round((time.perf_counter() - began_s) * 1000)
    figures.report("testing: an embedded cluster", **took_ms)
