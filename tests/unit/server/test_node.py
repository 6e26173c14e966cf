"""A node as a whole, in this process, with real files and sockets."""

import asyncio
import errno
import re
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from odradek import __version__
from odradek.common.failures import Fault, InputError
from odradek.common.files import OsFileSystem
from odradek.common.hot_modules import HOT_MODULES
from odradek.common.ports import File
from odradek.protocol.config_types import ConfigResourceType
from odradek.protocol.error_codes import ErrorCode
from odradek.protocol.messages.api_versions_request import ApiVersionsRequest
from odradek.protocol.messages.describe_quorum_request import DescribeQuorumRequest, PartitionData, TopicData
from odradek.protocol.messages.incremental_alter_configs_request import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from odradek.protocol.messages.metadata_request import MetadataRequest
from odradek.protocol.messages.update_features_request import FeatureUpdateKey, UpdateFeaturesRequest
from odradek.raft.values import METADATA_TOPIC
from odradek.server.node import Node
from support.processes.network import PATIENCE_S, run, until
from support.processes.node import (
    ask,
    combined_config,
    controller_config,
    create_topics,
    format_node,
    register_fake_broker,
    running,
    three_controllers,
    write_properties,
)
from support.processes.ports import free_ports


def test_what_was_answered_is_there_after_a_restart(tmp_path: Path) -> None:
    async def test() -> None:
        config = controller_config(tmp_path)
        async with running(config) as node:
            await until(lambda: node.controller is not None and node.controller.core.is_active, "active")
            await register_fake_broker(node)
            created = await ask(node, create_topics("a", "b", partitions=3))
            assert [topic.error_code for topic in created.topics] == [0, 0]
            before = node.quorum.image()
        async with running(config) as node:
            await until(lambda: node.quorum.image().offset >= before.offset, "the log is read again")
            after = node.quorum.image()
            assert sorted(topic.name for topic in after.topics.by_id.values()) == ["a", "b"]
            assert after.topics == before.topics

    run(test())


