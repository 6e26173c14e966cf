"""EndQuorumEpochRequest. Made by tools/make_messages.py from tables/messages.txt."""

from odradek.common.ids import ZERO_UUID
from odradek.protocol.message import DEFAULT, Message


class ReplicaInfo(Message):
    __slots__ = (
        "candidate_directory_id",
        "candidate_id",
    )

    def __init__(
        self,
        *,
        candidate_id: int = 0,
        candidate_directory_id: bytes = ZERO_UUID,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.candidate_id = candidate_id
        self.candidate_directory_id = candidate_directory_id
        self.unknown_tagged_fields = unknown_tagged_fields


class PartitionData(Message):
    __slots__ = (
        "leader_epoch",
        "leader_id",
        "partition_index",
        "preferred_candidates",
        "preferred_successors",
    )

    def __init__(
        self,
        *,
        partition_index: int = 0,
        leader_id: int = 0,
        leader_epoch: int = 0,
        preferred_successors: list[int] = DEFAULT,
        preferred_candidates: list[ReplicaInfo] = DEFAULT,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.partition_index = partition_index
        self.leader_id = leader_id
        self.leader_epoch = leader_epoch
        self.preferred_successors: list[int] = [] if preferred_successors is DEFAULT else preferred_successors
        self.preferred_candidates: list[ReplicaInfo] = [] if preferred_candidates is DEFAULT else preferred_candidates
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


class EndQuorumEpochRequest(Message):
    __slots__ = (
        "cluster_id",
        "leader_endpoints",
        "topics",
    )

    API_KEY = 54
    VERSIONS = (0, 1)
    FLEXIBLE_FROM = 1
    SCHEMA = """
EndQuorumEpochRequest request module=clients key=54 versions=0-1 flexible=1+
  ClusterId string 0+ nullable=0+ default=null
  Topics []TopicData 0+
    TopicName string 0+ entity=topicName
    Partitions []PartitionData 0+
      PartitionIndex int32 0+
      LeaderId int32 0+ entity=brokerId
      LeaderEpoch int32 0+
      PreferredSuccessors []int32 0 ignorable
      PreferredCandidates []ReplicaInfo 1+ ignorable
        CandidateId int32 1+ entity=brokerId
        CandidateDirectoryId uuid 1+
  LeaderEndpoints []LeaderEndpoint 1+ ignorable
    Name string 1+ key
    Host string 1+
    Port uint16 1+
"""

    def __init__(
        self,
        *,
        cluster_id: str | None = None,
        topics: list[TopicData] = DEFAULT,
        leader_endpoints: list[LeaderEndpoint] = DEFAULT,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.cluster_id = cluster_id
        self.topics: list[TopicData] = [] if topics is DEFAULT else topics
        self.leader_endpoints: list[LeaderEndpoint] = [] if leader_endpoints is DEFAULT else leader_endpoints
        self.unknown_tagged_fields = unknown_tagged_fields
