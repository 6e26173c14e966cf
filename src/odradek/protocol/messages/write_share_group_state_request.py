"""WriteShareGroupStateRequest. Made by tools/make_messages.py from tables/messages.txt."""

from odradek.common.ids import ZERO_UUID
from odradek.protocol.message import DEFAULT, Message


class StateBatch(Message):
    __slots__ = (
        "delivery_count",
        "delivery_state",
        "first_offset",
        "last_offset",
    )

    def __init__(
        self,
        *,
        first_offset: int = 0,
        last_offset: int = 0,
        delivery_state: int = 0,
        delivery_count: int = 0,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.first_offset = first_offset
        self.last_offset = last_offset
        self.delivery_state = delivery_state
        self.delivery_count = delivery_count
        self.unknown_tagged_fields = unknown_tagged_fields


class PartitionData(Message):
    __slots__ = (
        "delivery_complete_count",
        "leader_epoch",
        "partition",
        "start_offset",
        "state_batches",
        "state_epoch",
    )

    def __init__(
        self,
        *,
        partition: int = 0,
        state_epoch: int = 0,
        leader_epoch: int = 0,
        start_offset: int = 0,
        delivery_complete_count: int = -1,
        state_batches: list[StateBatch] = DEFAULT,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.partition = partition
        self.state_epoch = state_epoch
        self.leader_epoch = leader_epoch
        self.start_offset = start_offset
        self.delivery_complete_count = delivery_complete_count
        self.state_batches: list[StateBatch] = [] if state_batches is DEFAULT else state_batches
        self.unknown_tagged_fields = unknown_tagged_fields


class WriteStateData(Message):
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


class WriteShareGroupStateRequest(Message):
    __slots__ = (
        "group_id",
        "topics",
    )

    API_KEY = 85
    VERSIONS = (0, 1)
    FLEXIBLE_FROM = 0
    SCHEMA = """
WriteShareGroupStateRequest request module=clients key=85 versions=0-1 flexible=0+
  GroupId string 0+
  Topics []WriteStateData 0+
    TopicId uuid 0+
    Partitions []PartitionData 0+
      Partition int32 0+
      StateEpoch int32 0+
      LeaderEpoch int32 0+
      StartOffset int64 0+
      DeliveryCompleteCount int32 1+ default=-1 ignorable
      StateBatches []StateBatch 0+
        FirstOffset int64 0+
        LastOffset int64 0+
        DeliveryState int8 0+
        DeliveryCount int16 0+
"""

    def __init__(
        self,
        *,
        group_id: str = "",
        topics: list[WriteStateData] = DEFAULT,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.group_id = group_id
        self.topics: list[WriteStateData] = [] if topics is DEFAULT else topics
        self.unknown_tagged_fields = unknown_tagged_fields
