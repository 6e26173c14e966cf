"""The admin port of a node: figures that Prometheus can read, and health."""

import asyncio
import socket
from pathlib import Path
from typing import NamedTuple

import pytest
from prometheus_client.parser import text_string_to_metric_families

from odradek.common.failures import Fault, InputError
from odradek.common.ids import TopicPartition
from odradek.server.node import Node
from support.builders.logs import batch
from support.processes.network import until
from support.processes.node import ask, combined_config, create_topics, running

Figures = dict[str, dict[tuple[str, ...], float]]


class Page(NamedTuple):
    status: int
    text: str


async def page(node: Node, path: str, *, method: str = "GET") -> Page:
    assert node.admin is not None
    reader, writer = await asyncio.open_connection("127.0.0.1", node.admin.port)
    writer.write(f"{method} {path} HTTP/1.1\r\nHost: here\r\n\r\n".encode())
    head, _, body = (await reader.read()).decode().partition("\r\n\r\n")
    writer.close()
    await writer.wait_closed()
    return Page(int(head.split(" ")[1]), body)


async def figures(node: Node) -> Figures:
    """By name, and by the values of their labels in the order of the labels' names."""
    found: Figures = {}
    for family in text_string_to_metric_families((await page(node, "/metrics")).text):
        for sample in family.samples:
            found.setdefault(sample.name, {})[tuple(value for _, value in sorted(sample.labels.items()))] = sample.value
    return found


def test_a_node_tells_what_it_does(tmp_path: Path) -> None:
    async def main() -> None:
        async with running(combined_config(tmp_path, odradek_admin_listener="127.0.0.1:0")) as node:
            await ask(node, create_topics("books"), "PLAINTEXT")
            assert node.broker is not None
            partitions = node.broker.replicas.manager.partitions.online
            await until(lambda: TopicPartition("books", 0) in partitions, "the topic")
            log = partitions[TopicPartition("books", 0)].local_log()
            log.appender.append_as_leader(bytearray(batch("a", "b")), 0)
            found = await figures(node)
            assert found["odradek_requests_total"][("CREATE_TOPICS", "PLAINTEXT")] == 1
            assert found["odradek_request_duration_seconds_count"][("CREATE_TOPICS", "PLAINTEXT")] == 1
            assert found["odradek_partition_log_end_offset"][("0", "books")] == 2
            assert found["odradek_partition_log_size_bytes"][("0", "books")] == log.segments.size_bytes > 0
            assert found["odradek_partition_isr"][("0", "books")] == 1
            assert found["odradek_leader_partitions"][()] == 1
            for name in ("under_replicated", "under_min_isr", "offline"):
                assert found[f"odradek_{name}_partitions"][()] == 0
            assert found["odradek_active_controller"][()] == 1
            assert found["odradek_raft_leader_id"][()] == 1
            assert found["odradek_raft_high_watermark"][()] >= found["odradek_metadata_offset"][()] > 0
            assert found["odradek_received_bytes_total"][("PLAINTEXT",)] > 0
            assert found["odradek_sent_bytes_total"][("PLAINTEXT",)] > 0
            assert found["odradek_event_loop_delay_seconds"][()] >= 0
            assert found["process_resident_memory_bytes"][()] > 0

    asyncio.run(main())


def test_errors_are_told_by_their_names(tmp_path: Path) -> None:
    async def main() -> None:
        async with running(combined_config(tmp_path, odradek_admin_listener="127.0.0.1:0")) as node:
            await ask(node, create_topics("twice", "bad name"), "PLAINTEXT")
            await ask(node, create_topics("twice"), "PLAINTEXT")
            found = await figures(node)
            errors = found["odradek_request_errors_total"]
            assert errors[("CREATE_TOPICS", "INVALID_TOPIC_EXCEPTION", "PLAINTEXT")] == 1
            assert errors[("CREATE_TOPICS", "TOPIC_ALREADY_EXISTS", "PLAINTEXT")] == 1

    asyncio.run(main())


def test_the_buckets_of_a_duration_ascend_to_its_count(tmp_path: Path) -> None:
    async def main() -> None:
        async with running(combined_config(tmp_path, odradek_admin_listener="127.0.0.1:0")) as node:
            await ask(node, create_topics("books"), "PLAINTEXT")
            found = await figures(node)
            counts = [
                count
                for labels, count in found["odradek_request_duration_seconds_bucket"].items()
                if (labels[0], labels[2]) == ("CREATE_TOPICS", "PLAINTEXT")
            ]
            assert counts == sorted(counts)
            assert counts[-1] == found["odradek_request_duration_seconds_count"][("CREATE_TOPICS", "PLAINTEXT")]

    asyncio.run(main())


def test_health_is_told_with_the_reason(tmp_path: Path) -> None:
    async def main() -> None:
        async with running(combined_config(tmp_path, odradek_admin_listener="127.0.0.1:0")) as node:
            assert await page(node, "/healthz") == (200, "ok\n")
            node.fault = Fault("the disk is gone")
            assert await page(node, "/healthz") == (503, "broken: the disk is gone\n")
            node.fault = None

    asyncio.run(main())


def test_what_is_not_there_and_what_is_no_request(tmp_path: Path) -> None:
    async def main() -> None:
        async with running(combined_config(tmp_path, odradek_admin_listener="127.0.0.1:0")) as node:
            assert (await page(node, "/")).status == 404
            assert (await page(node, "/metrics", method="POST")).status == 405
            assert (await page(node, "/" + "x" * 70_000)).status == 400
            assert (await page(node, "/a b")).status == 400

    asyncio.run(main())


def test_there_is_none_unless_it_is_wanted(tmp_path: Path) -> None:
    async def main() -> None:
        async with running(combined_config(tmp_path)) as node:
            assert node.admin is None

    asyncio.run(main())


@pytest.mark.parametrize(("address", "said"), [("nowhere", "has no port"), (":1", "has no host")])
def test_a_wrong_address_is_refused_with_its_place(tmp_path: Path, address: str, said: str) -> None:
    async def main() -> None:
        config = combined_config(tmp_path, odradek_admin_listener=address)
        with pytest.raises(InputError, match=f"odradek.admin.listener: .*{said}.*for example"):
            await Node(config).start()

    asyncio.run(main())


def test_a_port_that_is_taken_is_told(tmp_path: Path) -> None:
    async def main() -> None:
        with socket.create_server(("127.0.0.1", 0)) as taken:
            config = combined_config(tmp_path, odradek_admin_listener=f"127.0.0.1:{taken.getsockname()[1]}")
            with pytest.raises(InputError, match=r"odradek.admin.listener: 127.0.0.1:.*free"):
                await Node(config).start()

    asyncio.run(main())
