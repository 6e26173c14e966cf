"""Nodes of a cluster: describe them, unregister a broker."""

from collections.abc import Mapping
from dataclasses import dataclass

from odradek.client.admin.cluster_router import ClusterRouter
from odradek.client.errors import check_error
from odradek.common.addresses import HostPort
from odradek.protocol.messages.describe_cluster_request import DescribeClusterRequest
from odradek.protocol.messages.describe_cluster_response import DescribeClusterResponse
from odradek.protocol.messages.unregister_broker_request import UnregisterBrokerRequest
from odradek.protocol.messages.unregister_broker_response import UnregisterBrokerResponse

_BROKERS, _CONTROLLERS = 1, 2


@dataclass(frozen=True, slots=True)
class NodeDescription:
    """Broker or controller of a cluster."""

    id: int
    host: str
    port: int
    rack: str | None
    #: True for a registered broker that may be neither leader nor in an ISR: it is down, or has not caught up yet.
    is_fenced: bool


@dataclass(frozen=True, slots=True)
class NodesDescription:
    """Id and nodes of a cluster."""

    cluster_id: str
    #: Active controller if a controller was asked; a broker returns one of the brokers instead.
    controller_id: int | None
    nodes: tuple[NodeDescription, ...]


class ClusterOperations:
    """Describes the nodes of a cluster, and unregisters brokers."""

    def __init__(self, router: ClusterRouter) -> None:
        self._router = router

    async def describe(self, *, include_fenced: bool = False) -> NodesDescription:
        """Return the brokers, or the controllers if the client connects to controllers, by id."""
        request = DescribeClusterRequest(
            endpoint_type=_CONTROLLERS if self._router.are_controllers else _BROKERS,
            include_fenced_brokers=include_fenced,
        )
        response: DescribeClusterResponse = await self._router.send_to_any(request)
        check_error(response.error_code, response.error_message)
        nodes = [
            NodeDescription(node.broker_id, node.host, node.port, node.rack or None, node.is_fenced)
            for node in response.brokers
        ]
        controller_id = None if response.controller_id < 0 else response.controller_id
        return NodesDescription(response.cluster_id, controller_id, tuple(sorted(nodes, key=lambda node: node.id)))

    async def node_addresses(self) -> Mapping[int, HostPort]:
        """Return the addresses of the running brokers, or of the controllers, by id."""
        return (await self._router.describe()).nodes

    async def unregister_broker(self, broker_id: int) -> None:
        """Remove the registration of a broker that will not return. Raises Refused."""
        response: UnregisterBrokerResponse = await self._router.send_change(
            UnregisterBrokerRequest(broker_id=broker_id), lambda r: [r.error_code]
        )
        check_error(response.error_code, response.error_message)
