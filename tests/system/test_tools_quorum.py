"""Apache Kafka's tools against our controllers: what they print is what they print of Kafka's own.

A tool is a JVM that starts for a second or two, so those that only look run side by side.
"""

import asyncio
import json
import re
import time
from pathlib import Path

import pytest

from odradek.common.ids import uuid_to_text
from support.loads.metadata_load import FAKE_BROKER_ID, MetadataLoad
from support.peers import kafka_tools
from support.processes.nodes import OURS, PATIENT_QUORUM, Cluster, Kind, NodeSpec, controllers
from support.processes.nodes_quorum import Quorum, QuorumView

pytestmark = [pytest.mark.slow, pytest.mark.peer]

#: Voters say what they support after this time; see `upgrade_kraft_version`.
SOON_TOLD = {"controller.quorum.fetch.timeout.ms": "6000"}

QUORUM = "org.apache.kafka.tools.MetadataQuorumCommand"
FEATURES = "org.apache.kafka.tools.FeatureCommand"
CLUSTER = "org.apache.kafka.tools.ClusterTool"
TOPICS = "org.apache.kafka.tools.TopicCommand"
CONFIGS = "kafka.admin.ConfigCommand"

NEW_CONTROLLER_ID = 4
BROKER_ID = 10


#: Within it a broker has applied what a controller has committed, however busy the machine is.
_APPLIED_S = 120


async def tool(main_class: str, *arguments: str, fails: bool = False) -> str:
    """Everything that it said."""
    done = await asyncio.to_thread(kafka_tools.tool, main_class, *arguments)
    said = f"{done.output}{done.errors}"
    assert (done.status != 0) == fails, f"{main_class} {arguments} ended with {done.status}:\n{said}"
    return said


def status_of(said: str) -> dict[str, str]:
    """The lines of `describe --status`."""
    lines = [line.split(":", 1) for line in said.splitlines() if ":" in line]
    return {name: value.strip() for name, value in lines}


def features_of(said: str) -> dict[str, str]:
    return dict(re.findall(r"Feature: (\S+)\s.*FinalizedVersionLevel: (\S+)", said))


def test_tools_on_static_voters(tmp_path: Path) -> None:
    async def scenario(cluster: Cluster) -> None:
        cluster.start()
        async with Quorum(cluster) as quorum:
            view = await quorum.caught_up()
            await quorum.describes_cluster()
            at = ["--bootstrap-controller", cluster.controller_addresses]
            await look(cluster, view, at)
            await change_features(at)
            await change_configs(at)
        async with MetadataLoad(cluster) as load:
            await load.more()
        said = await tool(CLUSTER, "unregister", *at, "--id", str(FAKE_BROKER_ID))
        assert f"Broker {FAKE_BROKER_ID} is no longer registered." in said

    with Cluster(tmp_path, controllers(3), settings=PATIENT_QUORUM | SOON_TOLD) as cluster:
        asyncio.run(scenario(cluster))


async def look(cluster: Cluster, view: QuorumView, at: list[str]) -> None:
    status, replication, features, cluster_id, endpoints = await asyncio.gather(
        tool(QUORUM, *at, "describe", "--status"),
        tool(QUORUM, *at, "describe", "--replication"),
        tool(FEATURES, *at, "describe"),
        tool(CLUSTER, "cluster-id", *at),
        tool(CLUSTER, "list-endpoints", *at),
    )
    found = status_of(status)
    assert found["ClusterId"] == cluster.cluster_id
    assert (int(found["LeaderId"]), int(found["LeaderEpoch"])) == (view.leader_id, view.leader_epoch)
    assert int(found["HighWatermark"]) >= view.high_watermark
    assert json.loads(found["CurrentVoters"]) == [
        {"id": node.id, "endpoints": [f"CONTROLLER://{node.controller_address}"]} for node in cluster.controllers
    ]
    assert found["CurrentObservers"] == "[]"
    rows = {int(row[0]): row for line in replication.splitlines()[1:] if (row := line.split())}
    assert {node_id: row[-1] for node_id, row in rows.items()} == {
        node.id: "Leader" if node.id == view.leader_id else "Follower" for node in cluster.controllers
    }
    assert features_of(features) == {
        "eligible.leader.replicas.version": "1",
        "group.version": "1",
        "kraft.version": "0",
        "metadata.version": "4.3-IV0",
        "share.version": "0",
        "streams.version": "0",
        "transaction.version": "2",
    }
    assert f"Cluster ID: {cluster.cluster_id}" in cluster_id
    for node in cluster.controllers:
        assert re.search(rf"^{node.id}\s+127\.0\.0\.1 {node.controller_port}\s+null\s+controller", endpoints, re.M)


