"""Three brokers, RF 3, min.insync 2, acks=all, idempotent producers: killed, all at once, paused, emptied.

Whatever happens to them, every acknowledged record is there at the end, once, where it was said to be, in order, and
no consumer was ever shown anything else.
"""

import asyncio
import contextlib
import os
import random
import shutil
import statistics
import threading
import time
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient

from odradek.client.net.channel import Channel
from odradek.common.failures import ApiError
from odradek.protocol.error_codes import ErrorCode
from odradek.protocol.messages.produce_request import PartitionProduceData, ProduceRequest, TopicProduceData
from odradek.records.builder import BatchBuilder
from support.figures import report
from support.loads.data_load import DataLoad, admin_of, bootstrap_of, create_topic, leaders_of, wait_for_isr
from support.loads.data_logs import check_identical_logs
from support.processes.nodes import HOST, OURS, Cluster, Node, NodeSpec, controllers
from support.processes.nodes_quorum import CHANNEL_CONFIG, Quorum
from support.waiting import wait_until

pytestmark = pytest.mark.slow

TOPIC = "load"
PARTITIONS = 3
IS_SOAK = "ODRADEK_SOAK_FACTOR" in os.environ
KILLS = 500 if IS_SOAK else 20
KILLS_OF_ALL = 10 if IS_SOAK else 2
KILLS_ALONE = 50 if IS_SOAK else 6
PAUSES = 10 if IS_SOAK else 2
#: A fault shows nothing without records on their way.
ACKNOWLEDGED_A_FAULT = 500


BROKERS = (4, 5, 6)

_STALE_TIMEOUT_MS = 30_000
#: The last version of Produce in which a topic goes by its name.
_BY_NAME_VERSION = 12


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    """Three controllers, 1 to 3, and three brokers."""
    specs = [*controllers(3), *(NodeSpec(node_id, OURS, roles="broker") for node_id in BROKERS)]
    with Cluster(tmp_path, specs) as made:
        made.start()
        create_topic(made, TOPIC, PARTITIONS, 3)
        yield made


def brokers(cluster: Cluster) -> list[Node]:
    return [node for node in cluster.nodes.values() if node.spec.is_broker]


def active_controller(cluster: Cluster) -> int:
    """When all controllers have everything."""

    async def ask() -> int:
        async with Quorum(cluster) as quorum:
            return (await quorum.caught_up()).leader_id

    return asyncio.run(ask())


def finish(cluster: Cluster, load: DataLoad, name: str, *, faults: int, **figures: object) -> None:
    """Everything is there, for clients and on the disks."""
    wait_for_isr(admin_of(cluster), TOPIC, *(node.id for node in brokers(cluster)))
    verdict = load.check(minimum=ACKNOWLEDGED_A_FAULT * faults)
    cluster.check_alive()
    for node in cluster.nodes.values():
        node.kill()
    identical = check_identical_logs(brokers(cluster), TOPIC, PARTITIONS)
    report(
        name,
        faults=faults,
        **figures,
        **asdict(verdict),
        records_a_second=round(load.rate()),
        longest_gap_ms=load.longest_gap_ms(),
        identical_bytes=identical,
    )


def test_kill_9_again_and_again(cluster: Cluster) -> None:
    """Every fourth victim leads a partition, every fourth is the active controller, the others are any node."""
    draw = random.Random(14)
    admin = admin_of(cluster)
    gaps_ms = []
    victims: list[int] = []
    with DataLoad(bootstrap_of(cluster), TOPIC, PARTITIONS) as load:
        for kill in range(KILLS):
            load.more()
            wait_for_isr(admin, TOPIC, *BROKERS)
            leaders, active = list(leaders_of(admin, TOPIC).values()), active_controller(cluster)
            victim = draw.choice((leaders, list(cluster.nodes), [active], list(cluster.nodes))[kill % 4])
            killed_at_s = time.monotonic()
            cluster[victim].kill()
            load.more(ACKNOWLEDGED_A_FAULT)
            gaps_ms.append(load.longest_gap_ms(killed_at_s))
            victims.append(victim)
            cluster.start(victim)
    finish(
        cluster,
        load,
        "brokers: kill -9 under load",
        faults=KILLS,
        kills_of_brokers=sum(victim in BROKERS for victim in victims),
        median_gap_ms=statistics.median(gaps_ms),
    )


