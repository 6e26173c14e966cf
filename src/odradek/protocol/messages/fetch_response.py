"""FetchResponse. Made by tools/make_messages.py from tables/messages.txt."""

from odradek.common.ids import ZERO_UUID
from odradek.common.ports import Buffer
from odradek.protocol.message import DEFAULT, Message


class EpochEndOffset(Message):
    __slots__ = (
        "end_offset",
        "epoch",
    )

    def __init__(
        self,
        *,
        epoch: int = -1,
        end_offset: int = -1,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.epoch = epoch
        self.end_offset = end_offset
        self.unknown_tagged_fields = unknown_tagged_fields


class LeaderIdAndEpoch(Message):
    __slots__ = (
        "leader_epoch",
        "leader_id",
    )

    def __init__(
        self,
        *,
        leader_id: int = -1,
        leader_epoch: int = -1,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.leader_id = leader_id
        self.leader_epoch = leader_epoch
        self.unknown_tagged_fields = unknown_tagged_fields


class SnapshotId(Message):
    __slots__ = (
        "end_offset",
        "epoch",
    )

    def __init__(
        self,
        *,
        end_offset: int = -1,
        epoch: int = -1,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.end_offset = end_offset
        self.epoch = epoch
        self.unknown_tagged_fields = unknown_tagged_fields


class AbortedTransaction(Message):
    __slots__ = (
        "first_offset",
        "producer_id",
    )

    def __init__(
        self,
        *,
        producer_id: int = 0,
        first_offset: int = 0,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.producer_id = producer_id
        self.first_offset = first_offset
        self.unknown_tagged_fields = unknown_tagged_fields


class PartitionData(Message):
    __slots__ = (
        "aborted_transactions",
        "current_leader",
        "diverging_epoch",
        "error_code",
        "high_watermark",
        "last_stable_offset",
        "log_start_offset",
        "partition_index",
        "preferred_read_replica",
        "records",
        "snapshot_id",
    )

    def __init__(
        self,
        *,
        partition_index: int = 0,
        error_code: int = 0,
        high_watermark: int = 0,
        last_stable_offset: int = -1,
        log_start_offset: int = -1,
        diverging_epoch: EpochEndOffset = DEFAULT,
        current_leader: LeaderIdAndEpoch = DEFAULT,
        snapshot_id: SnapshotId = DEFAULT,
        aborted_transactions: list[AbortedTransaction] | None = DEFAULT,
        preferred_read_replica: int = -1,
        records: Buffer | None = b"",
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.partition_index = partition_index
        self.error_code = error_code
        self.high_watermark = high_watermark
        self.last_stable_offset = last_stable_offset
        self.log_start_offset = log_start_offset
        self.diverging_epoch: EpochEndOffset = EpochEndOffset() if diverging_epoch is DEFAULT else diverging_epoch
        self.current_leader: LeaderIdAndEpoch = LeaderIdAndEpoch() if current_leader is DEFAULT else current_leader
        self.snapshot_id: SnapshotId = SnapshotId() if snapshot_id is DEFAULT else snapshot_id
        self.aborted_transactions: list[AbortedTransaction] | None = (
            [] if aborted_transactions is DEFAULT else aborted_transactions
        )
        self.preferred_read_replica = preferred_read_replica
        self.records = records
        self.unknown_tagged_fields = unknown_tagged_fields


class FetchableTopicResponse(Message):
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
        partitions: list[PartitionData] = DEFAULT,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.topic = topic
        self.topic_id = topic_id
        self.partitions: list[PartitionData] = [] if partitions is DEFAULT else partitions
        self.unknown_tagged_fields = unknown_tagged_fields


class NodeEndpoint(Message):
    __slots__ = (
        "host",
        "node_id",
        "port",
        "rack",
    )

    def __init__(
        self,
        *,
        node_id: int = 0,
        host: str = "",
        port: int = 0,
        rack: str | None = None,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.node_id = node_id
        self.host = host
        self.port = port
        self.rack = rack
        self.unknown_tagged_fields = unknown_tagged_fields


class FetchResponse(Message):
    __slots__ = (
        "error_code",
        "node_endpoints",
        "responses",
        "session_id",
        "throttle_time_ms",
    )

    API_KEY = 1
    VERSIONS = (4, 18)
    FLEXIBLE_FROM = 12
    SCHEMA = """
FetchResponse response module=clients key=1 versions=4-18 flexible=12+
  ThrottleTimeMs int32 1+ ignorable
  ErrorCode int16 7+ ignorable
  SessionId int32 7+
  Responses []FetchableTopicResponse 0+
    Topic string 0-12 ignorable entity=topicName
    TopicId uuid 13+ ignorable
    Partitions []PartitionData 0+
      PartitionIndex int32 0+
      ErrorCode int16 0+
      HighWatermark int64 0+
      LastStableOffset int64 4+ default=-1 ignorable
      LogStartOffset int64 5+ default=-1 ignorable
      DivergingEpoch EpochEndOffset 12+ tag=0
        Epoch int32 12+ default=-1
        EndOffset int64 12+ default=-1
      CurrentLeader LeaderIdAndEpoch 12+ tag=1
        LeaderId int32 12+ default=-1 entity=brokerId
        LeaderEpoch int32 12+ default=-1
      SnapshotId SnapshotId 12+ tag=2
        EndOffset int64 0+ default=-1
        Epoch int32 0+ default=-1
      AbortedTransactions []AbortedTransaction 4+ nullable=4+ ignorable
        ProducerId int64 4+ entity=producerId
        FirstOffset int64 4+
      PreferredReadReplica int32 11+ default=-1 entity=brokerId
      Records records 0+ nullable=0+
  NodeEndpoints []NodeEndpoint 16+ tag=0
    NodeId int32 16+ key entity=brokerId
    Host string 16+
    Port int32 16+
    Rack string 16+ nullable=16+ default=null
"""

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        session_id: int = 0,
        responses: list[FetchableTopicResponse] = DEFAULT,
        node_endpoints: list[NodeEndpoint] = DEFAULT,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.session_id = session_id
        self.responses: list[FetchableTopicResponse] = [] if responses is DEFAULT else responses
        self.node_endpoints: list[NodeEndpoint] = [] if node_endpoints is DEFAULT else node_endpoints
        self.unknown_tagged_fields = unknown_tagged_fields
