"""Three controllers as processes, under metadata load: killed, stopped, paused, emptied, all at once.

Whatever happens to them, every acknowledged change is there at the end, on every controller, and nothing else is.
"""

import asyncio
import os
import re
import shutil
import statistics
from itertools import pairwise
from pathlib import Path

import pytest

from odradek.client.net.channel import Channel
from odradek.common.failures import ApiError
from odradek.protocol.error_codes import ErrorCode
from odradek.protocol.messages.create_topics_request import CreatableTopic, CreateTopicsRequest
from support.figures import report
from support.loads.metadata_load import MetadataLoad, check_nothing_lost
from support.processes.nodes import HOST, OURS, PATIENT_QUORUM, Cluster, Kind, controllers
from support.processes.nodes_quorum import CHANNEL_CONFIG, Quorum

pytestmark = [pytest.mark.slow]

#: More are in `test_data_kill`, of any node.
KILLS = 100 if "ODRADEK_SOAK_FACTOR" in os.environ else 10
KILLS_OF_ALL = 3
STOPS = 3

_STALE_TIMEOUT_MS = 30_000

#: What a node logs that stands for election because its leader is silent.
FETCH_TIMED_OUT = "for the fetch time-out"


def test_a_killed_leader_is_followed_by_another_and_nothing_is_lost(tmp_path: Path) -> None:
    async def scenario(cluster: Cluster) -> None:
        cluster.start()
        async with Quorum(cluster) as quorum:
            await quorum.leader()
            killed_at_s: list[float] = []
            async with MetadataLoad(cluster) as load:
                for _ in range(KILLS):
                    await load.more()
                    before = await quorum.caught_up()
                    killed_at_s.append(asyncio.get_running_loop().time())
                    cluster[before.leader_id].kill()
                    after = await quorum.leader(above_epoch=before.leader_epoch)
                    assert after.leader_id != before.leader_id
                    await load.more()
                    cluster.start(before.leader_id)
            compared = await check_nothing_lost(quorum, load)
        report(
            "controllers: kill -9 of the leader under load",
            kills=KILLS,
            acknowledged=len(load.acknowledged),
            lost=0,
            longest_gap_ms=load.longest_gap_ms(),
            median_gap_ms=statistics.median(load.longest_gap_ms(*window) for window in pairwise(killed_at_s)),
            epochs=after.leader_epoch,
            identical_batches=compared,
        )

    with Cluster(tmp_path, controllers(3)) as cluster:
        asyncio.run(scenario(cluster))


def test_a_leader_that_is_stopped_hands_over(tmp_path: Path) -> None:
    """No successor waits for the fetch time-out: the old leader tells the voters to hold an election.

    One election is enough unless the other voter, whose turn comes a moment later, stands before it was asked for its
    vote, which only a slow machine brings about.
    """

    async def scenario(cluster: Cluster) -> None:
        cluster.start()
        gaps_ms = []
        async with Quorum(cluster) as quorum:
            async with MetadataLoad(cluster) as load:
                for _ in range(STOPS):
                    await load.more()
                    before = await quorum.caught_up()
                    stopped_at_s = asyncio.get_running_loop().time()
                    status = await asyncio.to_thread(cluster[before.leader_id].stop)
                    assert status == 0 or OURS is Kind.KAFKA
                    after = await quorum.leader(above_epoch=before.leader_epoch)
                    assert after.leader_id != before.leader_id
                    assert not any(FETCH_TIMED_OUT in node.log_text() for node in cluster.nodes.values())
                    assert re.search(r"(?i)resigned", cluster[before.leader_id].log_text())
                    await load.more()
                    gaps_ms.append(load.longest_gap_ms(stopped_at_s))
                    cluster.start(before.leader_id)
            await check_nothing_lost(quorum, load)
        report("controllers: clean stop of the leader under load", stops=STOPS, lost=0, gaps_ms=gaps_ms)

    with Cluster(tmp_path, controllers(3), settings=PATIENT_QUORUM) as cluster:
        asyncio.run(scenario(cluster))