def test_all_at_once(tmp_path: Path) -> None:
    """Three nodes that are brokers and controllers, so that nobody is left who knows anything."""
    specs = [NodeSpec(node_id, OURS, roles="broker,controller") for node_id in (1, 2, 3)]
    with Cluster(tmp_path, specs) as cluster:
        cluster.start()
        create_topic(cluster, TOPIC, PARTITIONS, 3)
        gaps_ms = []
        with DataLoad(bootstrap_of(cluster), TOPIC, PARTITIONS) as load:
            for _ in range(KILLS_OF_ALL):
                load.more(ACKNOWLEDGED_A_FAULT)
                killed_at_s = time.monotonic()
                for node in cluster.nodes.values():
                    node.kill()
                cluster.start()
                load.more()
                gaps_ms.append(load.longest_gap_ms(killed_at_s))
        finish(
            cluster,
            load,
            "brokers: kill -9 of all at once under load",
            faults=KILLS_OF_ALL,
            gaps_ms=gaps_ms,
        )


def test_a_node_alone(tmp_path: Path) -> None:
    """It leads again after each kill, and must know by its own log what producers repeat."""
    with Cluster(tmp_path, [NodeSpec(1, OURS, roles="broker,controller")]) as cluster:
        cluster.start()
        create_topic(cluster, TOPIC, PARTITIONS, 1)
        gaps_ms = []
        with DataLoad(bootstrap_of(cluster), TOPIC, PARTITIONS) as load:
            for kill in range(KILLS_ALONE):
                load.more(ACKNOWLEDGED_A_FAULT)
                killed_at_s = time.monotonic()
                if kill % 2:
                    cluster[1].kill()
                else:
                    cluster[1].stop()
                cluster.start(1)
                load.more()
                gaps_ms.append(load.longest_gap_ms(killed_at_s))
        finish(cluster, load, "a node alone: kill -9 and stop in turn under load", faults=KILLS_ALONE, gaps_ms=gaps_ms)


def test_a_paused_leader_acknowledges_and_shows_nothing_stale(cluster: Cluster) -> None:
    """While it slept another took over; what it is asked to append when it wakes is refused. What the consumer of the
    load was shown is compared with what is there at the end."""
    admin = admin_of(cluster)
    gaps_ms = []
    with DataLoad(bootstrap_of(cluster), TOPIC, PARTITIONS) as load:
        for _ in range(PAUSES):
            load.more()
            wait_for_isr(admin, TOPIC, *BROKERS)
            partition, leader = next(iter(leaders_of(admin, TOPIC).items()))
            with StaleRequest(cluster[leader], partition) as stale:
                paused_at_s = time.monotonic()
                cluster[leader].pause()
                stale.go.set()
                wait_for_another(admin, partition, leader)
                load.more(ACKNOWLEDGED_A_FAULT)
                gaps_ms.append(load.longest_gap_ms(paused_at_s))
                cluster[leader].resume()
            assert stale.error_code in (ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.REQUEST_TIMED_OUT, None)

            controller = cluster[active_controller(cluster)]
            paused_at_s = time.monotonic()
            controller.pause()
            other_controller(cluster)
            load.more(ACKNOWLEDGED_A_FAULT)
            gaps_ms.append(load.longest_gap_ms(paused_at_s))
            controller.resume()
    finish(
        cluster,
        load,
        "brokers: SIGSTOP of a leader and of the active controller under load",
        faults=2 * PAUSES,
        stale_acknowledgements=0,
        gaps_ms=gaps_ms,
    )


