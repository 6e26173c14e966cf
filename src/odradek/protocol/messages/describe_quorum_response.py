"""DescribeQuorumResponse. Made by tools/make_messages.py from tables/messages.txt."""

from odradek.common.ids import ZERO_UUID
from odradek.protocol.message import DEFAULT, Message


class ReplicaState(Message):
    __slots__ = (
        "last_caught_up_timestamp",
        "last_fetch_timestamp",
        "log_end_offset",
        "replica_directory_id",
        "replica_id",
    )

    def __init__(
        self,
        *,
        replica_id: int = 0,
        replica_directory_id: bytes = ZERO_UUID,
        log_end_offset: int = 0,
        last_fetch_timestamp: int = -1,
        last_caught_up_timestamp: int = -1,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.replica_id = replica_id
        self.replica_directory_id = replica_directory_id
        self.log_end_offset = log_end_offset
        self.last_fetch_timestamp = last_fetch_timestamp
        self.last_caught_up_timestamp = last_caught_up_timestamp
        self.unknown_tagged_fields = unknown_tagged_fields


class PartitionData(Message):
    __slots__ = (
        "current_voters",
        "error_code",
        "error_message",
        "high_watermark",
        "leader_epoch",
        "leader_id",
        "observers",
        "partition_index",
    )

    def __init__(
        self,
        *,
        partition_index: int = 0,
        error_code: int = 0,
        error_message: str | None = "",
        leader_id: int = 0,
        leader_epoch: int = 0,
        high_watermark: int = 0,
        current_voters: list[ReplicaState] = DEFAULT,
        observers: list[ReplicaState] = DEFAULT,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.partition_index = partition_index
        self.error_code = error_code
        self.error_message = error_message
        self.leader_id = leader_id
        self.leader_epoch = leader_epoch
        self.high_watermark = high_watermark
        self.current_voters: list[ReplicaState] = [] if current_voters is DEFAULT else current_voters
        self.observers: list[ReplicaState] = [] if observers is DEFAULT else observers
        self.unknown_tagged_fields = unknown_tagged_fields


class TopicData(Message):
    __slots__ = (
        "partitions",
        "topic_name",
    )

    def __init__(
        self,
        *,
        topic_name: str = "",
        partitions: list[PartitionData] = DEFAULT,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.topic_name = topic_name
        self.partitions: list[PartitionData] = [] if partitions is DEFAULT else partitions
        self.unknown_tagged_fields = unknown_tagged_fields


class Listener(Message):
    __slots__ = (
        "host",
        "name",
        "port",
    )

    def __init__(
        self,
        *,
        name: str = "",
        host: str = "",
        port: int = 0,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.name = name
        self.host = host
        self.port = port
        self.unknown_tagged_fields = unknown_tagged_fields


class Node(Message):
    __slots__ = (
        "listeners",
        "node_id",
    )

    def __init__(
        self,
        *,
        node_id: int = 0,
        listeners: list[Listener] = DEFAULT,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.node_id = node_id
        self.listeners: list[Listener] = [] if listeners is DEFAULT else listeners
        self.unknown_tagged_fields = unknown_tagged_fields


class DescribeQuorumResponse(Message):
    __slots__ = (
        "error_code",
        "error_message",
        "nodes",
        "topics",
    )

    API_KEY = 55
    VERSIONS = (0, 2)
    FLEXIBLE_FROM = 0
    SCHEMA = """
DescribeQuorumResponse response module=clients key=55 versions=0-2 flexible=0+
  struct ReplicaState
    ReplicaId int32 0+ entity=brokerId
    ReplicaDirectoryId uuid 2+
    LogEndOffset int64 0+
    LastFetchTimestamp int64 1+ default=-1 ignorable
    LastCaughtUpTimestamp int64 1+ default=-1 ignorable
  ErrorCode int16 0+
  ErrorMessage string 2+ nullable=2+ ignorable
  Topics []TopicData 0+
    TopicName string 0+ entity=topicName
    Partitions []PartitionData 0+
      PartitionIndex int32 0+
      ErrorCode int16 0+
      ErrorMessage string 2+ nullable=2+ ignorable
      LeaderId int32 0+ entity=brokerId
      LeaderEpoch int32 0+
      HighWatermark int64 0+
      CurrentVoters []ReplicaState 0+
      Observers []ReplicaState 0+
  Nodes []Node 2+
    NodeId int32 2+ key entity=brokerId
    Listeners []Listener 2+
      Name string 2+ key
      Host string 2+
      Port uint16 2+
"""

    def __init__(
        self,
        *,
        error_code: int = 0,
        error_message: str | None = "",
        topics: list[TopicData] = DEFAULT,
        nodes: list[Node] = DEFAULT,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.error_code = error_code
        self.error_message = error_message
        self.topics: list[TopicData] = [] if topics is DEFAULT else topics
        self.nodes: list[Node] = [] if nodes is DEFAULT else nodes
        self.unknown_tagged_fields = unknown_tagged_fields
