"""AlterPartitionReassignmentsRequest. Made by tools/make_messages.py from tables/messages.txt."""

from odradek.protocol.message import DEFAULT, Message


class ReassignablePartition(Message):
    __slots__ = (
        "partition_index",
        "replicas",
    )

    def __init__(
        self,
        *,
        partition_index: int = 0,
        replicas: list[int] | None = None,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.partition_index = partition_index
        self.replicas = replicas
        self.unknown_tagged_fields = unknown_tagged_fields


class ReassignableTopic(Message):
    __slots__ = (
        "name",
        "partitions",
    )

    def __init__(
        self,
        *,
        name: str = "",
        partitions: list[ReassignablePartition] = DEFAULT,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.name = name
        self.partitions: list[ReassignablePartition] = [] if partitions is DEFAULT else partitions
        self.unknown_tagged_fields = unknown_tagged_fields


class AlterPartitionReassignmentsRequest(Message):
    __slots__ = (
        "allow_replication_factor_change",
        "timeout_ms",
        "topics",
    )

    API_KEY = 45
    VERSIONS = (0, 1)
    FLEXIBLE_FROM = 0
    SCHEMA = """
AlterPartitionReassignmentsRequest request module=clients key=45 versions=0-1 flexible=0+
  TimeoutMs int32 0+ default=60000
  AllowReplicationFactorChange bool 1+ default=true
  Topics []ReassignableTopic 0+
    Name string 0+ entity=topicName
    Partitions []ReassignablePartition 0+
      PartitionIndex int32 0+
      Replicas []int32 0+ nullable=0+ default=null entity=brokerId
"""

    def __init__(
        self,
        *,
        timeout_ms: int = 60000,
        allow_replication_factor_change: bool = True,
        topics: list[ReassignableTopic] = DEFAULT,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.timeout_ms = timeout_ms
        self.allow_replication_factor_change = allow_replication_factor_change
        self.topics: list[ReassignableTopic] = [] if topics is DEFAULT else topics
        self.unknown_tagged_fields = unknown_tagged_fields
