"""OffsetForLeaderEpochRequest. Made by tools/make_messages.py from tables/messages.txt."""

from odradek.protocol.message import DEFAULT, Message


class OffsetForLeaderPartition(Message):
    __slots__ = (
        "current_leader_epoch",
        "leader_epoch",
        "partition",
    )

    def __init__(
        self,
        *,
        partition: int = 0,
        current_leader_epoch: int = -1,
        leader_epoch: int = 0,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.partition = partition
        self.current_leader_epoch = current_leader_epoch
        self.leader_epoch = leader_epoch
        self.unknown_tagged_fields = unknown_tagged_fields


class OffsetForLeaderTopic(Message):
    __slots__ = (
        "partitions",
        "topic",
    )

    def __init__(
        self,
        *,
        topic: str = "",
        partitions: list[OffsetForLeaderPartition] = DEFAULT,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.topic = topic
        self.partitions: list[OffsetForLeaderPartition] = [] if partitions is DEFAULT else partitions
        self.unknown_tagged_fields = unknown_tagged_fields


class OffsetForLeaderEpochRequest(Message):
    __slots__ = (
        "replica_id",
        "topics",
    )

    API_KEY = 23
    VERSIONS = (2, 4)
    FLEXIBLE_FROM = 4
    SCHEMA = """
OffsetForLeaderEpochRequest request module=clients key=23 versions=2-4 flexible=4+
  ReplicaId int32 3+ default=-2 ignorable entity=brokerId
  Topics []OffsetForLeaderTopic 0+
    Topic string 0+ key entity=topicName
    Partitions []OffsetForLeaderPartition 0+
      Partition int32 0+
      CurrentLeaderEpoch int32 2+ default=-1 ignorable
      LeaderEpoch int32 0+
"""

    def __init__(
        self,
        *,
        replica_id: int = -2,
        topics: list[OffsetForLeaderTopic] = DEFAULT,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.replica_id = replica_id
        self.topics: list[OffsetForLeaderTopic] = [] if topics is DEFAULT else topics
        self.unknown_tagged_fields = unknown_tagged_fields