async def change_features(at: list[str]) -> None:
    """Down and up again; what cannot be is refused in Kafka's words; kraft.version goes up and never down."""
    said = await tool(FEATURES, *at, "downgrade", "--feature", "transaction.version=1")
    assert "transaction.version was downgraded to 1." in said
    said = await tool(FEATURES, *at, "upgrade", "--feature", "transaction.version=2")
    assert "transaction.version was upgraded to 2." in said
    refused, said = await asyncio.gather(
        tool(FEATURES, *at, "upgrade", "--feature", "transaction.version=9", fails=True),
        upgrade_kraft_version(at),
    )
    assert "Could not upgrade transaction.version to 9. The update failed for all features since" in refused
    assert re.search(r"Local controller \d only supports versions 0-2", refused)
    assert "kraft.version was upgraded to 1." in said
    features, refused, status = await asyncio.gather(
        tool(FEATURES, *at, "describe"),
        tool(FEATURES, *at, "downgrade", "--feature", "kraft.version=0", fails=True),
        tool(QUORUM, *at, "describe", "--status"),
    )
    assert features_of(features)["kraft.version"] == "1"
    assert "Can't downgrade the version of this feature." in refused
    assert all("directoryId" in voter for voter in json.loads(status_of(status)["CurrentVoters"]))


async def upgrade_kraft_version(at: list[str]) -> str:
    """When all voters have told the leader what they support, which takes them a fetch time-out."""
    deadline_s = time.monotonic() + 120
    while True:
        try:
            return await tool(FEATURES, *at, "upgrade", "--feature", "kraft.version=1")
        except AssertionError as error:
            if "have said that they support" not in str(error) or time.monotonic() > deadline_s:
                raise


async def change_configs(at: list[str]) -> None:
    brokers = ["--entity-type", "brokers", "--entity-default"]
    await tool(CONFIGS, *at, *brokers, "--alter", "--add-config", "log.cleaner.threads=2")
    said = await tool(CONFIGS, *at, *brokers, "--describe")
    assert "log.cleaner.threads=2 sensitive=false" in said


def test_tools_on_dynamic_voters(tmp_path: Path) -> None:
    """A controller joins as an observer, becomes a voter, and the leader is removed: it hands over and observes."""

    async def scenario(cluster: Cluster) -> None:
        cluster.start()
        async with Quorum(cluster) as quorum:
            await quorum.caught_up()
            await quorum.describes_cluster()
            first = [node for node in cluster.controllers if node.spec.is_first_voter]
            at = ["--bootstrap-controller", ",".join(node.controller_address for node in first)]
            await add_controller(cluster, at)
            view = await quorum.caught_up()
            assert sorted(view.voters) == [1, 2, 3, NEW_CONTROLLER_ID]

            leader = cluster[view.leader_id]
            remove = ["remove-controller", "-i", str(leader.id), "-d"]
            said = await tool(QUORUM, *at, *remove, uuid_to_text(b"another one's id"), fails=True)
            assert "VoterNotFoundException" in said
            await tool(QUORUM, *at, *remove, uuid_to_text(leader.directory_id))
            await quorum.leader(above_epoch=view.leader_epoch)
            view = await quorum.caught_up()
            assert view.leader_id != leader.id and leader.id in view.observers
            status = status_of(await tool(QUORUM, *at, "describe", "--status"))
            assert [voter["id"] for voter in json.loads(status["CurrentVoters"])] == sorted(view.voters)
            observers = [{"id": leader.id, "directoryId": uuid_to_text(leader.directory_id)}]
            assert json.loads(status["CurrentObservers"]) == observers

    nodes = [*controllers(3), NodeSpec(NEW_CONTROLLER_ID, OURS, is_first_voter=False)]
    with Cluster(tmp_path, nodes, dynamic=True, settings=PATIENT_QUORUM) as cluster:
        asyncio.run(scenario(cluster))


