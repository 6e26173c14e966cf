"""Brokers that are only pretended: real sockets, and answers that a test decides.

`async with FakeCluster(2) as cluster:` listens on two ports. Metadata is made from `cluster.topics`, which a test may
change at any time; other APIs are answered by `cluster.handlers`, one for each API key. What came is in `seen`.
"""

from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from typing import Any

from odradek.api.dispatch.registry import ServedApi
from odradek.network.listener import Listener
from odradek.protocol.api_keys import ApiKey
from odradek.protocol.error_codes import ErrorCode
from odradek.protocol.message import Message
from odradek.protocol.messages.metadata_request import MetadataRequest
from odradek.protocol.messages.metadata_response import (
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from odradek.protocol.schema import Versions
from support.processes.network import listening

#: The node that was asked, and the request.
Handler = Callable[[int, Any], Message | Awaitable[Message]]


@dataclass
class FakeTopic:
    """`leaders` and `epochs` by partition; -1 leads nothing."""

    topic_id: bytes
    leaders: list[int]
    epochs: list[int] = field(default_factory=list)
    error_code: int = ErrorCode.NONE


class FakeCluster:
    def __init__(self, nodes: int = 1, handlers: dict[ApiKey, Handler] | None = None) -> None:
        self.node_ids = list(range(1, nodes + 1))
        self.handlers = handlers or {}
        self.versions: dict[ApiKey, Versions] = {}
        self.topics: dict[str, FakeTopic] = {}
        #: Error code of whole Metadata answers.
        self.metadata_error = ErrorCode.NONE
        #: Those that Metadata tells of; all unless a test says otherwise.
        self.told = list(self.node_ids)
        #: Node and request, in the order in which they came.
        self.seen: list[tuple[int, Message]] = []
        self.listeners: dict[int, Listener] = {}
        self._stacks: dict[int, AsyncExitStack] = {}

    async def __aenter__(self) -> "FakeCluster":
        for node_id in self.node_ids:
            await self.listen(node_id)
        return self

    async def __aexit__(self, *error: object) -> None:
        for node_id in list(self._stacks):
            await self.fall_silent(node_id)

    async def listen(self, node_id: int, port: int = 0) -> None:
        apis = [self._api(node_id, key) for key in {ApiKey.METADATA: None} | dict.fromkeys(self.handlers)]
        stack = self._stacks[node_id] = AsyncExitStack()
        self.listeners[node_id] = await stack.enter_async_context(listening(apis, port=port))

    async def fall_silent(self, node_id: int) -> None:
        """Nobody listens there any more, and connections end."""
        listener = self.listeners.pop(node_id)
        for connection in list(listener.endpoint.connections):
            connection.abort()
        await self._stacks.pop(node_id).aclose()

    def address(self, node_id: int) -> str:
        return f"127.0.0.1:{self.listeners[node_id].port}"

    @property
    def bootstrap(self) -> str:
        return ",".join(self.address(node_id) for node_id in self.listeners)

    def count(self, kind: type[Message]) -> int:
        return sum(isinstance(request, kind) for _, request in self.seen)

    def _api(self, node_id: int, key: ApiKey) -> ServedApi:
        async def handle(context: Any, request: Any) -> Message:
            self.seen.append((node_id, request))
            if key in self.handlers:
                answer = self.handlers[key](node_id, request)
                return answer if isinstance(answer, Message) else await answer
            return self.metadata(request)

        return ServedApi(key, handle, pipelined=True, versions=self.versions.get(key))

    def metadata(self, request: MetadataRequest) -> MetadataResponse:
        names = list(self.topics) if request.topics is None else [topic.name or "" for topic in request.topics]
        return MetadataResponse(
            cluster_id="fake",
            controller_id=self.told[0] if self.told else -1,
            error_code=self.metadata_error,
            brokers=[
                MetadataResponseBroker(node_id=node_id, host="127.0.0.1", port=self.listeners[node_id].port)
                for node_id in self.told
                if node_id in self.listeners
            ],
            topics=[_topic(name, self.topics.get(name)) for name in names],
        )


def _topic(name: str, topic: FakeTopic | None) -> MetadataResponseTopic:
    if topic is None or topic.error_code:
        code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION if topic is None else topic.error_code
        return MetadataResponseTopic(name=name, error_code=code)
    partitions = [
        MetadataResponsePartition(
            partition_index=number,
            leader_id=leader,
            leader_epoch=topic.epochs[number] if topic.epochs else 0,
            replica_nodes=[leader],
            isr_nodes=[leader],
            error_code=ErrorCode.LEADER_NOT_AVAILABLE if leader < 0 else ErrorCode.NONE,
        )
        for number, leader in enumerate(topic.leaders)
    ]
    return MetadataResponseTopic(name=name, topic_id=topic.topic_id, partitions=partitions)
