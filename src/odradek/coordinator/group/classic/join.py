"""JoinGroup: admission of members, and the cases in which a join triggers a rebalance.

A member that has no id gets one. Since version 4 it is only told its id at first, and joins with it then: otherwise
those whose answers get lost would come back as ever more members. Until then it is pending, for one session at most.

A static member (one with a `group.instance.id`) that comes back without its member id takes the place of its former
self, which is fenced. If nothing else changes the group goes on without a rebalance.
"""

import logging
from uuid import UUID

from odradek.common.failures import ApiError, check
from odradek.coordinator.group.classic.classic_group import ClassicGroup, ClassicState, join_error
from odradek.coordinator.group.classic.classic_member import ClassicMember, MemberProtocol
from odradek.coordinator.group.classic.rebalance import NOTHING, Rebalances, written
from odradek.coordinator.group.records import empty_group_metadata_record, group_metadata_record
from odradek.coordinator.group.store import GroupStore
from odradek.coordinator.group.values import UNKNOWN_MEMBER_ID, RequestContext
from odradek.coordinator.runtime.reply import Reply
from odradek.coordinator.runtime.shard import Decision
from odradek.protocol.error_codes import ErrorCode
from odradek.protocol.messages.join_group_request import JoinGroupRequest
from odradek.protocol.messages.join_group_response import JoinGroupResponse

_log = logging.getLogger("odradek.groups")

#: The first version whose members join twice, and the first whose leader may be told not to assign anything.
_MEMBER_ID_REQUIRED_VERSION = 4
_SKIP_ASSIGNMENT_VERSION = 9


class Joining:
    """One request on its way."""

    __slots__ = ("context", "protocols", "reply", "request")

    def __init__(self, context: RequestContext, request: JoinGroupRequest) -> None:
        self.context = context
        self.request = request
        self.reply: Reply[JoinGroupResponse] = Reply()
        self.protocols = tuple(
            MemberProtocol(protocol.name, bytes(protocol.metadata)) for protocol in request.protocols
        )

    @property
    def reason(self) -> str:
        return self.request.reason or "not provided"

    @property
    def needs_member_id(self) -> bool:
        """It is to be told its id, and to join with it then."""
        is_dynamic = self.request.group_instance_id is None
        is_unknown = self.request.member_id == UNKNOWN_MEMBER_ID
        return is_dynamic and is_unknown and self.context.api_version >= _MEMBER_ID_REQUIRED_VERSION

    def refuse(self, code: ErrorCode, member_id: str | None = None) -> Decision[None]:
        self.reply.complete(join_error(self.request.member_id if member_id is None else member_id, code))
        return NOTHING


