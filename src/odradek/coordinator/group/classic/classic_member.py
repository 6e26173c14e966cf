"""A member of a classic group, and what it waits for.

The coordinator knows nothing of what members agree on: protocols are names with bytes that only the members understand,
and the assignment is bytes, too, made by the leader among them.
"""

from dataclasses import dataclass, field
from typing import NamedTuple

from odradek.common.failures import check
from odradek.coordinator.runtime.reply import Reply
from odradek.protocol.messages.join_group_response import JoinGroupResponse
from odradek.protocol.messages.sync_group_response import SyncGroupResponse

EMPTY_ASSIGNMENT = b""


class MemberProtocol(NamedTuple):
    name: str
    metadata: bytes


@dataclass(slots=True)
class ClassicMember:
    member_id: str
    group_instance_id: str | None
    client_id: str
    client_host: str
    rebalance_timeout_ms: int
    session_timeout_ms: int
    protocol_type: str
    #: In the order of the member's preference.
    protocols: tuple[MemberProtocol, ...]
    assignment: bytes = EMPTY_ASSIGNMENT
    awaiting_join: Reply[JoinGroupResponse] | None = field(default=None, repr=False)
    awaiting_sync: Reply[SyncGroupResponse] | None = field(default=None, repr=False)
    #: Since it was added no generation has begun. Such a member may expire while it waits.
    is_new: bool = False

    @property
    def is_static(self) -> bool:
        return self.group_instance_id is not None

    @property
    def has_satisfied_heartbeat(self) -> bool:
        """True for a member that waits for a response: it cannot send heartbeats and need not."""
        return not self.is_new and (self.awaiting_join is not None or self.awaiting_sync is not None)

    def metadata(self, protocol_name: str | None) -> bytes:
        matching = [protocol.metadata for protocol in self.protocols if protocol.name == protocol_name]
        check(bool(matching), f"member {self.member_id} does not support the protocol {protocol_name}")
        return matching[0]

    def vote(self, candidates: list[str]) -> str:
        """The one of the candidates that it likes best."""
        supported = [protocol.name for protocol in self.protocols if protocol.name in candidates]
        check(bool(supported), f"member {self.member_id} supports none of {candidates}")
        return supported[0]
