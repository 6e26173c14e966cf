"""ClearElrRecord. Made by tools/make_messages.py from tables/messages.txt."""

from odradek.protocol.message import Message


class ClearElrRecord(Message):
    __slots__ = ("topic_name",)

    API_KEY = 28
    VERSIONS = (0, 0)
    FLEXIBLE_FROM = 0
    SCHEMA = """
ClearElrRecord metadata module=metadata key=28 versions=0 flexible=0+
  TopicName string 0+ entity=topicName
"""

    def __init__(
        self,
        *,
        topic_name: str = "",
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.topic_name = topic_name
        self.unknown_tagged_fields = unknown_tagged_fields
