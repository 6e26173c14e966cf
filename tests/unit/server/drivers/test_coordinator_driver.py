"""Coordinators on a whole node in this process: their topics, their logs, and what is there after a restart."""

import asyncio
import logging
from dataclasses import replace
from pathlib import Path

import pytest

from odradek.api.dispatch.replies import answer
from odradek.common.failures import ApiError
from odradek.common.files import OsFileSystem
from odradek.common.ids import TopicPartition
from odradek.coordinator.group.shard import GroupShard
from odradek.coordinator.runtime.hosted_shard import ShardState
from odradek.coordinator.runtime.shard import CoordinatorRecord, Decision, Writer
from odradek.protocol.error_codes import ErrorCode
from odradek.protocol.messages.delete_topics_request import DeleteTopicsRequest, DeleteTopicState
from odradek.protocol.messages.find_coordinator_request import FindCoordinatorRequest
from odradek.protocol.messages.offset_commit_key import OffsetCommitKey
from odradek.protocol.messages.offset_commit_value import OffsetCommitValue
from odradek.server.config.server_config import load_server_config
from odradek.server.drivers.coordinator_driver import CoordinatorDriver
from odradek.server.node import Node
from support import vectors
from support.processes.network import PATIENCE_S, run, until
from support.processes.node import PATIENCE_MS, ask, combined_config, running, write_properties
from support.processes.ports import free_ports

OFFSETS = "__consumer_offsets"
SMALL = {
    "offsets_topic_replication_factor": 1,
    "offsets_topic_num_partitions": 3,
    "offsets_topic_segment_bytes": 2_000_000,
}


def groups(node: Node) -> CoordinatorDriver[GroupShard]:
    found = node._services.groups
    assert isinstance(found, CoordinatorDriver)
    return found


def put(group: str, offset: int) -> Decision[int]:
    """A commit, without the rules of groups."""
    key, value = OffsetCommitKey(group=group, topic="t"), OffsetCommitValue(offset=offset)
    return Decision(offset, (CoordinatorRecord(key, value, 4),))


async def find(node: Node, *keys: str) -> list[int]:
    found = await ask(node, FindCoordinatorRequest(coordinator_keys=list(keys)), "PLAINTEXT")
    return [one.error_code for one in found.coordinators]


async def loaded(node: Node, count: int) -> None:
    runtime = groups(node).runtime
    await until(lambda: len(runtime.partitions(ShardState.ACTIVE)) == count, f"{count} partitions are loaded")


async def find_at_last(node: Node, *keys: str) -> None:
    while any(await find(node, *keys)):
        await asyncio.sleep(0.01)
    await loaded(node, 3)


async def offsets(node: Node) -> dict[str, int]:
    """By group, committed and not in a transaction."""
    found = await groups(node).read_all(
        lambda shard: {key.group_id: it.offset for key, it in shard.offsets.committed.items()}
    )
    return {group: offset for each in found for group, offset in each.items()}


def test_the_topic_is_made_when_a_group_is_first_looked_for(tmp_path: Path) -> None:
    async def test() -> None:
        async with running(combined_config(tmp_path, auto_create_topics_enable="false", **SMALL)) as node:
            assert OFFSETS not in node.quorum.image().topics.by_name
            await find_at_last(node, "g", "h")
            assert node.broker is not None
            config = node.broker.replicas.manager.partitions.find(TopicPartition(OFFSETS, 2)).local_log().config.value
            assert (config.compact, config.delete, config.segment_bytes) == (True, False, 2_000_000)

    run(test())


