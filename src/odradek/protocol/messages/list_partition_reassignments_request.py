"""ListPartitionReassignmentsRequest. Made by tools/make_messages.py from tables/messages.txt."""

from odradek.protocol.message import DEFAULT, Message


class ListPartitionReassignmentsTopics(Message):
    __slots__ = (
        "name",
        "partition_indexes",
    )

    def __init__(
        self,
        *,
        name: str = "",
        partition_indexes: list[int] = DEFAULT,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.name = name
        self.partition_indexes: list[int] = [] if partition_indexes is DEFAULT else partition_indexes
        self.unknown_tagged_fields = unknown_tagged_fields


class ListPartitionReassignmentsRequest(Message):
    __slots__ = (
        "timeout_ms",
        "topics",
    )

    API_KEY = 46
    VERSIONS = (0, 0)
    FLEXIBLE_FROM = 0
    SCHEMA = """
ListPartitionReassignmentsRequest request module=clients key=46 versions=0 flexible=0+
  TimeoutMs int32 0+ default=60000
  Topics []ListPartitionReassignmentsTopics 0+ nullable=0+ default=null
    Name string 0+ entity=topicName
    PartitionIndexes []int32 0+
"""

    def __init__(
        self,
        *,
        timeout_ms: int = 60000,
        topics: list[ListPartitionReassignmentsTopics] | None = None,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.timeout_ms = timeout_ms
        self.topics = topics
        self.unknown_tagged_fields = unknown_tagged_fields
