"""MetadataRequest. Made by tools/make_messages.py from tables/messages.txt."""

from odradek.common.ids import ZERO_UUID
from odradek.protocol.message import DEFAULT, Message


class MetadataRequestTopic(Message):
    __slots__ = (
        "name",
        "topic_id",
    )

    def __init__(
        self,
        *,
        topic_id: bytes = ZERO_UUID,
        name: str | None = "",
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.topic_id = topic_id
        self.name = name
        self.unknown_tagged_fields = unknown_tagged_fields


class MetadataRequest(Message):
    __slots__ = (
        "allow_auto_topic_creation",
        "include_cluster_authorized_operations",
        "include_topic_authorized_operations",
        "topics",
    )

    API_KEY = 3
    VERSIONS = (0, 13)
    FLEXIBLE_FROM = 9
    SCHEMA = """
MetadataRequest request module=clients key=3 versions=0-13 flexible=9+
  Topics []MetadataRequestTopic 0+ nullable=1+
    TopicId uuid 10+ ignorable
    Name string 0+ nullable=10+ entity=topicName
  AllowAutoTopicCreation bool 4+ default=true
  IncludeClusterAuthorizedOperations bool 8-10
  IncludeTopicAuthorizedOperations bool 8+
"""

    def __init__(
        self,
        *,
        topics: list[MetadataRequestTopic] | None = DEFAULT,
        allow_auto_topic_creation: bool = True,
        include_cluster_authorized_operations: bool = False,
        include_topic_authorized_operations: bool = False,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.topics: list[MetadataRequestTopic] | None = [] if topics is DEFAULT else topics
        self.allow_auto_topic_creation = allow_auto_topic_creation
        self.include_cluster_authorized_operations = include_cluster_authorized_operations
        self.include_topic_authorized_operations = include_topic_authorized_operations
        self.unknown_tagged_fields = unknown_tagged_fields