def test_what_was_committed_is_there_after_a_restart(tmp_path: Path) -> None:
    async def test() -> None:
        unverified = {"transaction_partition_verification_enable": "false"}
        config = combined_config(tmp_path, offsets_topic_compression_codec=3, **unverified, **SMALL)
        async with running(config) as node:
            await find_at_last(node, "g")
            for number in range(3000):
                key = f"g{number % 20}"
                assert await groups(node).write(key, lambda _, key=key, n=number: put(key, n)) == number  # type: ignore[misc]
            await groups(node).write("g0", lambda _: put("g0", -5), writer=Writer("open", 7, 0))
            for producer, is_committed in ((8, True), (9, False)):
                writer, key = Writer("ended", producer, 0), f"g{producer}"
                await groups(node).write(key, lambda _, key=key: put(key, -7), writer=writer)  # type: ignore[misc]
                await answer(
                    groups(node).complete_transaction(groups(node).partition_for(key), writer, 0, is_committed)
                )
            before = await offsets(node)
            assert before == {f"g{n}": -7 if n == 8 else 2980 + n for n in range(20)}
        async with running(config) as node:
            await loaded(node, 3)
            assert await offsets(node) == before
            pending = await groups(node).read("g0", lambda shard: list(shard.offsets.pending))
            assert pending == [7]

    run(test())


def test_what_is_too_large_is_refused_and_not_there(tmp_path: Path) -> None:
    async def test() -> None:
        async with running(combined_config(tmp_path, **SMALL)) as node:
            await find_at_last(node, "g")
            value = OffsetCommitValue(offset=1, metadata="m" * 30_000)
            records = tuple(CoordinatorRecord(OffsetCommitKey(group="g", topic=f"t{n}"), value, 4) for n in range(40))
            with pytest.raises(ApiError) as caught:
                await groups(node).write("g", lambda _: Decision(None, records))
            assert caught.value.code == ErrorCode.UNKNOWN_SERVER_ERROR
            assert await offsets(node) == {}

    run(test())


def test_a_topic_that_is_made_anew_begins_anew(tmp_path: Path) -> None:
    async def test() -> None:
        async with running(combined_config(tmp_path, **SMALL)) as node:
            await find_at_last(node, "g")
            await groups(node).write("g", lambda _: put("g", 1))
            deleted = DeleteTopicsRequest(topics=[DeleteTopicState(name=OFFSETS)], timeout_ms=PATIENCE_MS)
            assert [one.error_code for one in (await ask(node, deleted, "PLAINTEXT")).responses] == [0]
            await until(lambda: not groups(node).runtime.partitions(), "the shards are gone")
            with pytest.raises(ApiError) as caught:
                await groups(node).read("g", lambda shard: shard)
            assert caught.value.code == ErrorCode.NOT_COORDINATOR
            await find_at_last(node, "g")
            assert await offsets(node) == {}

    run(test())


def test_timers_run_by_the_clock(tmp_path: Path) -> None:
    async def test() -> None:
        async with running(combined_config(tmp_path, **SMALL)) as node:
            await find_at_last(node, "g")
            fired = asyncio.Event()

            def fire() -> Decision[None]:
                fired.set()
                return replace(put("timed", 5), answer=None)  # type: ignore[arg-type, return-value]

            def schedule(shard: GroupShard) -> Decision[None]:
                timers = shard.store.context.timers
                timers.schedule("long", 3_600_000, lambda: Decision(None))
                timers.schedule("short", 20, fire)
                return Decision(None)

            await groups(node).write("g", schedule)
            async with asyncio.timeout(PATIENCE_S):
                await fired.wait()
            assert await offsets(node) == {"timed": 5}

    run(test())


def test_groups_that_kafka_wrote_are_loaded_without_a_word(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async def test() -> None:
        broker, controller = free_ports(2)
        quorum = f"controller.quorum.voters=1@127.0.0.1:{controller}"
        properties = write_properties(tmp_path, 1, "broker,controller", quorum, [broker, controller])
        vectors.unpack(vectors.CLEAN, tmp_path).rename(tmp_path / "data1")
        caplog.set_level(logging.WARNING, "odradek")
        async with running(load_server_config(OsFileSystem(), str(properties))) as node:
            await loaded(node, 2)
            assert await offsets(node) != {}
            assert caplog.messages == []

    run(test())
