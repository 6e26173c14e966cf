"""DeleteShareGroupOffsetsRequest. Made by tools/make_messages.py from tables/messages.txt."""

from odradek.protocol.message import DEFAULT, Message


class DeleteShareGroupOffsetsRequestTopic(Message):
    __slots__ = ("topic_name",)

    def __init__(
        self,
        *,
        topic_name: str = "",
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.topic_name = topic_name
        self.unknown_tagged_fields = unknown_tagged_fields


class DeleteShareGroupOffsetsRequest(Message):
    __slots__ = (
        "group_id",
        "topics",
    )

    API_KEY = 92
    VERSIONS = (0, 0)
    FLEXIBLE_FROM = 0
    SCHEMA = """
DeleteShareGroupOffsetsRequest request module=clients key=92 versions=0 flexible=0+
  GroupId string 0+ entity=groupId
  Topics []DeleteShareGroupOffsetsRequestTopic 0+
    TopicName string 0+ entity=topicName
"""

    def __init__(
        self,
        *,
        group_id: str = "",
        topics: list[DeleteShareGroupOffsetsRequestTopic] = DEFAULT,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.group_id = group_id
        self.topics: list[DeleteShareGroupOffsetsRequestTopic] = [] if topics is DEFAULT else topics
        self.unknown_tagged_fields = unknown_tagged_fields
