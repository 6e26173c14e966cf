"""AssignReplicasToDirsRequest. Made by tools/make_messages.py from tables/messages.txt."""

from odradek.common.ids import ZERO_UUID
from odradek.protocol.message import DEFAULT, Message


class PartitionData(Message):
    __slots__ = ("partition_index",)

    def __init__(
        self,
        *,
        partition_index: int = 0,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.partition_index = partition_index
        self.unknown_tagged_fields = unknown_tagged_fields


class TopicData(Message):
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


class DirectoryData(Message):
    __slots__ = (
        "id",
        "topics",
    )

    def __init__(
        self,
        *,
        id: bytes = ZERO_UUID,
        topics: list[TopicData] = DEFAULT,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.id = id
        self.topics: list[TopicData] = [] if topics is DEFAULT else topics
        self.unknown_tagged_fields = unknown_tagged_fields


class AssignReplicasToDirsRequest(Message):
    __slots__ = (
        "broker_epoch",
        "broker_id",
        "directories",
    )

    API_KEY = 73
    VERSIONS = (0, 0)
    FLEXIBLE_FROM = 0
    SCHEMA = """
AssignReplicasToDirsRequest request module=clients key=73 versions=0 flexible=0+
  BrokerId int32 0+ entity=brokerId
  BrokerEpoch int64 0+ default=-1
  Directories []DirectoryData 0+
    Id uuid 0+
    Topics []TopicData 0+
      TopicId uuid 0+
      Partitions []PartitionData 0+
        PartitionIndex int32 0+
"""

    def __init__(
        self,
        *,
        broker_id: int = 0,
        broker_epoch: int = -1,
        directories: list[DirectoryData] = DEFAULT,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.broker_id = broker_id
        self.broker_epoch = broker_epoch
        self.directories: list[DirectoryData] = [] if directories is DEFAULT else directories
        self.unknown_tagged_fields = unknown_tagged_fields