class Joins:
    def __init__(self, store: GroupStore, rebalances: Rebalances) -> None:
        self._store = store
        self._rebalances = rebalances

    def join(self, joining: Joining) -> Decision[None]:
        """To a group that is classic, or not there yet."""
        request = joining.request
        group = self._store.classic_group(request.group_id)
        is_new_group = group is None
        if group is None:
            if request.member_id != UNKNOWN_MEMBER_ID:
                return joining.refuse(ErrorCode.UNKNOWN_MEMBER_ID)
            group = self._store.create_classic_group(request.group_id)
        decision = self._join(group, joining)
        return self._write_new_group(group, joining) if is_new_group and not decision.records else decision

    def _join(self, group: ClassicGroup, joining: Joining) -> Decision[None]:
        member_id = joining.request.member_id
        if not self._accepts(group, member_id):
            group.remove(member_id)
            return joining.refuse(ErrorCode.GROUP_MAX_SIZE_REACHED, UNKNOWN_MEMBER_ID)
        if group.state is ClassicState.DEAD:
            return joining.refuse(ErrorCode.COORDINATOR_NOT_AVAILABLE)
        if not group.supports_protocols(joining.request.protocol_type, joining.protocols):
            return joining.refuse(ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
        if member_id == UNKNOWN_MEMBER_ID:
            return self._join_unknown(group, joining)
        if member_id in group.pending_join and joining.request.group_instance_id is None:
            return self._add_member(group, joining, member_id)
        return self._join_known(group, joining)

    def _write_new_group(self, group: ClassicGroup, joining: Joining) -> Decision[None]:
        """A group that has no generation yet is made known to the log, too."""

        def on_done(error: ApiError | None) -> None:
            if error is None:
                return
            _log.warning("group %s could not be written: %s", group.group_id, error)
            if self._store.groups.get(group.group_id) is group:
                del self._store.groups[group.group_id]
            for member in group.members.values():
                group.complete_join(member, join_error(UNKNOWN_MEMBER_ID, ErrorCode(error.code)))

        return written(empty_group_metadata_record(group), on_done)

    def _accepts(self, group: ClassicGroup, member_id: str) -> bool:
        """Return whether the member may join: it waits already, or the group is smaller than `group.max.size`.

        While members join again it is those who have done so that count: a group that was larger before the limit was
        lowered shrinks by its last ones.
        """
        max_size = self._store.settings.max_size
        member = group.members.get(member_id)
        if group.state is ClassicState.PREPARING_REBALANCE:
            return (member is not None and member.awaiting_join is not None) or group.awaiting_join_count < max_size
        if group.state in (ClassicState.COMPLETING_REBALANCE, ClassicState.STABLE):
            return member is not None or len(group.members) < max_size
        return True

    # Without a member id

    def _join_unknown(self, group: ClassicGroup, joining: Joining) -> Decision[None]:
        instance_id = joining.request.group_instance_id
        member_id = self._new_member_id(instance_id if instance_id is not None else joining.context.client_id)
        if instance_id is not None:
            former_id = group.static_members.get(instance_id)
            if former_id is None:
                return self._add_member(group, joining, member_id)
            return self._replace_static(group, joining, former_id, member_id)
        if not joining.needs_member_id:
            return self._add_member(group, joining, member_id)
        group.pending_join[member_id] = None
        self._rebalances.expect_member(group.group_id, member_id, joining.request.session_timeout_ms)
        return joining.refuse(ErrorCode.MEMBER_ID_REQUIRED, member_id)

    def _add_member(self, group: ClassicGroup, joining: Joining, member_id: str) -> Decision[None]:
        request, context = joining.request, joining.context
        member = ClassicMember(
            member_id,
            request.group_instance_id,
            context.client_id,
            context.client_host,
            request.rebalance_timeout_ms,
            request.session_timeout_ms,
            request.protocol_type,
            joining.protocols,
            is_new=True,
        )
        if group.state is ClassicState.PREPARING_REBALANCE and group.previous_state is ClassicState.EMPTY:
            group.new_member_added = True
        group.add(member, joining.reply)
        self._rebalances.begin_session(group, member, self._store.settings.new_member_join_timeout_ms)
        instance = "" if request.group_instance_id is None else f" (instance {request.group_instance_id})"
        return self._rebalances.prepare_or_complete(
            group, f"adding new member {member_id}{instance}; client reason: {joining.reason}"
        )

    def _new_member_id(self, prefix: str) -> str:
        return f"{prefix}-{UUID(int=self._store.context.random.getrandbits(128), version=4)}"

    # With one

    def _join_known(self, group: ClassicGroup, joining: Joining) -> Decision[None]:
        request = joining.request
        try:
            group.validate_member(request.member_id, request.group_instance_id)
        except ApiError as error:
            return joining.refuse(ErrorCode(error.code))
        member = group.members[request.member_id]
        if group.state is ClassicState.EMPTY:
            return joining.refuse(ErrorCode.UNKNOWN_MEMBER_ID)
        if group.state is ClassicState.PREPARING_REBALANCE:
            return self._join_again(group, joining, member, "joins again")
        if member.protocols != joining.protocols:
            return self._join_again(group, joining, member, "changes its metadata")
        if group.state is ClassicState.STABLE and member.member_id == group.leader_id:
            # So that a leader may call for a rebalance when something else has changed, as the partitions of a topic.
            return self._join_again(group, joining, member, "joins again as leader")
        # It may not have got the answer to its last join.
        joining.reply.complete(group.join_response(member.member_id))
        return NOTHING

    def _join_again(self, group: ClassicGroup, joining: Joining, member: ClassicMember, what: str) -> Decision[None]:
        self._update(group, joining, member)
        reason = f"{member.member_id} {what} during {group.state_name}; client reason: {joining.reason}"
        return self._rebalances.prepare_or_complete(group, reason)

    def _update(self, group: ClassicGroup, joining: Joining, member: ClassicMember) -> None:
        request = joining.request
        superseded = member.awaiting_join
        group.update_member(
            member, joining.protocols, request.rebalance_timeout_ms, request.session_timeout_ms, joining.reply
        )
        if superseded is not None:
            # The member has asked again, on another connection; nobody reads the first answer.
            superseded.complete(join_error(member.member_id, ErrorCode.REBALANCE_IN_PROGRESS))

    # As the heir of a static member

    def _replace_static(self, group: ClassicGroup, joining: Joining, former_id: str, member_id: str) -> Decision[None]:
        instance_id = joining.request.group_instance_id
        check(instance_id is not None, "a dynamic member cannot be replaced")
        assert instance_id is not None
        former = group.members[former_id]
        former_protocols = former.protocols
        former_timeouts_ms = former.rebalance_timeout_ms, former.session_timeout_ms
        leader_before = group.leader_id
        _log.info("group %s: %s takes the place of %s (%s)", group.group_id, member_id, former_id, instance_id)
        member = group.replace_static_member(instance_id, former_id, member_id)
        self._rebalances.end_session(group, former_id)
        self._rebalances.begin_session(group, member)
        self._update(group, joining, member)
        reason = f"static member {member_id} ({instance_id}) is back; client reason: {joining.reason}"
        if group.state is ClassicState.COMPLETING_REBALANCE:
            # The leader may have been told of the former member, and assign to that.
            return self._rebalances.prepare(group, reason)
        if group.state is not ClassicState.STABLE:
            return self._rebalances.maybe_complete_join(group)
        if group.select_protocol() != group.protocol_name:
            return self._rebalances.prepare_or_complete(group, f"the protocol changes: {reason}")

        def on_done(error: ApiError | None) -> None:
            if error is None:
                group.complete_join(member, _heir_response(group, joining, member_id, leader_before))
                return
            _log.warning("group %s: %s could not be written: %s", group.group_id, member_id, error)
            if group.state is ClassicState.DEAD or group.members.get(member_id) is not member:
                return  # it has had its answer
            reply = member.awaiting_join
            group.update_member(member, former_protocols, *former_timeouts_ms, None)
            restored = group.replace_static_member(instance_id, member_id, former_id)
            self._rebalances.begin_session(group, restored)
            if reply is not None:
                reply.complete(join_error(UNKNOWN_MEMBER_ID, ErrorCode(error.code)))

        assignments = {group_member.member_id: group_member.assignment for group_member in group.members.values()}
        return written(group_metadata_record(group, assignments), on_done)


def _heir_response(
    group: ClassicGroup, joining: Joining, member_id: str, leader_before: str | None
) -> JoinGroupResponse:
    """The generation goes on: even a leader is not to assign anything.

    Older clients cannot be told that, and would assign if they were told that they lead. So they get the leader's
    former id, which is nobody's by now if it was their own.
    """
    response = group.join_response(member_id)
    if joining.context.api_version >= _SKIP_ASSIGNMENT_VERSION:
        response.skip_assignment = member_id == group.leader_id
    else:
        response.members = []
        response.leader = leader_before or ""
    return response
