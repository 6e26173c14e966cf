"""ConsumerGroupHeartbeat (key 68): a member of a consumer group says what it wants and has, and is told its partitions
(KIP-848).

v1 regular expressions; members choose their own ids (KIP-1082)

Authorised by READ on the group, and DESCRIBE on each topic that is named.
"""

from odradek.api.dispatch.context import Context
from odradek.api.dispatch.declaration import Api
from odradek.api.shared.group_requests import authorize_group, request_context
from odradek.common.failures import ApiError
from odradek.coordinator.group.consumer.assignors import ASSIGNORS
from odradek.coordinator.group.consumer.member import JOIN_EPOCH, LEAVE_EPOCH, STATIC_LEAVE_EPOCH
from odradek.metadata.features.feature_versions import GROUP_VERSION
from odradek.protocol.api_keys import ApiKey
from odradek.protocol.error_codes import ErrorCode
from odradek.protocol.messages.consumer_group_heartbeat_request import ConsumerGroupHeartbeatRequest
from odradek.protocol.messages.consumer_group_heartbeat_response import ConsumerGroupHeartbeatResponse
from odradek.security.resources import Operation, ResourceType

API = Api(ApiKey.CONSUMER_GROUP_HEARTBEAT)

_FIRST_VERSION_WITH_OWN_IDS = 1
_NOT_GIVEN = -1


async def handle(ctx: Context, request: ConsumerGroupHeartbeatRequest) -> ConsumerGroupHeartbeatResponse:
    if ctx.services.image().features.level(GROUP_VERSION) < 1:
        raise ApiError("The cluster has not agreed on the consumer protocol.", ErrorCode.UNSUPPORTED_VERSION)
    authorize_group(ctx, Operation.READ, request.group_id)
    names = request.subscribed_topic_names or ()
    allowed = ctx.allowed(Operation.DESCRIBE, ResourceType.TOPIC, names)
    if any(name not in allowed for name in names):
        raise ApiError("", ErrorCode.TOPIC_AUTHORIZATION_FAILED)
    _check(request, ctx.api_version)
    context = request_context(ctx)
    response: ConsumerGroupHeartbeatResponse = await ctx.groups.write(
        request.group_id, lambda shard: shard.consumer_heartbeat(context, request)
    )
    return response


def _check(request: ConsumerGroupHeartbeatRequest, version: int) -> None:
    """Raises ApiError in Kafka's words."""
    epoch = request.member_epoch
    if version >= _FIRST_VERSION_WITH_OWN_IDS or epoch > JOIN_EPOCH or epoch == LEAVE_EPOCH:
        _refuse(not request.member_id.strip(), "MemberId can't be empty.")
    _refuse(not request.group_id.strip(), "GroupId can't be empty.")
    _refuse(request.instance_id is not None and not request.instance_id.strip(), "InstanceId can't be empty.")
    _refuse(request.rack_id is not None and not request.rack_id.strip(), "RackId can't be empty.")
    if epoch == JOIN_EPOCH:
        _check_join(request)
    elif epoch == STATIC_LEAVE_EPOCH:
        _refuse(request.instance_id is None, "InstanceId can't be null.")
    else:
        _refuse(epoch < STATIC_LEAVE_EPOCH, "MemberEpoch is invalid.")
    if request.server_assignor is not None and request.server_assignor not in ASSIGNORS:
        raise ApiError(
            f"ServerAssignor {request.server_assignor} is not supported. Supported assignors: {', '.join(ASSIGNORS)}.",
            ErrorCode.UNSUPPORTED_ASSIGNOR,
        )


def _check_join(request: ConsumerGroupHeartbeatRequest) -> None:
    _refuse(request.rebalance_timeout_ms == _NOT_GIVEN, "RebalanceTimeoutMs must be provided in first request.")
    has_partitions = request.topic_partitions is None or len(request.topic_partitions) > 0
    _refuse(has_partitions, "TopicPartitions must be empty when (re-)joining.")
    _refuse(
        request.subscribed_topic_names is None and request.subscribed_topic_regex is None,
        "Either SubscribedTopicNames or SubscribedTopicRegex must be non-null when (re-)joining.",
    )


def _refuse(is_wrong: bool, message: str) -> None:
    if is_wrong:
        raise ApiError(message, ErrorCode.INVALID_REQUEST)
