"""ProduceResponse. Made by tools/make_messages.py from tables/messages.txt."""

from odradek.common.ids import ZERO_UUID
from odradek.protocol.message import DEFAULT, Message


class BatchIndexAndErrorMessage(Message):
    __slots__ = (
        "batch_index",
        "batch_index_error_message",
    )

    def __init__(
        self,
        *,
        batch_index: int = 0,
        batch_index_error_message: str | None = None,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.batch_index = batch_index
        self.batch_index_error_message = batch_index_error_message
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


class PartitionProduceResponse(Message):
    __slots__ = (
        "base_offset",
        "current_leader",
        "error_code",
        "error_message",
        "index",
        "log_append_time_ms",
        "log_start_offset",
        "record_errors",
    )

    def __init__(
        self,
        *,
        index: int = 0,
        error_code: int = 0,
        base_offset: int = 0,
        log_append_time_ms: int = -1,
        log_start_offset: int = -1,
        record_errors: list[BatchIndexAndErrorMessage] = DEFAULT,
        error_message: str | None = None,
        current_leader: LeaderIdAndEpoch = DEFAULT,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.index = index
        self.error_code = error_code
        self.base_offset = base_offset
        self.log_append_time_ms = log_append_time_ms
        self.log_start_offset = log_start_offset
        self.record_errors: list[BatchIndexAndErrorMessage] = [] if record_errors is DEFAULT else record_errors
        self.error_message = error_message
        self.current_leader: LeaderIdAndEpoch = LeaderIdAndEpoch() if current_leader is DEFAULT else current_leader
        self.unknown_tagged_fields = unknown_tagged_fields


class TopicProduceResponse(Message):
    __slots__ = (
        "name",
        "partition_responses",
        "topic_id",
    )

    def __init__(
        self,
        *,
        name: str = "",
        topic_id: bytes = ZERO_UUID,
        partition_responses: list[PartitionProduceResponse] = DEFAULT,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.name = name
        self.topic_id = topic_id
        self.partition_responses: list[PartitionProduceResponse] = (
            [] if partition_responses is DEFAULT else partition_responses
        )
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


class ProduceResponse(Message):
    __slots__ = (
        "node_endpoints",
        "responses",
        "throttle_time_ms",
    )

    API_KEY = 0
    VERSIONS = (3, 13)
    FLEXIBLE_FROM = 9
    SCHEMA = """
ProduceResponse response module=clients key=0 versions=3-13 flexible=9+
  Responses []TopicProduceResponse 0+
    Name string 0-12 ignorable key entity=topicName
    TopicId uuid 13+ ignorable key
    PartitionResponses []PartitionProduceResponse 0+
      Index int32 0+
      ErrorCode int16 0+
      BaseOffset int64 0+
      LogAppendTimeMs int64 2+ default=-1 ignorable
      LogStartOffset int64 5+ default=-1 ignorable
      RecordErrors []BatchIndexAndErrorMessage 8+ ignorable
        BatchIndex int32 8+
        BatchIndexErrorMessage string 8+ nullable=8+ default=null
      ErrorMessage string 8+ nullable=8+ default=null ignorable
      CurrentLeader LeaderIdAndEpoch 10+ tag=0
        LeaderId int32 10+ default=-1 entity=brokerId
        LeaderEpoch int32 10+ default=-1
  ThrottleTimeMs int32 1+ ignorable
  NodeEndpoints []NodeEndpoint 10+ tag=0
    NodeId int32 10+ key entity=brokerId
    Host string 10+
    Port int32 10+
    Rack string 10+ nullable=10+ default=null
"""

    def __init__(
        self,
        *,
        responses: list[TopicProduceResponse] = DEFAULT,
        throttle_time_ms: int = 0,
        node_endpoints: list[NodeEndpoint] = DEFAULT,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.responses: list[TopicProduceResponse] = [] if responses is DEFAULT else responses
        self.throttle_time_ms = throttle_time_ms
        self.node_endpoints: list[NodeEndpoint] = [] if node_endpoints is DEFAULT else node_endpoints
        self.unknown_tagged_fields = unknown_tagged_fields
