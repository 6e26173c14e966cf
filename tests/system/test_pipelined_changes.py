"""Changes that are asked for on one connection without waiting: decided in order, answered in order."""

import asyncio
import time
from pathlib import Path

import pytest

from odradek.client.net.channel import ChannelConfig
from odradek.protocol.messages.broker_heartbeat_request import BrokerHeartbeatRequest
from odradek.protocol.messages.create_topics_request import CreateTopicsRequest
from odradek.protocol.messages.delete_topics_request import DeleteTopicsRequest, DeleteTopicState
from support.builders.controller import registration, topic
from support.figures import report
from support.processes.nodes import Cluster, Kind, controllers
from support.processes.nodes_quorum import Quorum

pytestmark = pytest.mark.slow

TIMEOUT_MS = 60_000
ROUNDS = 300


def test_a_topic_that_comes_and_goes_on_one_connection(tmp_path: Path) -> None:
    """Each request would fail if it were decided before the one in front of it."""

    async def test(cluster: Cluster) -> None:
        async with Quorum(cluster) as quorum:
            await quorum.controller()
            channel = quorum.open(cluster[1], ChannelConfig(client_id="test", in_flight_max=50))
            epoch = (await channel.send(registration(7, cluster_id=cluster.cluster_id), TIMEOUT_MS)).broker_epoch
            beat = BrokerHeartbeatRequest(broker_id=7, broker_epoch=epoch, current_metadata_offset=epoch)
            create = CreateTopicsRequest(topics=[topic("t", [[7]])])
            delete = DeleteTopicsRequest(topics=[DeleteTopicState(name="t")], timeout_ms=TIMEOUT_MS)
            began_s = time.monotonic()
            asked = [beat, *[create, delete] * ROUNDS]
            beaten, *answers = await asyncio.gather(*(channel.send(request, TIMEOUT_MS) for request in asked))
            took_s = time.monotonic() - began_s
            assert not beaten.is_fenced
            assert {result.error_code for answer in answers[::2] for result in answer.topics} == {0}
            assert {result.error_code for answer in answers[1::2] for result in answer.responses} == {0}
            report("controller: changes a second on one connection", changes_s=round(2 * ROUNDS / took_s))

    with Cluster(tmp_path, controllers(1, Kind.ODRADEK)) as cluster:
        cluster.start()
        asyncio.run(test(cluster))