async def add_controller(cluster: Cluster, at: list[str]) -> None:
    add = [*at, "--command-config", str(cluster[NEW_CONTROLLER_ID].properties), "add-controller"]
    said = await tool(QUORUM, *add)
    assert f"Added controller {NEW_CONTROLLER_ID} with directory id" in said
    said = await tool(QUORUM, *add, fails=True)
    assert "DuplicateVoterException" in said


@pytest.mark.parametrize("kind", [Kind.KAFKA, OURS], ids=["kafka-broker", "our-broker"])
def test_tools_through_a_broker(kind: Kind, tmp_path: Path) -> None:
    async def scenario(cluster: Cluster) -> None:
        cluster.start()
        async with Quorum(cluster) as quorum:
            await quorum.caught_up()
            await broker_is_up(cluster, quorum)
            at = ["--bootstrap-server", cluster[BROKER_ID].broker_address]
            await use_topics(at)

    nodes = [*controllers(1), NodeSpec(BROKER_ID, kind, roles="broker")]
    with Cluster(tmp_path, nodes) as cluster:
        asyncio.run(scenario(cluster))


async def broker_is_up(cluster: Cluster, quorum: Quorum) -> None:
    """Nearly: it answers when it is unfenced, and the tools wait for that, but not for a JVM that starts slowly."""

    async def is_there() -> bool | None:
        view = await quorum.view()
        return True if view is not None and BROKER_ID in view.observers else None

    await quorum.wait(is_there, "the broker follows the metadata")


async def shown_by(pattern: str, *command: str) -> str:
    """What a tool prints once the broker that it asks has applied the change: that answers before all brokers have."""
    async with asyncio.timeout(_APPLIED_S):
        while not re.search(pattern, output := await tool(*command)):
            pass
    return output


async def use_topics(at: list[str]) -> None:
    await tool(TOPICS, *at, "--create", "--topic", "tools", "--partitions", "2", "--config", "retention.ms=1000")
    configs = ["--entity-type", "topics", "--entity-name", "tools"]
    await asyncio.gather(
        tool(TOPICS, *at, "--alter", "--topic", "tools", "--partitions", "3"),
        tool(CONFIGS, *at, *configs, "--alter", "--add-config", "retention.ms=2000"),
    )
    described, configured, refused, status, features = await asyncio.gather(
        shown_by(r"PartitionCount: 3", TOPICS, *at, "--describe", "--topic", "tools"),
        shown_by(r"retention.ms=2000", CONFIGS, *at, *configs, "--describe"),
        tool(TOPICS, *at, "--create", "--topic", "tools", fails=True),
        tool(QUORUM, *at, "describe", "--status"),
        tool(FEATURES, *at, "describe"),
    )
    assert re.search(r"Topic: tools\s+TopicId: \S{22}\s+PartitionCount: 3\s+ReplicationFactor: 1", described)
    assert re.search(rf"Partition: 2\s+Leader: {BROKER_ID}\s+Replicas: {BROKER_ID}\s+Isr: {BROKER_ID}", described)
    assert "retention.ms=2000" in configured
    assert "Topic 'tools' already exists." in refused
    assert json.loads(status_of(status)["CurrentObservers"])[0]["id"] == BROKER_ID
    assert features_of(features)["metadata.version"] == "4.3-IV0"
    await tool(TOPICS, *at, "--delete", "--topic", "tools")
    assert "tools" not in (await tool(TOPICS, *at, "--list")).split()
