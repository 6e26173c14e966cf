"""MetadataResponse. Made by tools/make_messages.py from tables/messages.txt."""

from odradek.common.ids import ZERO_UUID
from odradek.protocol.message import DEFAULT, Message


class MetadataResponseBroker(Message):
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


class MetadataResponsePartition(Message):
    __slots__ = (
        "error_code",
        "isr_nodes",
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
        offline_replicas: list[int] = DEFAULT,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.error_code = error_code
        self.partition_index = partition_index
        self.leader_id = leader_id
        self.leader_epoch = leader_epoch
        self.replica_nodes: list[int] = [] if replica_nodes is DEFAULT else replica_nodes
        self.isr_nodes: list[int] = [] if isr_nodes is DEFAULT else isr_nodes
        self.offline_replicas: list[int] = [] if offline_replicas is DEFAULT else offline_replicas
        self.unknown_tagged_fields = unknown_tagged_fields


class MetadataResponseTopic(Message):
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
        partitions: list[MetadataResponsePartition] = DEFAULT,
        topic_authorized_operations: int = -2147483648,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.error_code = error_code
        self.name = name
        self.topic_id = topic_id
        self.is_internal = is_internal
        self.partitions: list[MetadataResponsePartition] = [] if partitions is DEFAULT else partitions
        self.topic_authorized_operations = topic_authorized_operations
        self.unknown_tagged_fields = unknown_tagged_fields


class MetadataResponse(Message):
    __slots__ = (
        "brokers",
        "cluster_authorized_operations",
        "cluster_id",
        "controller_id",
        "error_code",
        "throttle_time_ms",
        "topics",
    )

    API_KEY = 3
    VERSIONS = (0, 13)
    FLEXIBLE_FROM = 9
    SCHEMA = """
MetadataResponse response module=clients key=3 versions=0-13 flexible=9+
  ThrottleTimeMs int32 3+ ignorable
  Brokers []MetadataResponseBroker 0+
    NodeId int32 0+ key entity=brokerId
    Host string 0+
    Port int32 0+
    Rack string 1+ nullable=1+ default=null ignorable
  ClusterId string 2+ nullable=2+ default=null ignorable
  ControllerId int32 1+ default=-1 ignorable entity=brokerId
  Topics []MetadataResponseTopic 0+
    ErrorCode int16 0+
    Name string 0+ nullable=12+ key entity=topicName
    TopicId uuid 10+ ignorable
    IsInternal bool 1+ ignorable
    Partitions []MetadataResponsePartition 0+
      ErrorCode int16 0+
      PartitionIndex int32 0+
      LeaderId int32 0+ entity=brokerId
      LeaderEpoch int32 7+ default=-1 ignorable
      ReplicaNodes []int32 0+ entity=brokerId
      IsrNodes []int32 0+ entity=brokerId
      OfflineReplicas []int32 5+ ignorable entity=brokerId
    TopicAuthorizedOperations int32 8+ default=-2147483648
  ClusterAuthorizedOperations int32 8-10 default=-2147483648
  ErrorCode int16 13+ ignorable
"""

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        brokers: list[MetadataResponseBroker] = DEFAULT,
        cluster_id: str | None = None,
        controller_id: int = -1,
        topics: list[MetadataResponseTopic] = DEFAULT,
        cluster_authorized_operations: int = -2147483648,
        error_code: int = 0,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.brokers: list[MetadataResponseBroker] = [] if brokers is DEFAULT else brokers
        self.cluster_id = cluster_id
        self.controller_id = controller_id
        self.topics: list[MetadataResponseTopic] = [] if topics is DEFAULT else topics
        self.cluster_authorized_operations = cluster_authorized_operations
        self.error_code = error_code
        self.unknown_tagged_fields = unknown_tagged_fields
