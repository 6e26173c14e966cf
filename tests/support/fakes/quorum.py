"""Controllers that only say what a test wants: who leads, what the quorum looks like, a metadata log to fetch."""

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from typing import Any

from odradek.api.dispatch.registry import Registry, ServedApi
from odradek.common.addresses import HostPort
from odradek.network.endpoint import Endpoint
from odradek.network.listener import Listener
from odradek.protocol import api_keys
from odradek.protocol.api_keys import ApiKey
from odradek.protocol.error_codes import ErrorCode
from odradek.protocol.message import Message
from odradek.protocol.messages.describe_cluster_request import DescribeClusterRequest
from odradek.protocol.messages.describe_cluster_response import DescribeClusterBroker, DescribeClusterResponse
from odradek.protocol.messages.describe_quorum_request import DescribeQuorumRequest
from odradek.protocol.messages.describe_quorum_response import DescribeQuorumResponse, PartitionData, TopicData
from support.processes.network import PATIENCE_S

API_VERSIONS = ServedApi(ApiKey.API_VERSIONS, "odradek.api.handlers.api_versions")

CLUSTER_ID = "bSXPc0xJod0nPk2Pq19b2w"

_CONTROLLERS = 2

Handler = Callable[[int, Any], Message]


class FakeQuorum:
    """Nodes 1 to `count`. `handlers` answer for the leader, given the node's id and the request."""

    listener = api_keys.ListenerRole.CONTROLLER

    def __init__(self, handlers: dict[ApiKey, Handler] | None = None) -> None:
        self.addresses: dict[int, HostPort] = {}
        self.endpoints: dict[int, Endpoint] = {}
        self.leader_id: int | None = 1
        #: Who is told in DescribeCluster; all that listen, unless a test changes it.
        self.registered: dict[int, HostPort] = {}
        self.quorum = PartitionData(leader_id=1, leader_epoch=3, high_watermark=10)
        self.handlers: dict[ApiKey, Handler] = {
            ApiKey.DESCRIBE_CLUSTER: self._describe_cluster,
            ApiKey.DESCRIBE_QUORUM: self._describe_quorum,
            **(handlers or {}),
        }
        #: Which node got which request, in turn.
        self.asked: list[tuple[int, Message]] = []

    def asked_for(self, kind: type[Message]) -> list[int]:
        return [node_id for node_id, request in self.asked if isinstance(request, kind)]

    def break_connections(self, node_id: int) -> None:
        for connection in list(self.endpoints[node_id].connections):
            connection.abort()

    def apis(self, node_id: int) -> list[ServedApi]:
        return [
            API_VERSIONS,
            *(self._api(node_id, key) for key in self.handlers),
        ]

    def _api(self, node_id: int, key: ApiKey) -> ServedApi:
        def handle(_: Any, request: Any) -> Message:
            self.asked.append((node_id, request))
            return self.handlers[key](node_id, request)

        return ServedApi(key, handle)

    def _describe_cluster(self, _: int, request: DescribeClusterRequest) -> DescribeClusterResponse:
        if request.endpoint_type != _CONTROLLERS:
            return DescribeClusterResponse(error_code=ErrorCode.MISMATCHED_ENDPOINT_TYPE)
        return DescribeClusterResponse(
            endpoint_type=_CONTROLLERS,
            cluster_id=CLUSTER_ID,
            controller_id=-1 if self.leader_id is None else self.leader_id,
            brokers=[
                DescribeClusterBroker(broker_id=node_id, host=address.host, port=address.port)
                for node_id, address in self.registered.items()
            ],
        )

    def _describe_quorum(self, node_id: int, _: DescribeQuorumRequest) -> DescribeQuorumResponse:
        partition = self.quorum
        if node_id != self.leader_id:
            partition = PartitionData(error_code=ErrorCode.NOT_LEADER_OR_FOLLOWER)
        return DescribeQuorumResponse(topics=[TopicData(topic_name="__cluster_metadata", partitions=[partition])])


@asynccontextmanager
async def running(quorum: FakeQuorum, count: int = 1) -> AsyncIterator[FakeQuorum]:
    async with AsyncExitStack() as stack:
        for node_id in range(1, count + 1):
            registry = Registry(quorum.listener, quorum.apis(node_id))
            quorum.endpoints[node_id] = Endpoint("CONTROLLER", registry)
            listener = Listener(quorum.endpoints[node_id], "127.0.0.1", 0)
            await listener.start()
            stack.push_async_callback(listener.stop, timeout_ms=100)
            quorum.addresses[node_id] = HostPort("127.0.0.1", listener.port)
        quorum.registered = dict(quorum.addresses)
        yield quorum


@contextmanager
def running_in_thread(quorum: FakeQuorum, count: int = 1) -> Iterator[FakeQuorum]:
    """For the command, which has a loop of its own."""
    loop, stop, started = asyncio.new_event_loop(), asyncio.Event(), threading.Event()

    async def main() -> None:
        async with running(quorum, count):
            started.set()
            await stop.wait()

    thread = threading.Thread(target=lambda: loop.run_until_complete(main()))
    thread.start()
    try:
        assert started.wait(PATIENCE_S)
        yield quorum
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join(PATIENCE_S)
        loop.close()
