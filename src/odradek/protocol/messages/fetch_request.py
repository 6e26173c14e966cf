"""FetchRequest. Made by tools/make_messages.py from tables/messages.txt."""

from odradek.common.ids import ZERO_UUID
from odradek.protocol.message import DEFAULT, Message


class ReplicaState(Message):
    __slots__ = (
        "replica_epoch",
        "replica_id",
    )

    def __init__(
        self,
        *,
        replica_id: int = -1,
        replica_epoch: int = -1,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.replica_id = replica_id
        self.replica_epoch = replica_epoch
        self.unknown_tagged_fields = unknown_tagged_fields


class FetchPartition(Message):
    __slots__ = (
        "current_leader_epoch",
        "fetch_offset",
        "high_watermark",
        "last_fetched_epoch",
        "log_start_offset",
        "partition",
        "partition_max_bytes",
        "replica_directory_id",
    )

    def __init__(
        self,
        *,
        partition: int = 0,
        current_leader_epoch: int = -1,
        fetch_offset: int = 0,
        last_fetched_epoch: int = -1,
        log_start_offset: int = -1,
        partition_max_bytes: int = 0,
        replica_directory_id: bytes = ZERO_UUID,
        high_watermark: int = 9223372036854775807,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.partition = partition
        self.current_leader_epoch = current_leader_epoch
        self.fetch_offset = fetch_offset
        self.last_fetched_epoch = last_fetched_epoch
        self.log_start_offset = log_start_offset
        self.partition_max_bytes = partition_max_bytes
        self.replica_directory_id = replica_directory_id
        self.high_watermark = high_watermark
        self.unknown_tagged_fields = unknown_tagged_fields


class FetchTopic(Message):
    __slots__ = (
        "partitions",
        "topic",
        "topic_id",
    )

    def __init__(
        self,
        *,
        topic: str = "",
        topic_id: bytes = ZERO_UUID,
        partitions: list[FetchPartition] = DEFAULT,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.topic = topic
        self.topic_id = topic_id
        self.partitions: list[FetchPartition] = [] if partitions is DEFAULT else partitions
        self.unknown_tagged_fields = unknown_tagged_fields


class ForgottenTopic(Message):
    __slots__ = (
        "partitions",
        "topic",
        "topic_id",
    )

    def __init__(
        self,
        *,
        topic: str = "",
        topic_id: bytes = ZERO_UUID,
        partitions: list[int] = DEFAULT,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.topic = topic
        self.topic_id = topic_id
        self.partitions: list[int] = [] if partitions is DEFAULT else partitions
        self.unknown_tagged_fields = unknown_tagged_fields


class FetchRequest(Message):
    __slots__ = (
        "cluster_id",
        "forgotten_topics_data",
        "isolation_level",
        "max_bytes",
        "max_wait_ms",
        "min_bytes",
        "rack_id",
        "replica_id",
        "replica_state",
        "session_epoch",
        "session_id",
        "topics",
    )

    API_KEY = 1
    VERSIONS = (4, 18)
    FLEXIBLE_FROM = 12
    SCHEMA = """
FetchRequest request module=clients key=1 versions=4-18 flexible=12+
  ClusterId string 12+ nullable=12+ default=null tag=0 ignorable
  ReplicaId int32 0-14 default=-1 entity=brokerId
  ReplicaState ReplicaState 15+ tag=1
    ReplicaId int32 15+ default=-1 entity=brokerId
    ReplicaEpoch int64 15+ default=-1
  MaxWaitMs int32 0+
  MinBytes int32 0+
  MaxBytes int32 3+ default=2147483647 ignorable
  IsolationLevel int8 4+ ignorable
  SessionId int32 7+ ignorable
  SessionEpoch int32 7+ default=-1 ignorable
  Topics []FetchTopic 0+
    Topic string 0-12 ignorable entity=topicName
    TopicId uuid 13+ ignorable
    Partitions []FetchPartition 0+
      Partition int32 0+
      CurrentLeaderEpoch int32 9+ default=-1 ignorable
      FetchOffset int64 0+
      LastFetchedEpoch int32 12+ default=-1
      LogStartOffset int64 5+ default=-1 ignorable
      PartitionMaxBytes int32 0+
      ReplicaDirectoryId uuid 17+ tag=0 ignorable
      HighWatermark int64 18+ default=9223372036854775807 tag=1 ignorable
  ForgottenTopicsData []ForgottenTopic 7+
    Topic string 7-12 ignorable entity=topicName
    TopicId uuid 13+ ignorable
    Partitions []int32 7+
  RackId string 11+ ignorable
"""

    def __init__(
        self,
        *,
        cluster_id: str | None = None,
        replica_id: int = -1,
        replica_state: ReplicaState = DEFAULT,
        max_wait_ms: int = 0,
        min_bytes: int = 0,
        max_bytes: int = 2147483647,
        isolation_level: int = 0,
        session_id: int = 0,
        session_epoch: int = -1,
        topics: list[FetchTopic] = DEFAULT,
        forgotten_topics_data: list[ForgottenTopic] = DEFAULT,
        rack_id: str = "",
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.cluster_id = cluster_id
        self.replica_id = replica_id
        self.replica_state: ReplicaState = ReplicaState() if replica_state is DEFAULT else replica_state
        self.max_wait_ms = max_wait_ms
        self.min_bytes = min_bytes
        self.max_bytes = max_bytes
        self.isolation_level = isolation_level
        self.session_id = session_id
        self.session_epoch = session_epoch
        self.topics: list[FetchTopic] = [] if topics is DEFAULT else topics
        self.forgotten_topics_data: list[ForgottenTopic] = (
            [] if forgotten_topics_data is DEFAULT else forgotten_topics_data
        )
        self.rack_id = rack_id
        self.unknown_tagged_fields = unknown_tagged_fields
