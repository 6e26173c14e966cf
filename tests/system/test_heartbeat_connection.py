"""A broker whose heartbeat connection breaks is fenced at once, and not when its session would have ended."""

import asyncio
import time
from pathlib import Path

import pytest

from odradek.client.net.channel import Channel
from odradek.protocol.error_codes import ErrorCode
from odradek.protocol.messages.broker_heartbeat_request import BrokerHeartbeatRequest
from odradek.protocol.messages.create_topics_request import CreateTopicsRequest
from support.builders.controller import registration, topic
from support.figures import report
from support.processes.nodes import Cluster, Kind, controllers
from support.processes.nodes_quorum import Quorum

pytestmark = pytest.mark.slow

#: Far longer than the test has patience: nothing but the connection can tell the controller.
SETTINGS = {"broker.session.timeout.ms": "3600000", "default.replication.factor": "1"}

TIMEOUT_MS = 60_000


async def creation(asking: Channel) -> int:
    """Whether there is a broker for a topic, as an error code."""
    request = CreateTopicsRequest(topics=[topic("t", num_partitions=1, replication_factor=1)], validate_only=True)
    code: int = (await asking.send(request, TIMEOUT_MS)).topics[0].error_code
    return code


def test_a_broker_is_fenced_when_its_connection_breaks(tmp_path: Path) -> None:
    async def test(cluster: Cluster) -> None:
        async with Quorum(cluster) as quorum:
            await quorum.controller()
            asking, older, beating = (quorum.open(cluster[1]) for _ in range(3))
            epoch = (await asking.send(registration(7, cluster_id=cluster.cluster_id), TIMEOUT_MS)).broker_epoch
            beat = BrokerHeartbeatRequest(broker_id=7, broker_epoch=epoch, current_metadata_offset=epoch)
            assert not (await older.send(beat, TIMEOUT_MS)).is_fenced
            assert not (await beating.send(beat, TIMEOUT_MS)).is_fenced
            await older.close()
            assert await creation(asking) == 0, "it lives on another connection"
            began_s = time.monotonic()
            await beating.close()

            async def fenced() -> bool | None:
                return True if await creation(asking) == ErrorCode.INVALID_REPLICATION_FACTOR else None

            await quorum.wait(fenced, "the broker is fenced")
            report("broker: fenced after its connection broke", ms=round((time.monotonic() - began_s) * 1000))

    with Cluster(tmp_path, controllers(1, Kind.ODRADEK), settings=SETTINGS) as cluster:
        cluster.start()
        asyncio.run(test(cluster))
