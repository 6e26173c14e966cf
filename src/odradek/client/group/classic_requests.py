"""Requests of a member of a classic group: their contents, and which one is in flight. Pure.

A join or a sync waits until the previous one has its response; heartbeats are independent of them.
"""

from collections.abc import Mapping

from odradek.client.group.core import Identity, MemberConfig, Request
from odradek.client.group.subscription import PROTOCOL_TYPE
from odradek.protocol.messages.heartbeat_request import HeartbeatRequest
from odradek.protocol.messages.join_group_request import JoinGroupRequest, JoinGroupRequestProtocol
from odradek.protocol.messages.leave_group_request import LeaveGroupRequest, MemberIdentity
from odradek.protocol.messages.sync_group_request import SyncGroupRequest, SyncGroupRequestAssignment

#: A join is answered when the rebalance is over, and the coordinator may notice that this much later.
_JOIN_LAPSE_MS = 5_000

#: Kafka's limit for the length of a reason.
_REASON_MAX = 255


class GroupRequests:
    def __init__(self, config: MemberConfig) -> None:
        self._config = config
        self._waiting: Request | None = None
        self._in_flight: Request | None = None

    # The join or sync that is waiting or in flight

    @property
    def has_in_flight(self) -> bool:
        return self._in_flight is not None

    @property
    def has_waiting(self) -> bool:
        return self._waiting is not None

    def next(self) -> Request | None:
        """Return the waiting request if none is in flight; it is in flight from now on."""
        if self._waiting is None or self._in_flight is not None:
            return None
        self._in_flight, self._waiting = self._waiting, None
        return self._in_flight

    def take(self, request: Request) -> bool:
        """Return whether a response belongs to the request in flight, and not to an abandoned rebalance."""
        if self._in_flight is not request:
            return False
        self._in_flight = None
        return True

    def abandon(self) -> None:
        self._in_flight = self._waiting = None

    def join(self, identity: Identity, protocols: Mapping[str, bytes], reason: str) -> None:
        config = self._config
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
        timeout_ms = max(config.request_timeout_ms, config.max_poll_interval_ms + _JOIN_LAPSE_MS)
        self._waiting = Request(message, identity, timeout_ms)

    def sync(self, identity: Identity, assignments: Mapping[str, bytes]) -> None:
        """Request the member's assignment; only the leader sends assignments."""
        config = self._config
        message = SyncGroupRequest(
            group_id=config.group_id,
            generation_id=identity.generation_id,
            member_id=identity.member_id,
            group_instance_id=config.group_instance_id,
            protocol_type=PROTOCOL_TYPE,
            protocol_name=identity.protocol_name,
            assignments=[
                SyncGroupRequestAssignment(member_id=member_id, assignment=data)
                for member_id, data in assignments.items()
            ],
        )
        self._waiting = Request(message, identity, config.request_timeout_ms)

    # Requests that are sent at once

    def heartbeat(self, identity: Identity) -> Request:
        config = self._config
        message = HeartbeatRequest(
            group_id=config.group_id,
            generation_id=identity.generation_id,
            member_id=identity.member_id,
            group_instance_id=config.group_instance_id,
        )
        return Request(message, identity, min(config.request_timeout_ms, config.session_timeout_ms))

    def leave(self, identity: Identity, reason: str) -> Request:
        members = [MemberIdentity(member_id=identity.member_id, reason=reason[:_REASON_MAX])]
        message = LeaveGroupRequest(group_id=self._config.group_id, members=members)
        return Request(message, identity, self._config.request_timeout_ms, is_last=True)
