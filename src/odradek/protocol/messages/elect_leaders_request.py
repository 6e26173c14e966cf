"""ElectLeadersRequest. Made by tools/make_messages.py from tables/messages.txt."""

from odradek.protocol.message import DEFAULT, Message


class TopicPartitions(Message):
    __slots__ = (
        "partitions",
        "topic",
    )

    def __init__(
        self,
        *,
        topic: str = "",
        partitions: list[int] = DEFAULT,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.topic = topic
        self.partitions: list[int] = [] if partitions is DEFAULT else partitions
        self.unknown_tagged_fields = unknown_tagged_fields


class ElectLeadersRequest(Message):
    __slots__ = (
        "election_type",
        "timeout_ms",
        "topic_partitions",
    )

    API_KEY = 43
    VERSIONS = (0, 2)
    FLEXIBLE_FROM = 2
    SCHEMA = """
ElectLeadersRequest request module=clients key=43 versions=0-2 flexible=2+
  ElectionType int8 1+
  TopicPartitions []TopicPartitions 0+ nullable=0+
    Topic string 0+ key entity=topicName
    Partitions []int32 0+
  TimeoutMs int32 0+ default=60000
"""

    def __init__(
        self,
        *,
        election_type: int = 0,
        topic_partitions: list[TopicPartitions] | None = DEFAULT,
        timeout_ms: int = 60000,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.election_type = election_type
        self.topic_partitions: list[TopicPartitions] | None = [] if topic_partitions is DEFAULT else topic_partitions
        self.timeout_ms = timeout_ms
        self.unknown_tagged_fields = unknown_tagged_fields
