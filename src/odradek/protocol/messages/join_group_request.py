"""JoinGroupRequest. Made by tools/make_messages.py from tables/messages.txt."""

from odradek.protocol.message import DEFAULT, Message


class JoinGroupRequestProtocol(Message):
    __slots__ = (
        "metadata",
        "name",
    )

    def __init__(
        self,
        *,
        name: str = "",
        metadata: bytes = b"",
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.name = name
        self.metadata = metadata
        self.unknown_tagged_fields = unknown_tagged_fields


class JoinGroupRequest(Message):
    __slots__ = (
        "group_id",
        "group_instance_id",
        "member_id",
        "protocol_type",
        "protocols",
        "reason",
        "rebalance_timeout_ms",
        "session_timeout_ms",
    )

    API_KEY = 11
    VERSIONS = (0, 9)
    FLEXIBLE_FROM = 6
    SCHEMA = """
JoinGroupRequest request module=clients key=11 versions=0-9 flexible=6+
  GroupId string 0+ entity=groupId
  SessionTimeoutMs int32 0+
  RebalanceTimeoutMs int32 1+ default=-1 ignorable
  MemberId string 0+
  GroupInstanceId string 5+ nullable=5+ default=null
  ProtocolType string 0+
  Protocols []JoinGroupRequestProtocol 0+
    Name string 0+ key
    Metadata bytes 0+
  Reason string 8+ nullable=8+ default=null ignorable
"""

    def __init__(
        self,
        *,
        group_id: str = "",
        session_timeout_ms: int = 0,
        rebalance_timeout_ms: int = -1,
        member_id: str = "",
        group_instance_id: str | None = None,
        protocol_type: str = "",
        protocols: list[JoinGroupRequestProtocol] = DEFAULT,
        reason: str | None = None,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.group_id = group_id
        self.session_timeout_ms = session_timeout_ms
        self.rebalance_timeout_ms = rebalance_timeout_ms
        self.member_id = member_id
        self.group_instance_id = group_instance_id
        self.protocol_type = protocol_type
        self.protocols: list[JoinGroupRequestProtocol] = [] if protocols is DEFAULT else protocols
        self.reason = reason
        self.unknown_tagged_fields = unknown_tagged_fields
