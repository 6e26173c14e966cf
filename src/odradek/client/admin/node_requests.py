"""Requests to the node that is responsible for a resource: the leader of a partition, the coordinator of a group.

The responsible nodes are looked up in one request, and each of them gets one request about all of its resources. A
resource that has moved meanwhile, or whose node is not ready for it, is looked up again until the API timeout has
expired. So a request may be sent several times, and has to be idempotent.
"""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Generic, TypeVar

from odradek.client.admin.cluster_router import ClusterRouter
from odradek.client.admin.outcomes import Outcomes
from odradek.client.admin.partitions_by_topic import indexes_by_topic
from odradek.client.errors import refusal
from odradek.client.net.coordinator_kind import CoordinatorKind
from odradek.client.types import TopicPartition
from odradek.common.addresses import HostPort
from odradek.errors import Refused, Unreachable
from odradek.protocol.error_codes import ErrorCode
from odradek.protocol.messages.find_coordinator_request import FindCoordinatorRequest
from odradek.protocol.messages.find_coordinator_response import FindCoordinatorResponse
from odradek.protocol.messages.metadata_request import MetadataRequest, MetadataRequestTopic
from odradek.protocol.messages.metadata_response import MetadataResponse

_RETRY_BACKOFF_S = 0.1

_Key = TypeVar("_Key")
_Value = TypeVar("_Value")


class NodeRequests(ABC, Generic[_Key]):
    """Sends requests about resources to their nodes, and again for resources whose error is retriable."""

    #: Errors that another lookup may resolve.
    retriable: tuple[ErrorCode, ...]
    #: Error code of the resources of a node that cannot be reached.
    unreachable: ErrorCode

    def __init__(self, router: ClusterRouter) -> None:
        self._router = router

    async def send(
        self,
        resources: Iterable[_Key],
        send: Callable[[HostPort, Sequence[_Key]], Awaitable[Mapping[_Key, _Value | Refused]]],
        *,
        api_timeout_ms: int | None = None,
    ) -> Outcomes[_Key, _Value]:
        """Call `send` for each node with the resources it is responsible for, and return all outcomes."""
        loop = asyncio.get_running_loop()
        timeout_ms = self._router.config.api_timeout_ms if api_timeout_ms is None else api_timeout_ms
        deadline_s = loop.time() + timeout_ms / 1000
        outcomes: Outcomes[_Key, _Value] = Outcomes()
        requested = list(dict.fromkeys(resources))
        pending = requested
        while pending:
            nodes = await self._find_nodes(pending)
            outcomes.update(nodes.rejected())
            for address, keys in _by_address(nodes.succeeded()).items():
                try:
                    outcomes.update(await send(address, keys))
                except Unreachable as error:
                    outcomes.update(dict.fromkeys(keys, Refused(error.message, self.unreachable)))
            pending = [key for key in pending if self._is_retriable(outcomes.get(key))]
            if loop.time() >= deadline_s:
                break
            if pending:
                await asyncio.sleep(_RETRY_BACKOFF_S)
        return outcomes.in_order_of(requested)

    def _is_retriable(self, outcome: object) -> bool:
        return isinstance(outcome, Refused) and outcome.code in self.retriable

    @abstractmethod
    async def _find_nodes(self, resources: Sequence[_Key]) -> Outcomes[_Key, HostPort]: ...


class LeaderRequests(NodeRequests[TopicPartition]):
    """Sends requests about partitions to their leaders."""

    #: An unknown topic or partition is not retried: it does not appear by waiting.
    retriable = (
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.LEADER_NOT_AVAILABLE,
        ErrorCode.FENCED_LEADER_EPOCH,
        ErrorCode.UNKNOWN_LEADER_EPOCH,
        ErrorCode.OFFSET_NOT_AVAILABLE,
    )
    unreachable = ErrorCode.LEADER_NOT_AVAILABLE

    async def _find_nodes(self, resources: Sequence[TopicPartition]) -> Outcomes[TopicPartition, HostPort]:
        topics = [MetadataRequestTopic(name=name) for name in indexes_by_topic(resources)]
        request = MetadataRequest(topics=topics, allow_auto_topic_creation=False)
        response: MetadataResponse = await self._router.send_to_any(request)
        addresses = {broker.node_id: HostPort(broker.host, broker.port) for broker in response.brokers}
        topic_errors = {topic.name: refusal(topic.error_code) for topic in response.topics}
        leader_ids = {
            TopicPartition(topic.name or "", partition.partition_index): partition.leader_id
            for topic in response.topics
            for partition in topic.partitions
        }
        nodes: Outcomes[TopicPartition, HostPort] = Outcomes()
        for partition in resources:
            address = addresses.get(leader_ids.get(partition, -1))
            error = topic_errors.get(partition.topic) or (_NO_LEADER if partition in leader_ids else _NO_PARTITION)
            nodes[partition] = error if address is None else address
        return nodes


class CoordinatorRequests(NodeRequests[str]):
    """Sends requests about groups, or about transactional ids, to their coordinators."""

    retriable = (
        ErrorCode.NOT_COORDINATOR,
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.NETWORK_EXCEPTION,
        # a transaction that is being completed
        ErrorCode.CONCURRENT_TRANSACTIONS,
    )
    unreachable = ErrorCode.NETWORK_EXCEPTION

    def __init__(self, router: ClusterRouter, coordinator_type: CoordinatorKind) -> None:
        super().__init__(router)
        self._coordinator_type = coordinator_type

    async def _find_nodes(self, resources: Sequence[str]) -> Outcomes[str, HostPort]:
        request = FindCoordinatorRequest(key_type=self._coordinator_type, coordinator_keys=list(resources))
        response: FindCoordinatorResponse = await self._router.send_to_any(request)
        return Outcomes(
            {
                coordinator.key: refusal(coordinator.error_code, coordinator.error_message)
                or HostPort(coordinator.host, coordinator.port)
                for coordinator in response.coordinators
            }
        )


_NO_LEADER = Refused("LEADER_NOT_AVAILABLE: the partition has no leader", ErrorCode.LEADER_NOT_AVAILABLE)
_NO_PARTITION = Refused(
    "UNKNOWN_TOPIC_OR_PARTITION: the topic has no such partition", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
)


def _by_address(nodes: Mapping[_Key, HostPort]) -> dict[HostPort, list[_Key]]:
    keys: dict[HostPort, list[_Key]] = {}
    for key, address in nodes.items():
        keys.setdefault(address, []).append(key)
    return keys
