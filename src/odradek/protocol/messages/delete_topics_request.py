"""DeleteTopicsRequest. Made by tools/make_messages.py from tables/messages.txt."""

from odradek.common.ids import ZERO_UUID
from odradek.protocol.message import DEFAULT, Message


class DeleteTopicState(Message):
    __slots__ = (
        "name",
        "topic_id",
    )

    def __init__(
        self,
        *,
        name: str | None = None,
        topic_id: bytes = ZERO_UUID,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.name = name
        self.topic_id = topic_id
        self.unknown_tagged_fields = unknown_tagged_fields


class DeleteTopicsRequest(Message):
    __slots__ = (
        "timeout_ms",
        "topic_names",
        "topics",
    )

    API_KEY = 20
    VERSIONS = (1, 6)
    FLEXIBLE_FROM = 4
    SCHEMA = """
DeleteTopicsRequest request module=clients key=20 versions=1-6 flexible=4+
  Topics []DeleteTopicState 6+
    Name string 6+ nullable=6+ default=null entity=topicName
    TopicId uuid 6+
  TopicNames []string 0-5 ignorable entity=topicName
  TimeoutMs int32 0+
"""

    def __init__(
        self,
        *,
        topics: list[DeleteTopicState] = DEFAULT,
        topic_names: list[str] = DEFAULT,
        timeout_ms: int = 0,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.topics: list[DeleteTopicState] = [] if topics is DEFAULT else topics
        self.topic_names: list[str] = [] if topic_names is DEFAULT else topic_names
        self.timeout_ms = timeout_ms
        self.unknown_tagged_fields = unknown_tagged_fields
