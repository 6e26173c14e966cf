"""LeaveGroupRequest. Made by tools/make_messages.py from tables/messages.txt."""

from odradek.protocol.message import DEFAULT, Message


class MemberIdentity(Message):
    __slots__ = (
        "group_instance_id",
        "member_id",
        "reason",
    )

    def __init__(
        self,
        *,
        member_id: str = "",
        group_instance_id: str | None = None,
        reason: str | None = None,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.member_id = member_id
        self.group_instance_id = group_instance_id
        self.reason = reason
        self.unknown_tagged_fields = unknown_tagged_fields


class LeaveGroupRequest(Message):
    __slots__ = (
        "group_id",
        "member_id",
        "members",
    )

    API_KEY = 13
    VERSIONS = (0, 5)
    FLEXIBLE_FROM = 4
    SCHEMA = """
LeaveGroupRequest request module=clients key=13 versions=0-5 flexible=4+
  GroupId string 0+ entity=groupId
  MemberId string 0-2
  Members []MemberIdentity 3+
    MemberId string 3+
    GroupInstanceId string 3+ nullable=3+ default=null
    Reason string 5+ nullable=5+ default=null ignorable
"""

    def __init__(
        self,
        *,
        group_id: str = "",
        member_id: str = "",
        members: list[MemberIdentity] = DEFAULT,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.group_id = group_id
        self.member_id = member_id
        self.members: list[MemberIdentity] = [] if members is DEFAULT else members
        self.unknown_tagged_fields = unknown_tagged_fields
