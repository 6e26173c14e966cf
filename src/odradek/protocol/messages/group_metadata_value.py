"""GroupMetadataValue. Made by tools/make_messages.py from tables/messages.txt."""

from odradek.protocol.message import DEFAULT, Message


class MemberMetadata(Message):
    __slots__ = (
        "assignment",
        "client_host",
        "client_id",
        "group_instance_id",
        "member_id",
        "rebalance_timeout",
        "session_timeout",
        "subscription",
    )

    def __init__(
        self,
        *,
        member_id: str = "",
        group_instance_id: str | None = None,
        client_id: str = "",
        client_host: str = "",
        rebalance_timeout: int = -1,
        session_timeout: int = 0,
        subscription: bytes = b"",
        assignment: bytes = b"",
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.member_id = member_id
        self.group_instance_id = group_instance_id
        self.client_id = client_id
        self.client_host = client_host
        self.rebalance_timeout = rebalance_timeout
        self.session_timeout = session_timeout
        self.subscription = subscription
        self.assignment = assignment
        self.unknown_tagged_fields = unknown_tagged_fields


class GroupMetadataValue(Message):
    __slots__ = (
        "current_state_timestamp",
        "generation",
        "leader",
        "members",
        "protocol",
        "protocol_type",
    )

    API_KEY = 2
    VERSIONS = (0, 4)
    FLEXIBLE_FROM = 4
    SCHEMA = """
GroupMetadataValue coordinator-value module=group-coordinator key=2 versions=0-4 flexible=4+
  struct MemberMetadata
    memberId string 0+
    groupInstanceId string 3+ nullable=3+ default=null ignorable
    clientId string 0+
    clientHost string 0+
    rebalanceTimeout int32 1+ default=-1 ignorable
    sessionTimeout int32 0+
    subscription bytes 0+
    assignment bytes 0+
  protocolType string 0+
  generation int32 0+
  protocol string 0+ nullable=0+
  leader string 0+ nullable=0+
  currentStateTimestamp int64 2+ default=-1 ignorable
  members []MemberMetadata 0+
"""

    def __init__(
        self,
        *,
        protocol_type: str = "",
        generation: int = 0,
        protocol: str | None = "",
        leader: str | None = "",
        current_state_timestamp: int = -1,
        members: list[MemberMetadata] = DEFAULT,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.protocol_type = protocol_type
        self.generation = generation
        self.protocol = protocol
        self.leader = leader
        self.current_state_timestamp = current_state_timestamp
        self.members: list[MemberMetadata] = [] if members is DEFAULT else members
        self.unknown_tagged_fields = unknown_tagged_fields
