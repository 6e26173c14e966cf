"""ConsumerGroupTargetAssignmentMemberKey. Made by tools/make_messages.py from tables/messages.txt."""

from odradek.protocol.message import Message


class ConsumerGroupTargetAssignmentMemberKey(Message):
    __slots__ = (
        "group_id",
        "member_id",
    )

    API_KEY = 7
    VERSIONS = (0, 0)
    SCHEMA = """
ConsumerGroupTargetAssignmentMemberKey coordinator-key module=group-coordinator key=7 versions=0 flexible=none
  GroupId string 0
  MemberId string 0
"""

    def __init__(
        self,
        *,
        group_id: str = "",
        member_id: str = "",
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.group_id = group_id
        self.member_id = member_id
        self.unknown_tagged_fields = unknown_tagged_fields
