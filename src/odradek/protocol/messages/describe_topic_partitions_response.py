"""DescribeTopicPartitionsResponse. Made by tools/make_messages.py from tables/messages.txt."""

from odradek.common.ids import ZERO_UUID
from odradek.protocol.message import DEFAULT, Message


class DescribeTopicPartitionsResponsePartition(Message):
    __slots__ = (
        "eligible_leader_replicas",
        "error_code",
        "isr_nodes",
        "last_known_elr",
        "leader_epoch",
        "leader_id",
        "offline_replicas",
        "partition_index",
        "replica_nodes",
    )

    def __init__(
        self,
        *,
        error_code: int = 0,
        partition_index: int = 0,
        leader_id: int = 0,
        leader_epoch: int = -1,
        replica_nodes: list[int] = DEFAULT,
        isr_nodes: list[int] = DEFAULT,
        eligible_leader_replicas: list[int] | None = None,
        last_known_elr: list[int] | None = None,
        offline_replicas: list[int] = DEFAULT,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.error_code = error_code
        self.partition_index = partition_index
        self.leader_id = leader_id
        self.leader_epoch = leader_epoch
        self.replica_nodes: list[int] = [] if replica_nodes is DEFAULT else replica_nodes
        self.isr_nodes: list[int] = [] if isr_nodes is DEFAULT else isr_nodes
        self.eligible_leader_replicas = eligible_leader_replicas
        self.last_known_elr = last_known_elr
        self.offline_replicas: list[int] = [] if offline_replicas is DEFAULT else offline_replicas
        self.unknown_tagged_fields = unknown_tagged_fields


class DescribeTopicPartitionsResponseTopic(Message):
    __slots__ = (
        "error_code",
        "is_internal",
        "name",
        "partitions",
        "topic_authorized_operations",
        "topic_id",
    )

    def __init__(
        self,
        *,
        error_code: int = 0,
        name: str | None = "",
        topic_id: bytes = ZERO_UUID,
        is_internal: bool = False,
        partitions: list[DescribeTopicPartitionsResponsePartition] = DEFAULT,
        topic_authorized_operations: int = -2147483648,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.error_code = error_code
        self.name = name
        self.topic_id = topic_id
        self.is_internal = is_internal
        self.partitions: list[DescribeTopicPartitionsResponsePartition] = [] if partitions is DEFAULT else partitions
        self.topic_authorized_operations = topic_authorized_operations
        self.unknown_tagged_fields = unknown_tagged_fields


class Cursor(Message):
    __slots__ = (
        "partition_index",
        "topic_name",
    )

    def __init__(
        self,
        *,
        topic_name: str = "",
        partition_index: int = 0,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.topic_name = topic_name
        self.partition_index = partition_index
        self.unknown_tagged_fields = unknown_tagged_fields


class DescribeTopicPartitionsResponse(Message):
    __slots__ = (
        "next_cursor",
        "throttle_time_ms",
        "topics",
    )

    API_KEY = 75
    VERSIONS = (0, 0)
    FLEXIBLE_FROM = 0
    SCHEMA = """
DescribeTopicPartitionsResponse response module=clients key=75 versions=0 flexible=0+
  ThrottleTimeMs int32 0+ ignorable
  Topics []DescribeTopicPartitionsResponseTopic 0+
    ErrorCode int16 0+
    Name string 0+ nullable=0+ key entity=topicName
    TopicId uuid 0+ ignorable
    IsInternal bool 0+ ignorable
    Partitions []DescribeTopicPartitionsResponsePartition 0+
      ErrorCode int16 0+
      PartitionIndex int32 0+
      LeaderId int32 0+ entity=brokerId
      LeaderEpoch int32 0+ default=-1 ignorable
      ReplicaNodes []int32 0+ entity=brokerId
      IsrNodes []int32 0+ entity=brokerId
      EligibleLeaderReplicas []int32 0+ nullable=0+ default=null entity=brokerId
      LastKnownElr []int32 0+ nullable=0+ default=null entity=brokerId
      OfflineReplicas []int32 0+ ignorable entity=brokerId
    TopicAuthorizedOperations int32 0+ default=-2147483648
  NextCursor Cursor 0+ nullable=0+ default=null
    TopicName string 0+ entity=topicName
    PartitionIndex int32 0+
"""

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        topics: list[DescribeTopicPartitionsResponseTopic] = DEFAULT,
        next_cursor: Cursor | None = None,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.topics: list[DescribeTopicPartitionsResponseTopic] = [] if topics is DEFAULT else topics
        self.next_cursor = next_cursor
        self.unknown_tagged_fields = unknown_tagged_fields
