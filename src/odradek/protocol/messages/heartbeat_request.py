"""HeartbeatRequest. Made by tools/make_messages.py from tables/messages.txt."""

from odradek.protocol.message import Message


class HeartbeatRequest(Message):
    __slots__ = (
        "generation_id",
        "group_id",
        "group_instance_id",
        "member_id",
    )

    API_KEY = 12
    VERSIONS = (0, 4)
    FLEXIBLE_FROM = 4
    SCHEMA = """
HeartbeatRequest request module=clients key=12 versions=0-4 flexible=4+
  GroupId string 0+ entity=groupId
  GenerationId int32 0+
  MemberId string 0+
  GroupInstanceId string 3+ nullable=3+ default=null
"""

    def __init__(
        self,
        *,
        group_id: str = "",
        generation_id: int = 0,
        member_id: str = "",
        group_instance_id: str | None = None,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.group_id = group_id
        self.generation_id = generation_id
        self.member_id = member_id
        self.group_instance_id = group_instance_id
        self.unknown_tagged_fields = unknown_tagged_fields
