"""LeaveGroup: members go, several at once since version 3.

An administrator removes a static member by its instance id alone.
"""

import logging

from odradek.common.failures import ApiError
from odradek.coordinator.group.classic.classic_group import ClassicGroup, ClassicState
from odradek.coordinator.group.classic.rebalance import NOTHING, Rebalances
from odradek.coordinator.group.values import UNKNOWN_MEMBER_ID, refusal
from odradek.coordinator.runtime.shard import Decision
from odradek.protocol.error_codes import ErrorCode
from odradek.protocol.messages.leave_group_request import LeaveGroupRequest, MemberIdentity
from odradek.protocol.messages.leave_group_response import LeaveGroupResponse, MemberResponse

_log = logging.getLogger("odradek.groups")


def leave(rebalances: Rebalances, group: ClassicGroup, request: LeaveGroupRequest) -> Decision[LeaveGroupResponse]:
    if group.state is ClassicState.DEAD:
        raise refusal(ErrorCode.COORDINATOR_NOT_AVAILABLE)
    responses = [_answer(member, _leave_one(rebalances, group, member)) for member in request.members]
    removed = [member.member_id for member in responses if member.error_code == ErrorCode.NONE]
    decision = _after(rebalances, group, removed) if removed else NOTHING
    return Decision(
        LeaveGroupResponse(members=responses),
        decision.records,
        is_replayed=decision.is_replayed,
        on_done=decision.on_done,
    )


def _leave_one(rebalances: Rebalances, group: ClassicGroup, leaver: MemberIdentity) -> int:
    """The error code for it."""
    member_id, instance_id = leaver.member_id, leaver.group_instance_id
    if member_id == UNKNOWN_MEMBER_ID:
        static_member_id = None if instance_id is None else group.static_members.get(instance_id)
        if static_member_id is None:
            return ErrorCode.UNKNOWN_MEMBER_ID
        member_id = static_member_id
    elif member_id not in group.pending_join:
        try:
            group.validate_member(member_id, instance_id)
        except ApiError as error:
            return error.code
    _log.info("group %s: %s leaves; client reason: %s", group.group_id, member_id, leaver.reason or "not provided")
    rebalances.end_session(group, member_id)
    member = group.members.get(member_id)
    if member is None:
        group.remove(member_id)
    else:
        rebalances.remove_member(group, member)
    return ErrorCode.NONE


def _after(rebalances: Rebalances, group: ClassicGroup, removed: list[str]) -> Decision[None]:
    if group.state in (ClassicState.STABLE, ClassicState.COMPLETING_REBALANCE):
        return rebalances.prepare_or_complete(group, f"{', '.join(removed)} left by LeaveGroup")
    return rebalances.maybe_complete_join(group)


def _answer(leaver: MemberIdentity, error_code: int) -> MemberResponse:
    return MemberResponse(member_id=leaver.member_id, group_instance_id=leaver.group_instance_id, error_code=error_code)
