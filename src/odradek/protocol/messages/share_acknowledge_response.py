"""ShareAcknowledgeResponse. Made by tools/make_messages.py from tables/messages.txt."""

from odradek.common.ids import ZERO_UUID
from odradek.protocol.message import DEFAULT, Message


class LeaderIdAndEpoch(Message):
    __slots__ = (
        "leader_epoch",
        "leader_id",
    )

    def __init__(
        self,
        *,
        leader_id: int = 0,
        leader_epoch: int = 0,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.leader_id = leader_id
        self.leader_epoch = leader_epoch
        self.unknown_tagged_fields = unknown_tagged_fields


class PartitionData(Message):
    __slots__ = (
        "current_leader",
        "error_code",
        "error_message",
        "partition_index",
    )

    def __init__(
        self,
        *,
        partition_index: int = 0,
        error_code: int = 0,
        error_message: str | None = None,
        current_leader: LeaderIdAndEpoch = DEFAULT,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.partition_index = partition_index
        self.error_code = error_code
        self.error_message = error_message
        self.current_leader: LeaderIdAndEpoch = LeaderIdAndEpoch() if current_leader is DEFAULT else current_leader
        self.unknown_tagged_fields = unknown_tagged_fields


class ShareAcknowledgeTopicResponse(Message):
    __slots__ = (
        "partitions",
        "topic_id",
    )

    def __init__(
        self,
        *,
        topic_id: bytes = ZERO_UUID,
        partitions: list[PartitionData] = DEFAULT,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
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


class ShareAcknowledgeResponse(Message):
    __slots__ = (
        "acquisition_lock_timeout_ms",
        "error_code",
        "error_message",
        "node_endpoints",
        "responses",
        "throttle_time_ms",
    )

    API_KEY = 79
    VERSIONS = (1, 2)
    FLEXIBLE_FROM = 0
    SCHEMA = """
ShareAcknowledgeResponse response module=clients key=79 versions=1-2 flexible=0+
  ThrottleTimeMs int32 0+
  ErrorCode int16 0+
  ErrorMessage string 0+ nullable=0+ default=null
  AcquisitionLockTimeoutMs int32 2+ ignorable
  Responses []ShareAcknowledgeTopicResponse 0+
    TopicId uuid 0+ key
    Partitions []PartitionData 0+
      PartitionIndex int32 0+
      ErrorCode int16 0+
      ErrorMessage string 0+ nullable=0+ default=null
      CurrentLeader LeaderIdAndEpoch 0+
        LeaderId int32 0+
        LeaderEpoch int32 0+
  NodeEndpoints []NodeEndpoint 0+
    NodeId int32 0+ key entity=brokerId
    Host string 0+
    Port int32 0+
    Rack string 0+ nullable=0+ default=null
"""

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        error_message: str | None = None,
        acquisition_lock_timeout_ms: int = 0,
        responses: list[ShareAcknowledgeTopicResponse] = DEFAULT,
        node_endpoints: list[NodeEndpoint] = DEFAULT,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.error_message = error_message
        self.acquisition_lock_timeout_ms = acquisition_lock_timeout_ms
        self.responses: list[ShareAcknowledgeTopicResponse] = [] if responses is DEFAULT else responses
        self.node_endpoints: list[NodeEndpoint] = [] if node_endpoints is DEFAULT else node_endpoints
        self.unknown_tagged_fields = unknown_tagged_fields
