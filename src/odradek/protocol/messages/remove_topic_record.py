"""RemoveTopicRecord. Made by tools/make_messages.py from tables/messages.txt."""

from odradek.common.ids import ZERO_UUID
from odradek.protocol.message import Message


class RemoveTopicRecord(Message):
    __slots__ = ("topic_id",)

    API_KEY = 9
    VERSIONS = (0, 0)
    FLEXIBLE_FROM = 0
    SCHEMA = """
RemoveTopicRecord metadata module=metadata key=9 versions=0 flexible=0+
  TopicId uuid 0+
"""

    def __init__(
        self,
        *,
        topic_id: bytes = ZERO_UUID,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.topic_id = topic_id
        self.unknown_tagged_fields = unknown_tagged_fields
