"""DescribeCluster (key 60) on a broker's listener: the brokers, and whom to send changes to.

v0 KIP-700 · v1 the kind of endpoints that is asked for (KIP-919) · v2 fenced brokers (KIP-1073)

Authorised operations are shown to those with DESCRIBE on the cluster.
"""

from odradek.api.dispatch.context import Context
from odradek.api.dispatch.declaration import Api
from odradek.api.shared.authorized_operations import cluster_operations
from odradek.api.shared.endpoint_types import EndpointType, check_endpoint_type
from odradek.metadata.listener_view import ListenerView
from odradek.protocol.api_keys import ApiKey, ListenerRole
from odradek.protocol.messages.describe_cluster_request import DescribeClusterRequest
from odradek.protocol.messages.describe_cluster_response import DescribeClusterBroker, DescribeClusterResponse

API = Api(ApiKey.DESCRIBE_CLUSTER, listeners=(ListenerRole.BROKER,))


def handle(ctx: Context, request: DescribeClusterRequest) -> DescribeClusterResponse:
    check_endpoint_type(request.endpoint_type, EndpointType.BROKER, ctx.api_version)
    view = ListenerView(ctx.services.image(), ctx.listener_name, ctx.services.node_id)
    response = DescribeClusterResponse(
        endpoint_type=EndpointType.BROKER,
        cluster_id=ctx.services.cluster_id,
        controller_id=view.controller_id(),
        brokers=[
            DescribeClusterBroker(
                broker_id=broker.id,
                host=endpoint.host,
                port=endpoint.port,
                rack=broker.rack,
                is_fenced=broker.fenced,
            )
            for broker, endpoint in view.brokers(with_fenced=request.include_fenced_brokers)
        ],
    )
    if request.include_cluster_authorized_operations:
        response.cluster_authorized_operations = cluster_operations(ctx)
    return response
