"""`fetch.max.bytes` of a broker limits a response to a fetch, whatever the request asks for."""

from pathlib import Path
from typing import Any

import pytest

from odradek.client.producer.producer import Producer
from odradek.protocol.messages.fetch_request import FetchPartition, FetchRequest, FetchTopic
from odradek.server.node import Node
from support.processes.network import run
from support.processes.node import combined_config, running, talking_to

pytestmark = pytest.mark.slow

TOPIC = "orders"
RECORDS = 5
VALUE_BYTES = 600
LIMIT_BYTES = 1_024  # the least that Apache Kafka allows
#: The last version in which topics have names.
VERSION = 12


def test_a_response_is_no_larger_than_the_broker_allows(tmp_path: Path) -> None:
    async def fetched_bytes(node: Node) -> int:
        partition = FetchPartition(partition=0, fetch_offset=0, partition_max_bytes=1_000_000)
        request = FetchRequest(
            replica_id=-1,
            max_wait_ms=1_000,
            min_bytes=1_000_000,
            max_bytes=1_000_000,
            topics=[FetchTopic(topic=TOPIC, partitions=[partition])],
        )
        async with talking_to(node, "PLAINTEXT") as channel:
            response: Any = await channel.send(request, 30_000, version=VERSION)
        return len(response.responses[0].partitions[0].records)

    async def test() -> None:
        one_copy = {"offsets_topic_replication_factor": "1"}
        async with running(combined_config(tmp_path, fetch_max_bytes=str(LIMIT_BYTES), **one_copy)) as node:
            async with Producer(bootstrap_servers=f"127.0.0.1:{node.listeners.ports['PLAINTEXT']}") as producer:
                for _ in range(RECORDS):
                    await producer.send_and_wait(TOPIC, bytes(VALUE_BYTES))
            assert VALUE_BYTES < await fetched_bytes(node) <= LIMIT_BYTES

    run(test())
