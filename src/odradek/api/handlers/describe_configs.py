"""DescribeConfigs (key 32): settings of topics, brokers, loggers, groups and client metrics, and where each comes from.

v1 synonyms · v2 as v1 · v3 types and documentation (KIP-569) · v4 flexible

A node knows its own settings and those for all brokers (an empty name), and the levels of its own loggers; another
broker's are that one's to tell.

Authorised by DESCRIBE_CONFIGS on the topic, group or cluster.
"""

from collections.abc import Callable

from odradek.api.dispatch.context import Context
from odradek.api.shared.config_authorization import check_may
from odradek.api.shared.config_entries import ConfigEntries, Entry
from odradek.common.failures import ApiError
from odradek.controller.topic_names import check_topic_name
from odradek.protocol.config_types import ConfigResourceType
from odradek.protocol.error_codes import ErrorCode
from odradek.protocol.messages.describe_configs_request import DescribeConfigsRequest, DescribeConfigsResource
from odradek.protocol.messages.describe_configs_response import DescribeConfigsResponse, DescribeConfigsResult
from odradek.security.resources import Operation

#: One resource of any other kind fails the whole request.
_KINDS = tuple(kind for kind in ConfigResourceType if kind is not ConfigResourceType.UNKNOWN)


def handle(ctx: Context, request: DescribeConfigsRequest) -> DescribeConfigsResponse:
    for resource in request.resources:
        if resource.resource_type not in _KINDS:
            raise _invalid(f"Unexpected resource type {resource.resource_type} for resource {resource.resource_name}")
    entries = ConfigEntries(
        ctx, with_synonyms=request.include_synonyms, with_documentation=request.include_documentation
    )
    return DescribeConfigsResponse(results=[_result(ctx, entries, resource) for resource in request.resources])


def _result(ctx: Context, entries: ConfigEntries, resource: DescribeConfigsResource) -> DescribeConfigsResult:
    result = DescribeConfigsResult(resource_type=resource.resource_type, resource_name=resource.resource_name)
    try:
        check_may(ctx, Operation.DESCRIBE_CONFIGS, resource)
        found = _found(ctx, entries, resource)
    except ApiError as error:
        result.error_code, result.error_message = error.code, str(error)
        return result
    wanted = resource.configuration_keys or list(found)
    result.configs = [found[key]() for key in dict.fromkeys(wanted) if key in found]
    return result


def _found(ctx: Context, entries: ConfigEntries, resource: DescribeConfigsResource) -> dict[str, Callable[[], Entry]]:
    name = resource.resource_name
    match resource.resource_type:
        case ConfigResourceType.TOPIC:
            check_topic_name(name)
            if name not in ctx.services.image().topics.by_name:
                raise ApiError(code=ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
            return entries.of_topic(name)
        case ConfigResourceType.BROKER:
            return entries.of_this_broker() if _is_own(name, ctx.services.node_id) else entries.of_all_brokers()
        case ConfigResourceType.BROKER_LOGGER:
            _check_named(name, "Broker id must not be empty")
            _check_own(name, ctx.services.node_id, str(ctx.services.node_id))
            return entries.of_loggers()
        case ConfigResourceType.GROUP:
            _check_named(name, "Group name must not be empty")
            return entries.of_group(name)
        case ConfigResourceType.CLIENT_METRICS:
            _check_named(name, "Client metrics subscription name must not be empty")
            return entries.of_client_metrics(name)
    raise _invalid(f"Unsupported resource type: {resource.resource_type}")


def _is_own(name: str, node_id: int) -> bool:
    """False for the empty name, which stands for all brokers."""
    if not name:
        return False
    _check_own(name, node_id, f"{node_id} or empty string,")
    return True


def _check_own(name: str, node_id: int, expected: str) -> None:
    try:
        asked = int(name)
    except ValueError:
        raise _invalid(f"Broker id must be an integer, but it is: {name}") from None
    if asked != node_id:
        raise _invalid(f"Unexpected broker id, expected {expected} but received {name}")


def _check_named(name: str, otherwise: str) -> None:
    if not name:
        raise _invalid(otherwise)


def _invalid(message: str) -> ApiError:
    return ApiError(message, ErrorCode.INVALID_REQUEST)