@pytest.mark.parametrize(
    ("plain", "level", "text"),
    [
        ([], "INFO", "hot modules: compiled"),
        (HOT_MODULES, "WARNING", "hot modules: plain Python, several times slower"),
    ],
)
def test_the_first_line_of_the_log_says_whether_the_hot_modules_are_compiled(
    plain: list[str],
    level: str,
    text: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def test() -> None:
        async with running(controller_config(tmp_path)):
            pass

    monkeypatch.setattr("odradek.server.node.plain_modules", lambda: plain)
    with caplog.at_level("INFO", "odradek"):
        run(test())
    first = caplog.records[0]
    assert first.levelname == level and first.getMessage().startswith(f"odradek {__version__}, {text}")


def test_a_combined_node_is_unfenced_and_lists_the_topic_that_it_passed_on(tmp_path: Path) -> None:
    async def test() -> None:
        async with running(combined_config(tmp_path)) as node:
            created = await ask(node, create_topics("passed-on"), "PLAINTEXT")
            assert created.topics[0].error_code == 0
            await until(lambda: bool(node.quorum.image().topics.by_id), "published")
            listed = await ask(node, MetadataRequest(topics=None), "PLAINTEXT")
            assert [(t.name, t.partitions[0].leader_id) for t in listed.topics] == [("passed-on", 1)]
            assert node.broker is not None
            epoch = node.broker.driver.epoch
        marker = Path(node.config.log_dirs[0]) / ".kafka_cleanshutdown"
        assert f'"brokerEpoch":{epoch}' in marker.read_text()

    run(test())


def test_who_connects_to_a_broker_that_is_fenced_waits_until_it_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def test() -> None:
        opened, go = asyncio.Event(), asyncio.Event()

        async def open_and_wait(node: Node, then: Callable[[Node], Any] = Node._hear_clients) -> None:
            await then(node)
            opened.set()
            await go.wait()

        monkeypatch.setattr(Node, "_hear_clients", open_and_wait)
        node = Node(combined_config(tmp_path))
        starting = asyncio.ensure_future(node.start())
        await opened.wait()
        asked = asyncio.ensure_future(ask(node, create_topics("early"), "PLAINTEXT"))
        for _ in range(10):  # it would have been refused by now, for want of a broker that takes replicas
            await ask(node, ApiVersionsRequest(client_software_name="t", client_software_version="1"))
        assert not asked.done()
        go.set()
        assert (await asked).topics[0].error_code == ErrorCode.NONE
        await starting
        await node.stop()

    run(test())


@pytest.mark.slow
def test_a_leader_that_stops_hands_over_to_the_next_epoch(tmp_path: Path) -> None:
    async def test() -> None:
        nodes = {config.node_id: Node(config) for config in three_controllers(tmp_path)}
        await asyncio.gather(*(node.start() for node in nodes.values()))
        leader = await leader_of(nodes)
        epoch = leader.quorum.raft.leader_and_epoch.epoch
        del nodes[leader.config.node_id]
        await leader.stop()
        assert leader.quorum.driver.handed_over
        successor = await leader_of(nodes)
        assert successor.quorum.raft.leader_and_epoch.epoch == epoch + 1
        await asyncio.gather(*(node.stop() for node in nodes.values()))

    run(test())


@pytest.mark.slow
def test_answers_that_wait_are_refused_when_the_leadership_is_lost(tmp_path: Path) -> None:
    async def test() -> None:
        nodes = {config.node_id: Node(config) for config in three_controllers(tmp_path)}
        await asyncio.gather(*(node.start() for node in nodes.values()))
        leader = await leader_of(nodes)
        await register_fake_broker(leader)
        others = [node for node in nodes.values() if node is not leader]
        for other in others:  # so that nothing can be committed
            await asyncio.gather(*(listener.stop(0) for listener in other.listeners.for_controllers))
            other.quorum.driver.shutdown(0)
        waiting = asyncio.ensure_future(ask(leader, create_topics("never")))
        answer = await waiting
        assert answer.topics[0].error_code == ErrorCode.NOT_CONTROLLER
        await asyncio.gather(*(node.stop() for node in nodes.values()))

    run(test())


@pytest.mark.slow
def test_kraft_version_is_raised_once_all_voters_have_told(tmp_path: Path) -> None:
    async def test() -> None:
        nodes = {config.node_id: Node(config) for config in three_controllers(tmp_path)}
        await asyncio.gather(*(node.start() for node in nodes.values()))
        leader = await leader_of(nodes)
        assert leader.quorum.raft.kraft_version == 0
        update = FeatureUpdateKey(feature="kraft.version", max_version_level=1, upgrade_type=1)
        request = UpdateFeaturesRequest(timeout_ms=60_000, feature_updates=[update])
        answer = await ask(leader, request)
        while answer.error_code == ErrorCode.INVALID_UPDATE_VERSION:  # until everybody has registered and told
            await asyncio.sleep(0.05)
            answer = await ask(leader, request)
        assert answer.error_code == 0, answer
        for node in nodes.values():
            await until(lambda node=node: node.quorum.raft.kraft_version == 1, "everybody has it")  # type: ignore[misc]
            assert all(key.directory_id is not None for key in node.quorum.raft.voters.keys)
        versions = await ask(leader, ApiVersionsRequest(client_software_name="t", client_software_version="1"))
        assert ("kraft.version", 1) in [(f.name, f.max_version_level) for f in versions.finalized_features]
        await asyncio.gather(*(node.stop() for node in nodes.values()))

    run(test())


def test_a_snapshot_is_written_when_it_is_due_and_read_at_the_next_start(tmp_path: Path) -> None:
    async def test() -> None:
        config = controller_config(tmp_path, metadata_log_max_record_bytes_between_snapshots=1_000)
        async with running(config) as node:
            await until(lambda: node.controller is not None and node.controller.core.is_active, "active")
            await register_fake_broker(node)
            await ask(node, create_topics(*(f"topic-{index}" for index in range(50))))
            await until(lambda: (node.quorum.raft.latest_snapshot_id or (0, 0)) > (0, 0), "a snapshot")
            before = node.quorum.image()
        async with running(config) as node:
            await until(lambda: node.quorum.image().offset >= before.offset, "read again")
            assert node.quorum.image().topics == before.topics

    run(test())


def test_a_snapshot_of_settings_that_fill_more_than_a_batch(tmp_path: Path) -> None:
    async def test() -> None:
        config = controller_config(tmp_path, metadata_log_max_record_bytes_between_snapshots=8_000_000)
        async with running(config) as node:
            await until(lambda: node.controller is not None and node.controller.core.is_active, "active")
            for first in range(3):
                answer = await ask(node, large_settings(first))
                assert {each.error_code for each in answer.responses} == {0}, answer
            await until(lambda: (node.quorum.raft.latest_snapshot_id or (0, 0)) > (0, 0), "a snapshot")

    run(test())


def large_settings(first: int) -> IncrementalAlterConfigsRequest:
    """A hundred settings of 32,000 bytes."""
    return IncrementalAlterConfigsRequest(
        resources=[
            AlterConfigsResource(
                resource_type=ConfigResourceType.CLIENT_METRICS,
                resource_name=f"{first}-{index}",
                configs=[AlterableConfig(name="metrics", value="x" * 32_000)],
            )
            for index in range(100)
        ]
    )


def test_who_waits_between_steps_and_goes_leaves_nothing_behind(tmp_path: Path) -> None:
    async def test() -> None:
        async with running(controller_config(tmp_path)) as node:
            called: list[str] = []
            asked = asyncio.ensure_future(node.quorum.driver.between_steps(lambda: called.append("gone")))
            asyncio.get_running_loop().call_soon(asked.cancel)
            await node.quorum.driver.between_steps(lambda: called.append("here"))
            assert node.fault is None and called == ["here"]

    run(test())


def test_describe_quorum_of_a_new_quorum(tmp_path: Path) -> None:
    async def test() -> None:
        async with running(controller_config(tmp_path)) as node:
            await until(lambda: node.controller is not None and node.controller.core.is_active, "active")
            partitions = [PartitionData(partition_index=0)]
            request = DescribeQuorumRequest(topics=[TopicData(topic_name=METADATA_TOPIC, partitions=partitions)])
            partition = (await ask(node, request)).topics[0].partitions[0]
            assert (partition.leader_id, [voter.replica_id for voter in partition.current_voters]) == (1, [1])

    run(test())


class FailingSyncs(OsFileSystem):
    """A disk on which nothing under `name` becomes durable any more, from `fails` on."""

    def __init__(self, suffix: str) -> None:
        self.suffix = suffix
        self.fails = False

    def open(self, path: str, *, create: bool = False, writable: bool = True) -> File:
        file = super().open(path, create=create, writable=writable)
        if path.endswith(self.suffix):
            really: Callable[[], None] = file.sync

            def sync() -> None:
                if self.fails:
                    raise OSError(errno.EIO, "Input/output error", path)
                really()

            return _Proxy(file, sync)  # type: ignore[return-value]
        return file


class _Proxy:
    def __init__(self, file: Any, sync: Callable[[], None]) -> None:
        self._file, self.sync = file, sync

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)


