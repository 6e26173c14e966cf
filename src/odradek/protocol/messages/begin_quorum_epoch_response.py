"""BeginQuorumEpochResponse. Made by tools/make_messages.py from tables/messages.txt."""

from odradek.protocol.message import DEFAULT, Message


class PartitionData(Message):
    __slots__ = (
        "error_code",
        "leader_epoch",
        "leader_id",
        "partition_index",
    )

    def __init__(
        self,
        *,
        partition_index: int = 0,
        error_code: int = 0,
        leader_id: int = 0,
        leader_epoch: int = 0,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.partition_index = partition_index
        self.error_code = error_code
        self.leader_id = leader_id
        self.leader_epoch = leader_epoch
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


class NodeEndpoint(Message):
    __slots__ = (
        "host",
        "node_id",
        "port",
    )

    def __init__(
        self,
        *,
        node_id: int = 0,
        host: str = "",
        port: int = 0,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.node_id = node_id
        self.host = host
        self.port = port
        self.unknown_tagged_fields = unknown_tagged_fields


class BeginQuorumEpochResponse(Message):
    __slots__ = (
        "error_code",
        "node_endpoints",
        "topics",
    )

    API_KEY = 53
    VERSIONS = (0, 1)
    FLEXIBLE_FROM = 1
    SCHEMA = """
BeginQuorumEpochResponse response module=clients key=53 versions=0-1 flexible=1+
  ErrorCode int16 0+
  Topics []TopicData 0+
    TopicName string 0+ entity=topicName
    Partitions []PartitionData 0+
      PartitionIndex int32 0+
      ErrorCode int16 0+
      LeaderId int32 0+ entity=brokerId
      LeaderEpoch int32 0+
  NodeEndpoints []NodeEndpoint 1+ tag=0
    NodeId int32 1+ key entity=brokerId
    Host string 1+
    Port uint16 1+
"""

    def __init__(
        self,
        *,
        error_code: int = 0,
        topics: list[TopicData] = DEFAULT,
        node_endpoints: list[NodeEndpoint] = DEFAULT,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.error_code = error_code
        self.topics: list[TopicData] = [] if topics is DEFAULT else topics
        self.node_endpoints: list[NodeEndpoint] = [] if node_endpoints is DEFAULT else node_endpoints
        self.unknown_tagged_fields = unknown_tagged_fields
