"""LegacyOffsetCommitKey. Made by tools/make_messages.py from tables/messages.txt."""

from odradek.protocol.message import Message


class LegacyOffsetCommitKey(Message):
    __slots__ = (
        "group",
        "partition",
        "topic",
    )

    API_KEY = 0
    VERSIONS = (0, 0)
    SCHEMA = """
LegacyOffsetCommitKey coordinator-key module=group-coordinator key=0 versions=0 flexible=none
  group string 0
  topic string 0
  partition int32 0
"""

    def __init__(
        self,
        *,
        group: str = "",
        topic: str = "",
        partition: int = 0,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.group = group
        self.topic = topic
        self.partition = partition
        self.unknown_tagged_fields = unknown_tagged_fields
