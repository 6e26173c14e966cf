"""DescribeCluster (key 60) on a controller's listener: the controllers, from their registrations (KIP-919).

v0 KIP-700, of brokers only · v1 the kind of endpoints that is asked for (KIP-919) · v2 fenced brokers (KIP-1073)

Authorised by ALTER on the cluster: more than a broker asks for.
"""

from odradek.api.dispatch.context import Context
from odradek.api.dispatch.declaration import Api
from odradek.api.shared.authorized_operations import cluster_operations
from odradek.api.shared.endpoint_types import EndpointType, check_endpoint_type
from odradek.common.failures import ApiError
from odradek.protocol.api_keys import ApiKey, ListenerRole
from odradek.protocol.error_codes import ErrorCode
from odradek.protocol.messages.describe_cluster_request import DescribeClusterRequest
from odradek.protocol.messages.describe_cluster_response import DescribeClusterBroker, DescribeClusterResponse
from odradek.security.resources import Operation

API = Api(ApiKey.DESCRIBE_CLUSTER, listeners=(ListenerRole.CONTROLLER,))

_NOBODY = -1


def handle(ctx: Context, request: DescribeClusterRequest) -> DescribeClusterResponse:
    version = ctx.services.image().features.metadata_version
    if version is None or not version.is_controller_registration_supported:
        raise ApiError(
            "Direct-to-controller communication is not supported with the current MetadataVersion.",
            ErrorCode.UNSUPPORTED_VERSION,
        )
    ctx.authorize(Operation.ALTER)
    check_endpoint_type(request.endpoint_type, EndpointType.CONTROLLER, ctx.api_version)
    nodes = _controllers(ctx)
    leader = ctx.quorum.leader()
    has_endpoint = leader is not None and any(node.broker_id == leader.id for node in nodes)
    response = DescribeClusterResponse(
        endpoint_type=EndpointType.CONTROLLER,
        cluster_id=ctx.services.cluster_id,
        controller_id=leader.id if leader is not None and has_endpoint else _NOBODY,
        brokers=nodes,
    )
    if request.include_cluster_authorized_operations:
        response.cluster_authorized_operations = cluster_operations(ctx)
    return response


def _controllers(ctx: Context) -> list[DescribeClusterBroker]:
    """Return the controllers that have the listener of the request."""
    nodes = []
    for _, controller in sorted(ctx.services.image().cluster.controllers.items()):
        endpoint = controller.listeners.get(ctx.listener_name)
        if endpoint is not None:
            nodes.append(DescribeClusterBroker(broker_id=controller.id, host=endpoint.host, port=endpoint.port))
    return nodes
