"""DeleteRecordsRequest. Made by tools/make_messages.py from tables/messages.txt."""

from odradek.protocol.message import DEFAULT, Message


class DeleteRecordsPartition(Message):
    __slots__ = (
        "offset",
        "partition_index",
    )

    def __init__(
        self,
        *,
        partition_index: int = 0,
        offset: int = 0,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.partition_index = partition_index
        self.offset = offset
        self.unknown_tagged_fields = unknown_tagged_fields


class DeleteRecordsTopic(Message):
    __slots__ = (
        "name",
        "partitions",
    )

    def __init__(
        self,
        *,
        name: str = "",
        partitions: list[DeleteRecordsPartition] = DEFAULT,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.name = name
        self.partitions: list[DeleteRecordsPartition] = [] if partitions is DEFAULT else partitions
        self.unknown_tagged_fields = unknown_tagged_fields


class DeleteRecordsRequest(Message):
    __slots__ = (
        "timeout_ms",
        "topics",
    )

    API_KEY = 21
    VERSIONS = (0, 2)
    FLEXIBLE_FROM = 2
    SCHEMA = """
DeleteRecordsRequest request module=clients key=21 versions=0-2 flexible=2+
  Topics []DeleteRecordsTopic 0+
    Name string 0+ entity=topicName
    Partitions []DeleteRecordsPartition 0+
      PartitionIndex int32 0+
      Offset int64 0+
  TimeoutMs int32 0+
"""

    def __init__(
        self,
        *,
        topics: list[DeleteRecordsTopic] = DEFAULT,
        timeout_ms: int = 0,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.topics: list[DeleteRecordsTopic] = [] if topics is DEFAULT else topics
        self.timeout_ms = timeout_ms
        self.unknown_tagged_fields = unknown_tagged_fields
