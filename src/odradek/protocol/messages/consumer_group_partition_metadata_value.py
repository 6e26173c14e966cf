"""ConsumerGroupPartitionMetadataValue. Made by tools/make_messages.py from tables/messages.txt."""

from odradek.common.ids import ZERO_UUID
from odradek.protocol.message import DEFAULT, Message


class PartitionMetadata(Message):
    __slots__ = (
        "partition",
        "racks",
    )

    def __init__(
        self,
        *,
        partition: int = 0,
        racks: list[str] = DEFAULT,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.partition = partition
        self.racks: list[str] = [] if racks is DEFAULT else racks
        self.unknown_tagged_fields = unknown_tagged_fields


class TopicMetadata(Message):
    __slots__ = (
        "num_partitions",
        "partition_metadata",
        "topic_id",
        "topic_name",
    )

    def __init__(
        self,
        *,
        topic_id: bytes = ZERO_UUID,
        topic_name: str = "",
        num_partitions: int = 0,
        partition_metadata: list[PartitionMetadata] = DEFAULT,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.topic_id = topic_id
        self.topic_name = topic_name
        self.num_partitions = num_partitions
        self.partition_metadata: list[PartitionMetadata] = [] if partition_metadata is DEFAULT else partition_metadata
        self.unknown_tagged_fields = unknown_tagged_fields


class ConsumerGroupPartitionMetadataValue(Message):
    __slots__ = ("topics",)

    API_KEY = 4
    VERSIONS = (0, 0)
    FLEXIBLE_FROM = 0
    SCHEMA = """
ConsumerGroupPartitionMetadataValue coordinator-value module=group-coordinator key=4 versions=0 flexible=0+
  Topics []TopicMetadata 0+
    TopicId uuid 0+
    TopicName string 0+
    NumPartitions int32 0+
    PartitionMetadata []PartitionMetadata 0+
      Partition int32 0+
      Racks []string 0+
"""

    def __init__(
        self,
        *,
        topics: list[TopicMetadata] = DEFAULT,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.topics: list[TopicMetadata] = [] if topics is DEFAULT else topics
        self.unknown_tagged_fields = unknown_tagged_fields
