"""Three voters, one of them Apache Kafka's: they elect, follow each other in both directions, and stay identical.

Who leads is not left to chance. A voter that is paused while changes are acknowledged lacks something that is
committed, so it cannot win the next election, and of three voters one remains.
"""

import asyncio
import shutil
from pathlib import Path

import pytest

from support.figures import report
from support.loads.metadata_load import MetadataLoad, check_nothing_lost
from support.processes.nodes import Cluster, Kind, Node, controllers
from support.processes.nodes_quorum import Quorum, QuorumView

pytestmark = [pytest.mark.slow, pytest.mark.peer]

#: 1 and 2 are ours.
KAFKAS = 3

#: Small enough that a second of load makes a snapshot.
SNAPSHOT_BYTES = "4000"


def mixed(root: Path, *, dynamic: bool = False, settings: dict[str, str] | None = None) -> Cluster:
    return Cluster(root, controllers(3, others={KAFKAS: Kind.KAFKA}), dynamic=dynamic, settings=settings)


async def make_leader(quorum: Quorum, load: MetadataLoad, wanted: int, *, clean: bool = False) -> QuorumView:
    """Takes the leader away, by kill -9 or by a clean stop, such that only `wanted` can follow it. It stays down."""
    cluster = quorum.cluster
    while True:
        before = await quorum.caught_up()
        if before.leader_id == wanted:
            return before
        bystander = next(node for node in cluster.controllers if node.id not in (wanted, before.leader_id))
        bystander.pause()
        await load.more()
        if (await quorum.leader()).leader_epoch == before.leader_epoch:
            break
        bystander.resume()  # a busy machine has changed its leader by itself
    if clean:
        await asyncio.to_thread(cluster[before.leader_id].stop)
    else:
        cluster[before.leader_id].kill()
    bystander.resume()
    after = await quorum.leader(above_epoch=before.leader_epoch)
    assert after.leader_id == wanted
    await load.more()
    return after


def restart_missing(cluster: Cluster) -> None:
    for node in cluster.controllers:
        if not node.is_running:
            node.start()


@pytest.mark.parametrize("dynamic", [False, True], ids=["static", "dynamic"])
def test_each_follows_the_other(dynamic: bool, tmp_path: Path) -> None:
    async def scenario(cluster: Cluster) -> None:
        cluster.start()
        async with Quorum(cluster) as quorum:
            async with MetadataLoad(cluster) as load:
                for wanted, clean in ((KAFKAS, False), (1, False), (KAFKAS, True), (2, True)):
                    view = await make_leader(quorum, load, wanted, clean=clean)
                    restart_missing(cluster)
            compared = await check_nothing_lost(quorum, load)
        report(
            f"mixed quorum, {'dynamic' if dynamic else 'static'} voters",
            leaders=[KAFKAS, 1, KAFKAS, 2],
            epoch=view.leader_epoch,
            acknowledged=len(load.acknowledged),
            lost=0,
            identical_batches=compared,
            longest_gap_ms=load.longest_gap_ms(),
        )

    with mixed(tmp_path, dynamic=dynamic) as cluster:
        asyncio.run(scenario(cluster))


def test_each_takes_a_snapshot_from_the_other(tmp_path: Path) -> None:
    """A leader whose log begins behind offset 0 has only its snapshot to offer to a voter that has nothing."""

    async def scenario(cluster: Cluster) -> None:
        cluster.start()
        async with Quorum(cluster) as quorum:
            async with MetadataLoad(cluster) as load:
                await quorum.wait(lambda: snapshots_everywhere(cluster), "every voter has made a snapshot")
                for node_id in (KAFKAS, 1):
                    await begin_with_snapshot(quorum, cluster[node_id])
                await make_leader(quorum, load, KAFKAS)
                restart_missing(cluster)
                await begin_with_nothing(quorum, cluster[2])
                await make_leader(quorum, load, 1)
                await begin_with_nothing(quorum, cluster[KAFKAS])
                await load.more()
            await check_nothing_lost(quorum, load)

    with mixed(tmp_path, settings={"metadata.log.max.record.bytes.between.snapshots": SNAPSHOT_BYTES}) as cluster:
        asyncio.run(scenario(cluster))


async def snapshots_everywhere(cluster: Cluster) -> bool | None:
    return all(own_snapshots(node) for node in cluster.controllers) or None


def own_snapshots(node: Node) -> list[Path]:
    """Without the one that formatting writes."""
    return [path for path in node.metadata_directory.glob("*.checkpoint") if not path.name.startswith("0" * 20)]


async def begin_with_snapshot(quorum: Quorum, node: Node) -> None:
    """The node loses its log and keeps its snapshots: its log begins with the newest one from then on."""
    await kill_without_loss(quorum, node)
    for suffix in ("log", "index", "timeindex"):
        for path in node.metadata_directory.glob(f"*.{suffix}"):
            path.unlink()
    node.start()
    await quorum.caught_up()
    assert log_start(node) > 0


async def kill_without_loss(quorum: Quorum, node: Node) -> None:
    """Its disk may be emptied afterwards: the two that are left have everything that was committed, also what this node
    and one of them had committed without the other."""
    if node.is_running:
        node.kill()
    await quorum.caught_up()


async def begin_with_nothing(quorum: Quorum, node: Node) -> None:
    await kill_without_loss(quorum, node)
    shutil.rmtree(node.data)
    await asyncio.to_thread(quorum.cluster.format, node.id)
    node.start()
    await quorum.caught_up()
    assert log_start(node) > 0, f"node {node.id} was given the whole log, not a snapshot"


def log_start(node: Node) -> int:
    return min(int(path.stem) for path in node.metadata_directory.glob("*.log"))
