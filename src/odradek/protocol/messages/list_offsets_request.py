"""ListOffsetsRequest. Made by tools/make_messages.py from tables/messages.txt."""

from odradek.protocol.message import DEFAULT, Message


class ListOffsetsPartition(Message):
    __slots__ = (
        "current_leader_epoch",
        "partition_index",
        "timestamp",
    )

    def __init__(
        self,
        *,
        partition_index: int = 0,
        current_leader_epoch: int = -1,
        timestamp: int = 0,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.partition_index = partition_index
        self.current_leader_epoch = current_leader_epoch
        self.timestamp = timestamp
        self.unknown_tagged_fields = unknown_tagged_fields


class ListOffsetsTopic(Message):
    __slots__ = (
        "name",
        "partitions",
    )

    def __init__(
        self,
        *,
        name: str = "",
        partitions: list[ListOffsetsPartition] = DEFAULT,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.name = name
        self.partitions: list[ListOffsetsPartition] = [] if partitions is DEFAULT else partitions
        self.unknown_tagged_fields = unknown_tagged_fields


class ListOffsetsRequest(Message):
    __slots__ = (
        "isolation_level",
        "replica_id",
        "timeout_ms",
        "topics",
    )

    API_KEY = 2
    VERSIONS = (1, 11)
    FLEXIBLE_FROM = 6
    SCHEMA = """
ListOffsetsRequest request module=clients key=2 versions=1-11 flexible=6+
  ReplicaId int32 0+ entity=brokerId
  IsolationLevel int8 2+
  Topics []ListOffsetsTopic 0+
    Name string 0+ entity=topicName
    Partitions []ListOffsetsPartition 0+
      PartitionIndex int32 0+
      CurrentLeaderEpoch int32 4+ default=-1 ignorable
      Timestamp int64 0+
  TimeoutMs int32 10+ ignorable
"""

    def __init__(
        self,
        *,
        replica_id: int = 0,
        isolation_level: int = 0,
        topics: list[ListOffsetsTopic] = DEFAULT,
        timeout_ms: int = 0,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.replica_id = replica_id
        self.isolation_level = isolation_level
        self.topics: list[ListOffsetsTopic] = [] if topics is DEFAULT else topics
        self.timeout_ms = timeout_ms
        self.unknown_tagged_fields = unknown_tagged_fields
