"""VoteRequest. Made by tools/make_messages.py from tables/messages.txt."""

from odradek.common.ids import ZERO_UUID
from odradek.protocol.message import DEFAULT, Message


class PartitionData(Message):
    __slots__ = (
        "last_offset",
        "last_offset_epoch",
        "partition_index",
        "pre_vote",
        "replica_directory_id",
        "replica_epoch",
        "replica_id",
        "voter_directory_id",
    )

    def __init__(
        self,
        *,
        partition_index: int = 0,
        replica_epoch: int = 0,
        replica_id: int = 0,
        replica_directory_id: bytes = ZERO_UUID,
        voter_directory_id: bytes = ZERO_UUID,
        last_offset_epoch: int = 0,
        last_offset: int = 0,
        pre_vote: bool = False,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.partition_index = partition_index
        self.replica_epoch = replica_epoch
        self.replica_id = replica_id
        self.replica_directory_id = replica_directory_id
        self.voter_directory_id = voter_directory_id
        self.last_offset_epoch = last_offset_epoch
        self.last_offset = last_offset
        self.pre_vote = pre_vote
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


class VoteRequest(Message):
    __slots__ = (
        "cluster_id",
        "topics",
        "voter_id",
    )

    API_KEY = 52
    VERSIONS = (0, 2)
    FLEXIBLE_FROM = 0
    SCHEMA = """
VoteRequest request module=clients key=52 versions=0-2 flexible=0+
  ClusterId string 0+ nullable=0+ default=null
  VoterId int32 1+ default=-1 ignorable entity=brokerId
  Topics []TopicData 0+
    TopicName string 0+ entity=topicName
    Partitions []PartitionData 0+
      PartitionIndex int32 0+
      ReplicaEpoch int32 0+
      ReplicaId int32 0+ entity=brokerId
      ReplicaDirectoryId uuid 1+ ignorable
      VoterDirectoryId uuid 1+ ignorable
      LastOffsetEpoch int32 0+
      LastOffset int64 0+
      PreVote bool 2+
"""

    def __init__(
        self,
        *,
        cluster_id: str | None = None,
        voter_id: int = -1,
        topics: list[TopicData] = DEFAULT,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.cluster_id = cluster_id
        self.voter_id = voter_id
        self.topics: list[TopicData] = [] if topics is DEFAULT else topics
        self.unknown_tagged_fields = unknown_tagged_fields