def test_a_leader_that_was_paused_acknowledges_nothing_stale(tmp_path: Path) -> None:
    async def scenario(cluster: Cluster) -> None:
        cluster.start()
        async with Quorum(cluster) as quorum:
            async with MetadataLoad(cluster) as load:
                await load.more()
                before = await quorum.caught_up()
                paused = cluster[before.leader_id]
                channel = Channel(HOST, paused.controller_port, CHANNEL_CONFIG)
                await channel.connect()
                paused.pause()
                paused_at_s = asyncio.get_running_loop().time()
                stale = asyncio.create_task(create_topic(channel, "stale"))
                after = await quorum.leader(above_epoch=before.leader_epoch)
                await load.more()
                paused.resume()
                assert await stale in (ErrorCode.NOT_CONTROLLER, ErrorCode.REQUEST_TIMED_OUT, None)
                await channel.close()
                await quorum.caught_up(paused.id)
                await load.more()
            assert "stale" not in load.topics
            await check_nothing_lost(quorum, load)
        report(
            "controllers: SIGSTOP of the leader under load",
            epochs=after.leader_epoch - before.leader_epoch,
            stale_acknowledgements=0,
            gap_ms=load.longest_gap_ms(paused_at_s),
        )

    with Cluster(tmp_path, controllers(3)) as cluster:
        asyncio.run(scenario(cluster))


async def create_topic(channel: Channel, name: str) -> ErrorCode | None:
    """What this controller, and no other, says to it; None if the connection broke instead."""
    topic = CreatableTopic(name=name, num_partitions=1, replication_factor=1)
    try:
        answer = await channel.send(
            CreateTopicsRequest(topics=[topic], timeout_ms=_STALE_TIMEOUT_MS), _STALE_TIMEOUT_MS
        )
    except ApiError:
        return None
    return ErrorCode(answer.topics[0].error_code)


def test_all_controllers_killed_at_once_come_back_with_everything(tmp_path: Path) -> None:
    async def scenario(cluster: Cluster) -> None:
        cluster.start()
        async with Quorum(cluster) as quorum:
            async with MetadataLoad(cluster) as load:
                for _ in range(KILLS_OF_ALL):
                    await load.more(30)
                    for node in cluster.controllers:
                        node.kill()
                    cluster.start()
                await load.more()
            await check_nothing_lost(quorum, load)
        report(
            "controllers: kill -9 of all at once under load",
            rounds=KILLS_OF_ALL,
            acknowledged=len(load.acknowledged),
            lost=0,
            longest_gap_ms=load.longest_gap_ms(),
        )

    with Cluster(tmp_path, controllers(3)) as cluster:
        asyncio.run(scenario(cluster))


def test_a_controller_that_lost_its_disk_gets_everything_again(tmp_path: Path) -> None:
    """With static voters an emptied directory is formatted again and comes back as the same voter; the others never
    take anything from it that was lost with it."""

    async def scenario(cluster: Cluster) -> None:
        cluster.start()
        async with Quorum(cluster) as quorum:
            async with MetadataLoad(cluster) as load:
                await load.more(30)
                view = await quorum.caught_up()
                emptied = next(node for node in cluster.controllers if node.id != view.leader_id)
                emptied.kill()
                await load.more()
                shutil.rmtree(emptied.data)
                await asyncio.to_thread(cluster.format, emptied.id)
                cluster.start(emptied.id)
                await quorum.caught_up(emptied.id)
                await load.more()
            await check_nothing_lost(quorum, load)

    with Cluster(tmp_path, controllers(3)) as cluster:
        asyncio.run(scenario(cluster))


def test_a_voter_of_the_log_that_lost_its_disk_is_no_voter_any_more(tmp_path: Path) -> None:
    """A new disk has a new directory id, and votes that the old one gave are not known to it. So it follows as an
    observer, and with controller.quorum.auto.join.enable takes the place of the voter that it was."""

    async def scenario(cluster: Cluster) -> None:
        cluster.start()
        async with Quorum(cluster) as quorum:
            async with MetadataLoad(cluster) as load:
                await load.more()
                view = await quorum.caught_up()
                emptied = next(node for node in cluster.controllers if node.id != view.leader_id)
                emptied.kill()
                shutil.rmtree(emptied.data)
                await asyncio.to_thread(cluster.format, emptied.id, joins=True)
                await load.more()
                end = (await quorum.leader()).high_watermark
                cluster.start(emptied.id)
                await quorum.wait(lambda: has_joined(quorum, emptied.id, "observers", end), "it is an observer")

                emptied.kill()
                with emptied.properties.open("a") as file:
                    file.write("controller.quorum.auto.join.enable=true\n")
                cluster.start(emptied.id)
                await quorum.wait(lambda: has_joined(quorum, emptied.id, "voters", end), "it is a voter again")
                await load.more()
            await check_nothing_lost(quorum, load)

    with Cluster(tmp_path, controllers(3), dynamic=True) as cluster:
        asyncio.run(scenario(cluster))


async def has_joined(quorum: Quorum, node_id: int, group: str, offset: int) -> bool | None:
    """And has everything up to `offset`. The voter that it was is there too, but gets no further."""
    view = await quorum.view()
    replica = None if view is None else getattr(view, group).get(node_id)
    return True if replica is not None and replica.end_offset >= offset else None
