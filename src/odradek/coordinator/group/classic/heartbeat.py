"""Heartbeat: a member is there, and learns whether it has to join again."""

from odradek.coordinator.group.classic.classic_group import ClassicGroup, ClassicState
from odradek.coordinator.group.classic.rebalance import Rebalances
from odradek.coordinator.group.values import refusal
from odradek.protocol.error_codes import ErrorCode
from odradek.protocol.messages.heartbeat_request import HeartbeatRequest
from odradek.protocol.messages.heartbeat_response import HeartbeatResponse


def heartbeat(rebalances: Rebalances, group: ClassicGroup, request: HeartbeatRequest) -> HeartbeatResponse:
    """Raises ApiError. A member of a group that rebalances is still there, though it is told so by an error."""
    if group.state is ClassicState.DEAD:
        raise refusal(ErrorCode.COORDINATOR_NOT_AVAILABLE)
    group.validate_member(request.member_id, request.group_instance_id)
    if request.generation_id != group.generation:
        raise refusal(ErrorCode.ILLEGAL_GENERATION)
    rebalances.begin_session(group, group.members[request.member_id])
    is_rebalancing = group.state is ClassicState.PREPARING_REBALANCE
    return HeartbeatResponse(error_code=ErrorCode.REBALANCE_IN_PROGRESS if is_rebalancing else ErrorCode.NONE)