def test_a_broker_whose_directories_are_all_gone_ends(tmp_path: Path) -> None:
    async def test() -> None:
        node = Node(combined_config(tmp_path, **{"replica.high.watermark.checkpoint.interval.ms": 50}))
        await node.start()
        try:
            # Of a partition there is a high watermark to write, soon; other files are written after half a minute.
            assert (await ask(node, create_topics("a"))).topics[0].error_code == 0
            log_dir = Path(node.config.log_dirs[0])
            await until((log_dir / "a-0").exists, "it has a partition")
            log_dir.rename(tmp_path / "gone")  # in one step: the node writes meanwhile
            with pytest.raises(Fault, match="has failed, and the metadata log is in it"):
                await asyncio.wait_for(node.wait(), PATIENCE_S)
        finally:
            with suppress(Fault):
                await node.stop()

    run(test())


@pytest.mark.parametrize("suffix", [".log"])
def test_a_disk_that_fails_ends_the_node_and_acknowledges_nothing(tmp_path: Path, suffix: str) -> None:
    async def test() -> None:
        files = FailingSyncs(suffix)
        node = Node(controller_config(tmp_path), files=files)
        await node.start()
        await until(lambda: node.controller is not None and node.controller.core.is_active, "active")
        await register_fake_broker(node)
        files.fails = True
        asked = asyncio.ensure_future(ask(node, create_topics("never")))
        with pytest.raises(Fault, match="Input/output error"):
            await node.wait()
        await node.stop()
        outcome = (await asyncio.gather(asked, return_exceptions=True))[0]
        assert isinstance(outcome, Exception) or outcome.topics[0].error_code != 0

    run(test())


@pytest.mark.parametrize("method", ["tick", "handle"])
def test_a_flaw_in_the_controller_ends_the_node(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, method: str) -> None:
    """Whatever it left half done must not be decided upon."""

    def flawed(*_: object, **__: object) -> None:
        raise KeyError("flawed")

    async def test() -> None:
        node = Node(controller_config(tmp_path))
        await node.start()
        await until(lambda: node.controller is not None and node.controller.core.is_active, "active")
        assert node.controller is not None
        monkeypatch.setattr(node.controller.core, method, flawed)
        asked = asyncio.ensure_future(ask(node, create_topics("never")))
        with pytest.raises(Fault, match="flawed"):
            await node.wait()
        await node.stop()
        await asyncio.gather(asked, return_exceptions=True)

    run(test())


def test_what_a_user_can_mend_is_said(tmp_path: Path) -> None:
    async def refused(config: Any) -> str:
        with pytest.raises(InputError) as error:
            await Node(config).start()
        return str(error.value)

    async def test() -> None:
        config = controller_config(tmp_path)
        async with running(config):
            assert "is in use" in await refused(config)
        (port,) = free_ports(1)
        quorum = f"controller.quorum.bootstrap.servers=127.0.0.1:{port}"
        (tmp_path / "new").mkdir()
        path = write_properties(tmp_path / "new", 2, "controller", quorum, [port])
        unformatted = format_node(path, standalone=True)
        (Path(unformatted.metadata_log_dir) / "meta.properties").unlink()
        assert re.search(r"is not formatted.*\n.*odradek storage format", await refused(unformatted))
        async with running(config) as node:
            taken = node.listeners.ports["CONTROLLER"]
            quorum = f"controller.quorum.bootstrap.servers=127.0.0.1:{taken}"
            (tmp_path / "other").mkdir()
            path = write_properties(tmp_path / "other", 3, "controller", quorum, [taken])
            assert f"port {taken} is taken" in await refused(format_node(path, standalone=True))

    run(test())


async def leader_of(nodes: dict[int, Node]) -> Node:
    """The one whose controller is active."""
    found: list[Node] = []

    def is_there() -> bool:
        found[:] = [node for node in nodes.values() if node.controller is not None and node.controller.core.is_active]
        return bool(found)

    await until(is_there, "an active controller")
    return found[0]
