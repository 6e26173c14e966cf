"""SyncGroup: the leader brings the assignment, and everybody fetches theirs.

The assignment counts once it is in the log; members wait until then. Should the log refuse it everybody joins again.
"""

import logging

from odradek.common.failures import ApiError
from odradek.coordinator.group.classic.classic_group import ClassicGroup, ClassicState
from odradek.coordinator.group.classic.classic_member import EMPTY_ASSIGNMENT
from odradek.coordinator.group.classic.rebalance import NOTHING, Rebalances, sync_timer, written
from odradek.coordinator.group.records import group_metadata_record
from odradek.coordinator.group.store import GroupStore
from odradek.coordinator.group.values import refusal
from odradek.coordinator.runtime.reply import Reply
from odradek.coordinator.runtime.shard import Decision
from odradek.protocol.error_codes import ErrorCode
from odradek.protocol.messages.sync_group_request import SyncGroupRequest
from odradek.protocol.messages.sync_group_response import SyncGroupResponse

_log = logging.getLogger("odradek.groups")


class Syncs:
    def __init__(self, store: GroupStore, rebalances: Rebalances) -> None:
        self._store = store
        self._rebalances = rebalances

    def sync(self, group: ClassicGroup, request: SyncGroupRequest, reply: Reply[SyncGroupResponse]) -> Decision[None]:
        try:
            _validate(group, request)
        except ApiError as error:
            reply.complete(SyncGroupResponse(error_code=error.code))
            return NOTHING
        member = group.members[request.member_id]
        if group.state is ClassicState.COMPLETING_REBALANCE:
            superseded, member.awaiting_sync = member.awaiting_sync, reply
            if superseded is not None:
                superseded.complete(SyncGroupResponse(error_code=ErrorCode.REBALANCE_IN_PROGRESS))
            self._has_synced(group, request.member_id)
            return self._write_assignment(group, request) if request.member_id == group.leader_id else NOTHING
        self._has_synced(group, request.member_id)
        reply.complete(
            SyncGroupResponse(
                protocol_type=group.protocol_type, protocol_name=group.protocol_name, assignment=member.assignment
            )
        )
        return NOTHING

    def _has_synced(self, group: ClassicGroup, member_id: str) -> None:
        group.pending_sync.pop(member_id, None)
        if not group.pending_sync:
            self._store.context.timers.cancel(sync_timer(group.group_id))

    def _write_assignment(self, group: ClassicGroup, request: SyncGroupRequest) -> Decision[None]:
        from_leader = {requested.member_id: bytes(requested.assignment) for requested in request.assignments}
        assignments = {member_id: from_leader.get(member_id, EMPTY_ASSIGNMENT) for member_id in group.members}
        missing = [member_id for member_id in group.members if member_id not in from_leader]
        if missing:
            _log.warning("group %s: the leader assigns nothing to %s", group.group_id, ", ".join(missing))

        def on_done(error: ApiError | None) -> None:
            is_current = group.state is ClassicState.COMPLETING_REBALANCE and group.generation == request.generation_id
            if not is_current:
                return  # somebody has joined meanwhile, and everybody does again
            if error is None:
                self._rebalances.set_assignment(group, assignments)
                group.transition_to(ClassicState.STABLE, self._store.context.clock.wall_ms())
                _log.info("group %s: generation %d is stable", group.group_id, group.generation)
                return
            self._rebalances.reset_assignment(group, ErrorCode(error.code))
            self._rebalances.prepare_or_complete(group, f"the assignment could not be written: {error}")

        return written(group_metadata_record(group, assignments), on_done)


def _validate(group: ClassicGroup, request: SyncGroupRequest) -> None:
    if group.state is ClassicState.DEAD:
        raise refusal(ErrorCode.COORDINATOR_NOT_AVAILABLE)
    group.validate_member(request.member_id, request.group_instance_id)
    if request.generation_id != group.generation:
        raise refusal(ErrorCode.ILLEGAL_GENERATION)
    if _differs(request.protocol_type, group.protocol_type) or _differs(request.protocol_name, group.protocol_name):
        raise refusal(ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
    if group.state is ClassicState.PREPARING_REBALANCE:
        raise refusal(ErrorCode.REBALANCE_IN_PROGRESS)


def _differs(requested: str | None, current: str | None) -> bool:
    return requested is not None and current is not None and requested != current
