"""ConsumerGroupMetadataKey. Made by tools/make_messages.py from tables/messages.txt."""

from odradek.protocol.message import Message


class ConsumerGroupMetadataKey(Message):
    __slots__ = ("group_id",)

    API_KEY = 3
    VERSIONS = (0, 0)
    SCHEMA = """
ConsumerGroupMetadataKey coordinator-key module=group-coordinator key=3 versions=0 flexible=none
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
