"""TopicRecord. Made by tools/make_messages.py from tables/messages.txt."""

from odradek.common.ids import ZERO_UUID
from odradek.protocol.message import Message


class TopicRecord(Message):
    __slots__ = (
        "name",
        "topic_id",
    )

    API_KEY = 2
    VERSIONS = (0, 0)
    FLEXIBLE_FROM = 0
    SCHEMA = """
TopicRecord metadata module=metadata key=2 versions=0 flexible=0+
  Name string 0+ entity=topicName
  TopicId uuid 0+
"""

    def __init__(
        self,
        *,
        name: str = "",
        topic_id: bytes = ZERO_UUID,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.name = name
        self.topic_id = topic_id
        self.unknown_tagged_fields = unknown_tagged_fields
