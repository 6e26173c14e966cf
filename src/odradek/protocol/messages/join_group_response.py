"""JoinGroupResponse. Made by tools/make_messages.py from tables/messages.txt."""

from odradek.protocol.message import DEFAULT, Message


class JoinGroupResponseMember(Message):
    __slots__ = (
        "group_instance_id",
        "member_id",
        "metadata",
    )

    def __init__(
        self,
        *,
        member_id: str = "",
        group_instance_id: str | None = None,
        metadata: bytes = b"",
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.member_id = member_id
        self.group_instance_id = group_instance_id
        self.metadata = metadata
        self.unknown_tagged_fields = unknown_tagged_fields


class JoinGroupResponse(Message):
    __slots__ = (
        "error_code",
        "generation_id",
        "leader",
        "member_id",
        "members",
        "protocol_name",
        "protocol_type",
        "skip_assignment",
        "throttle_time_ms",
    )

    API_KEY = 11
    VERSIONS = (0, 9)
    FLEXIBLE_FROM = 6
    SCHEMA = """
JoinGroupResponse response module=clients key=11 versions=0-9 flexible=6+
  ThrottleTimeMs int32 2+ ignorable
  ErrorCode int16 0+
  GenerationId int32 0+ default=-1
  ProtocolType string 7+ nullable=7+ default=null ignorable
  ProtocolName string 0+ nullable=7+
  Leader string 0+
  SkipAssignment bool 9+
  MemberId string 0+
  Members []JoinGroupResponseMember 0+
    MemberId string 0+
    GroupInstanceId string 5+ nullable=5+ default=null ignorable
    Metadata bytes 0+
"""

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        generation_id: int = -1,
        protocol_type: str | None = None,
        protocol_name: str | None = "",
        leader: str = "",
        skip_assignment: bool = False,
        member_id: str = "",
        members: list[JoinGroupResponseMember] = DEFAULT,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.generation_id = generation_id
        self.protocol_type = protocol_type
        self.protocol_name = protocol_name
        self.leader = leader
        self.skip_assignment = skip_assignment
        self.member_id = member_id
        self.members: list[JoinGroupResponseMember] = [] if members is DEFAULT else members
        self.unknown_tagged_fields = unknown_tagged_fields
