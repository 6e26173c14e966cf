"""ListConfigResources (key 74): names of what can have settings.

v0 names of client metrics (KIP-1000) · v1 any kind of resource (KIP-1142)

Groups and client metrics are those that have settings; topics and brokers are all there are.

Authorised by DESCRIBE_CONFIGS on the cluster.
"""

from odradek.api.dispatch.context import Context
from odradek.metadata.listener_view import ListenerView
from odradek.protocol.config_types import ConfigResourceType
from odradek.protocol.error_codes import ErrorCode
from odradek.protocol.messages.list_config_resources_request import ListConfigResourcesRequest
from odradek.protocol.messages.list_config_resources_response import ConfigResource, ListConfigResourcesResponse
from odradek.security.resources import Operation

#: In the order of the answer.
_KINDS = (
    ConfigResourceType.GROUP,
    ConfigResourceType.CLIENT_METRICS,
    ConfigResourceType.BROKER_LOGGER,
    ConfigResourceType.BROKER,
    ConfigResourceType.TOPIC,
)


def handle(ctx: Context, request: ListConfigResourcesRequest) -> ListConfigResourcesResponse:
    ctx.authorize(Operation.DESCRIBE_CONFIGS)
    supported = _KINDS if ctx.api_version else (ConfigResourceType.CLIENT_METRICS,)
    wanted = request.resource_types or supported
    if any(kind not in supported for kind in wanted):
        return ListConfigResourcesResponse(error_code=ErrorCode.UNSUPPORTED_VERSION)
    view = ListenerView(ctx.services.image(), ctx.listener_name, ctx.services.node_id)
    return ListConfigResourcesResponse(
        config_resources=[
            ConfigResource(resource_name=name, resource_type=kind)
            for kind in _KINDS
            if kind in wanted
            for name in _names(view, kind)
        ]
    )


def _names(view: ListenerView, kind: ConfigResourceType) -> list[str]:
    if kind is ConfigResourceType.TOPIC:
        return sorted(view.image.topics.by_name)
    if kind in (ConfigResourceType.BROKER, ConfigResourceType.BROKER_LOGGER):
        return [str(broker_id) for broker_id in view.endpoints]
    return sorted(name for of_kind, name in view.image.configs.resources if of_kind == kind)
