"""A network for the consumer's drivers, in memory: what is sent lies there until the test answers it."""

import asyncio
import random
from collections.abc import Callable, Mapping
from typing import Any

from odradek.client.net.backoff import Backoff
from odradek.client.net.metadata_cache import MetadataCache
from odradek.protocol.message import Message
from odradek.protocol.messages.metadata_response import (
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)

TOPIC_ID = b"t" * 16


class FakeNetwork:
    """As much of `NetworkClient` as fetcher and offsets use."""

    def __init__(self) -> None:
        self.metadata = MetadataCache(300_000)
        self.backoff = Backoff(1, 10)
        self.random = random.Random(0)
        self.posted: list[tuple[int, Message, asyncio.Future[Any]]] = []
        self.updates_requested = 0
        self.not_ready: set[int] = set()
        #: Answers what is sent with `send`.
        self.answer: Callable[[int, Message], Any] = lambda node_id, request: None

    def lead(self, leaders: Mapping[int, tuple[int, int]], topic: str = "a", topic_id: bytes = TOPIC_ID) -> None:
        """Partition -> node and epoch."""
        partitions = [
            MetadataResponsePartition(partition_index=number, leader_id=node_id, leader_epoch=epoch)
            for number, (node_id, epoch) in leaders.items()
        ]
        self.metadata.want_topics([topic])
        self.metadata.update(
            MetadataResponse(
                brokers=[MetadataResponseBroker(node_id=number, host="host", port=number) for number in (1, 2, 3)],
                topics=[MetadataResponseTopic(name=topic, topic_id=topic_id, partitions=partitions)],
            ),
            0.0,
        )

    def post(self, node_id: int, request: Message, timeout_ms: float) -> "asyncio.Future[Any] | None":
        response: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self.posted.append((node_id, request, response))
        return response

    async def send(
        self, node_id: int, request: Message, timeout_ms: float | None = None, *, version: int | None = None
    ) -> Any:
        await asyncio.sleep(0)
        return self.answer(node_id, request)

    def is_ready(self, node_id: int) -> bool:
        return node_id not in self.not_ready

    async def ready(self, node_id: int, timeout_ms: float) -> bool:
        while node_id in self.not_ready:
            await asyncio.sleep(0)
        return True

    def version(self, node_id: int, api: type[Message]) -> int | None:
        return api.VERSIONS[1]

    def request_update(self) -> None:
        self.updates_requested += 1

    async def updated(self, version: int) -> None:
        while self.metadata.version <= version:
            await asyncio.sleep(0)
