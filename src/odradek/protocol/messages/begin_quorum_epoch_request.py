"""BeginQuorumEpochRequest. Made by tools/make_messages.py from tables/messages.txt."""

from odradek.common.ids import ZERO_UUID
from odradek.protocol.message import DEFAULT, Message


class PartitionData(Message):
    __slots__ = (
        "leader_epoch",
        "leader_id",
        "partition_index",
        "voter_directory_id",
    )

    def __init__(
        self,
        *,
        partition_index: int = 0,
        voter_directory_id: bytes = ZERO_UUID,
        leader_id: int = 0,
        leader_epoch: int = 0,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.partition_index = partition_index
        self.voter_directory_id = voter_directory_id
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


class LeaderEndpoint(Message):
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


class BeginQuorumEpochRequest(Message):
    __slots__ = (
        "cluster_id",
        "leader_endpoints",
        "topics",
        "voter_id",
    )

    API_KEY = 53
    VERSIONS = (0, 1)
    FLEXIBLE_FROM = 1
    SCHEMA = """
BeginQuorumEpochRequest request module=clients key=53 versions=0-1 flexible=1+
  ClusterId string 0+ nullable=0+ default=null
  VoterId int32 1+ default=-1 ignorable entity=brokerId
  Topics []TopicData 0+
    TopicName string 0+ entity=topicName
    Partitions []PartitionData 0+
      PartitionIndex int32 0+
      VoterDirectoryId uuid 1+ ignorable
      LeaderId int32 0+ entity=brokerId
      LeaderEpoch int32 0+
  LeaderEndpoints []LeaderEndpoint 1+ ignorable
    Name string 1+ key
    Host string 1+
    Port uint16 1+
"""

    def __init__(
        self,
        *,
        cluster_id: str | None = None,
        voter_id: int = -1,
        topics: list[TopicData] = DEFAULT,
        leader_endpoints: list[LeaderEndpoint] = DEFAULT,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.cluster_id = cluster_id
        self.voter_id = voter_id
        self.topics: list[TopicData] = [] if topics is DEFAULT else topics
        self.leader_endpoints: list[LeaderEndpoint] = [] if leader_endpoints is DEFAULT else leader_endpoints
        self.unknown_tagged_fields = unknown_tagged_fields
