"""SyncGroupRequest. Made by tools/make_messages.py from tables/messages.txt."""

from odradek.protocol.message import DEFAULT, Message


class SyncGroupRequestAssignment(Message):
    __slots__ = (
        "assignment",
        "member_id",
    )

    def __init__(
        self,
        *,
        member_id: str = "",
        assignment: bytes = b"",
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.member_id = member_id
        self.assignment = assignment
        self.unknown_tagged_fields = unknown_tagged_fields


class SyncGroupRequest(Message):
    __slots__ = (
        "assignments",
        "generation_id",
        "group_id",
        "group_instance_id",
        "member_id",
        "protocol_name",
        "protocol_type",
    )

    API_KEY = 14
    VERSIONS = (0, 5)
    FLEXIBLE_FROM = 4
    SCHEMA = """
SyncGroupRequest request module=clients key=14 versions=0-5 flexible=4+
  GroupId string 0+ entity=groupId
  GenerationId int32 0+
  MemberId string 0+
  GroupInstanceId string 3+ nullable=3+ default=null
  ProtocolType string 5+ nullable=5+ default=null ignorable
  ProtocolName string 5+ nullable=5+ default=null ignorable
  Assignments []SyncGroupRequestAssignment 0+
    MemberId string 0+
    Assignment bytes 0+
"""

    def __init__(
        self,
        *,
        group_id: str = "",
        generation_id: int = 0,
        member_id: str = "",
        group_instance_id: str | None = None,
        protocol_type: str | None = None,
        protocol_name: str | None = None,
        assignments: list[SyncGroupRequestAssignment] = DEFAULT,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.group_id = group_id
        self.generation_id = generation_id
        self.member_id = member_id
        self.group_instance_id = group_instance_id
        self.protocol_type = protocol_type
        self.protocol_name = protocol_name
        self.assignments: list[SyncGroupRequestAssignment] = [] if assignments is DEFAULT else assignments
        self.unknown_tagged_fields = unknown_tagged_fields
