"""What a member of a classic group sends to its coordinator. Pure."""

from collections.abc import Mapping

from odradek.client.group.core import Identity, MemberConfig, Request
from odradek.client.group.subscription import PROTOCOL_TYPE
from odradek.protocol.messages.heartbeat_request import HeartbeatRequest
from odradek.protocol.messages.join_group_request import JoinGroupRequest, JoinGroupRequestProtocol
from odradek.protocol.messages.leave_group_request import LeaveGroupRequest, MemberIdentity
from odradek.protocol.messages.sync_group_request import SyncGroupRequest, SyncGroupRequestAssignment

#: A join is answered when the rebalance is over, which the coordinator may take this much longer to notice.
_JOIN_LAPSE_MS = 5_000

#: Kafka's limit for the reasons that are told to a coordinator.
_REASON_MAX = 255


def join(config: MemberConfig, identity: Identity, protocols: Mapping[str, bytes], reason: str) -> Request:
    message = JoinGroupRequest(
        group_id=config.group_id,
        session_timeout_ms=config.session_timeout_ms,
        rebalance_timeout_ms=config.max_poll_interval_ms,
        member_id=identity.member_id,
        group_instance_id=config.group_instance_id,
        protocol_type=PROTOCOL_TYPE,
        protocols=[JoinGroupRequestProtocol(name=name, metadata=data) for name, data in protocols.items()],
        reason=reason[:_REASON_MAX],
    )
    return Request(message, identity, max(config.request_timeout_ms, config.max_poll_interval_ms + _JOIN_LAPSE_MS))


def sync(config: MemberConfig, identity: Identity, assignments: Mapping[str, bytes]) -> Request:
    """Only the leader assigns anything."""
    message = SyncGroupRequest(
        group_id=config.group_id,
        generation_id=identity.generation_id,
        member_id=identity.member_id,
        group_instance_id=config.group_instance_id,
        protocol_type=PROTOCOL_TYPE,
        protocol_name=identity.protocol_name,
        assignments=[SyncGroupRequestAssignment(member_id=one, assignment=data) for one, data in assignments.items()],
    )
    return Request(message, identity, config.request_timeout_ms)


def heartbeat(config: MemberConfig, identity: Identity) -> Request:
    message = HeartbeatRequest(
        group_id=config.group_id,
        generation_id=identity.generation_id,
        member_id=identity.member_id,
        group_instance_id=config.group_instance_id,
    )
    return Request(message, identity, min(config.request_timeout_ms, config.session_timeout_ms))


def leave(config: MemberConfig, identity: Identity, reason: str) -> Request:
    members = [MemberIdentity(member_id=identity.member_id, reason=reason[:_REASON_MAX])]
    message = LeaveGroupRequest(group_id=config.group_id, members=members)
    return Request(message, identity, config.request_timeout_ms, is_last=True)