def test_the_last_in_sync_replica_takes_nothing_alone_and_an_emptied_one_gets_everything_again(
    cluster: Cluster,
) -> None:
    """The case of 2013: the ISR shrinks to the leader, the leader dies, and one that was behind must not follow it."""
    admin = admin_of(cluster)
    with DataLoad(bootstrap_of(cluster), TOPIC, PARTITIONS) as load:
        load.more()
        wait_for_isr(admin, TOPIC, *BROKERS)
        last, *others = BROKERS
        for node_id in others:
            cluster[node_id].kill()
        wait_for_isr(admin, TOPIC, last)
        refused = [produce_alone(cluster[last], partition) for partition in range(PARTITIONS)]
        assert refused == [ErrorCode.NOT_ENOUGH_REPLICAS] * PARTITIONS
        cluster[last].kill()
        cluster.start(*others)
        wait_until(lambda: last not in admin.list_topics(timeout=5).brokers, "the leader is known to be gone")
        cluster.start(last)
        load.more(ACKNOWLEDGED_A_FAULT)

        wait_for_isr(admin, TOPIC, *BROKERS)
        cluster[last].kill()
        shutil.rmtree(cluster[last].data)
        cluster.format(last)
        load.more()
        cluster.start(last)
        wait_for_isr(admin, TOPIC, *BROKERS)
        load.more(ACKNOWLEDGED_A_FAULT)
    finish(cluster, load, "brokers: the last in sync alone, and an empty disk", faults=2)


def wait_for_another(admin: AdminClient, partition: int, leader: int) -> None:
    wait_until(lambda: leaders_of(admin, TOPIC).get(partition, leader) != leader, "another leads")


def other_controller(cluster: Cluster) -> None:
    """Waits until those that are not paused have a leader."""

    async def ask() -> None:
        async with Quorum(cluster) as quorum:
            await quorum.leader()

    asyncio.run(ask())


def produce_alone(node: Node, partition: int) -> ErrorCode:
    """What this broker, and no other, says to a record with acks=all."""

    async def ask() -> ErrorCode:
        channel = Channel(HOST, node.broker_port, CHANNEL_CONFIG)
        try:
            return await send_record(channel, partition)
        finally:
            await channel.close()

    return asyncio.run(ask())


class StaleRequest:
    """`with StaleRequest(node, partition) as stale:` connects; a record goes out when `go` is set, to lie there when
    the broker wakes. At the end `error_code` is the broker's answer, or None if there was none."""

    def __init__(self, node: Node, partition: int) -> None:
        self._node = node
        self._partition = partition
        self._is_connected = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._run()))
        self.go = threading.Event()
        self.error_code: ErrorCode | None = None

    def __enter__(self) -> "StaleRequest":
        self._thread.start()
        assert self._is_connected.wait(_STALE_TIMEOUT_MS / 1000)
        return self

    def __exit__(self, *_: object) -> None:
        self.go.set()
        self._thread.join()

    async def _run(self) -> None:
        channel = Channel(HOST, self._node.broker_port, CHANNEL_CONFIG)
        await channel.connect()
        self._is_connected.set()
        await asyncio.to_thread(self.go.wait)
        with contextlib.suppress(ApiError):
            self.error_code = await send_record(channel, self._partition)
        await channel.close()


async def send_record(channel: Channel, partition: int) -> ErrorCode:
    builder = BatchBuilder()
    builder.append(timestamp=0, key=None, value=b"stale:0")
    data = PartitionProduceData(index=partition, records=builder.build())
    request = ProduceRequest(
        acks=-1, timeout_ms=_STALE_TIMEOUT_MS, topic_data=[TopicProduceData(name=TOPIC, partition_data=[data])]
    )
    answer = await channel.send(request, 2 * _STALE_TIMEOUT_MS, version=_BY_NAME_VERSION)
    return ErrorCode(answer.responses[0].partition_responses[0].error_code)
