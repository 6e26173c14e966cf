"""ShareGroupTargetAssignmentMetadataKey. Made by tools/make_messages.py from tables/messages.txt."""

from odradek.protocol.message import Message


class ShareGroupTargetAssignmentMetadataKey(Message):
    __slots__ = ("group_id",)

    API_KEY = 12
    VERSIONS = (0, 0)
    SCHEMA = """
ShareGroupTargetAssignmentMetadataKey coordinator-key module=group-coordinator key=12 versions=0 flexible=none
  GroupId string 0
"""

    def __init__(
        self,
        *,
        group_id: str = "",
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.group_id = group_id
        self.unknown_tagged_fields = unknown_tagged_fields
