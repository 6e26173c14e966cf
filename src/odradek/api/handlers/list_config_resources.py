"""ListConfigResources (key 74): names of what can have settings.

v0 names of client metrics (KIP-1000) · v1 any kind of resource (KIP-1142)

Groups and client metrics are those that have settings; topics and brokers are all there are.

Authorised by DESCRIBE_CONFIGS on the cluster.
"""

from odradek.api.dispatch.context import Context
from odradek.api.dispatch.declaration import Api
from odradek.metadata.listener_view import ListenerView
from odradek.protocol.api_keys import ApiKey
from odradek.protocol.config_types import ConfigResourceType
from odradek.protocol.error_codes import ErrorCode
from odradek.protocol.messages.list_config_resources_request import ListConfigResourcesRequest
from odradek.protocol.messages.list_config_resources_response import ConfigResource, ListConfigResourcesResponse
from odradek.security.resources import Operation

API = Api(ApiKey.LIST_CONFIG_RESOURCES)

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
    requested_types = request.resource_types or supported
    if any(resource_type not in supported for resource_type in requested_types):
        return ListConfigResourcesResponse(error_code=ErrorCode.UNSUPPORTED_VERSION)
    view = ListenerView(ctx.services.image(), ctx.listener_name, ctx.services.node_id)
    return ListConfigResourcesResponse(
        config_resources=[
            ConfigResource(resource_name=name, resource_type=resource_type)
            for resource_type in _KINDS
            if resource_type in requested_types
            for name in _names(view, resource_type)
        ]
    )


def _names(view: ListenerView, kind: ConfigResourceType) -> list[str]:
    if kind is ConfigResourceType.TOPIC:
        return sorted(view.image.topics.by_name)
    if kind in (ConfigResourceType.BROKER, ConfigResourceType.BROKER_LOGGER):
        return [str(broker_id) for broker_id in view.endpoints]
    return sorted(name for of_kind, name in view.image.configs.resources if of_kind == kind)
