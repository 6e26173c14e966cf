"""GroupMetadataKey. Made by tools/make_messages.py from tables/messages.txt."""

from odradek.protocol.message import Message


class GroupMetadataKey(Message):
    __slots__ = ("group",)

    API_KEY = 2
    VERSIONS = (0, 0)
    SCHEMA = """
GroupMetadataKey coordinator-key module=group-coordinator key=2 versions=0 flexible=none
  group string 0
"""

    def __init__(
        self,
        *,
        group: str = "",
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.group = group
        self.unknown_tagged_fields = unknown_tagged_fields
