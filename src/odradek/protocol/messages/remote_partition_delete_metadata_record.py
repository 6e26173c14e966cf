"""RemotePartitionDeleteMetadataRecord. Made by tools/make_messages.py from tables/messages.txt."""

from odradek.common.ids import ZERO_UUID
from odradek.protocol.message import DEFAULT, Message


class TopicIdPartitionEntry(Message):
    __slots__ = (
        "id",
        "name",
        "partition",
    )

    def __init__(
        self,
        *,
        name: str = "",
        id: bytes = ZERO_UUID,
        partition: int = 0,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.name = name
        self.id = id
        self.partition = partition
        self.unknown_tagged_fields = unknown_tagged_fields


class RemotePartitionDeleteMetadataRecord(Message):
    __slots__ = (
        "broker_id",
        "event_timestamp_ms",
        "remote_partition_delete_state",
        "topic_id_partition",
    )

    API_KEY = 2
    VERSIONS = (0, 0)
    FLEXIBLE_FROM = 0
    SCHEMA = """
RemotePartitionDeleteMetadataRecord metadata module=storage key=2 versions=0 flexible=0+
  TopicIdPartition TopicIdPartitionEntry 0+
    Name string 0+
    Id uuid 0+
    Partition int32 0+
  BrokerId int32 0+
  EventTimestampMs int64 0+
  RemotePartitionDeleteState int8 0+
"""

    def __init__(
        self,
        *,
        topic_id_partition: TopicIdPartitionEntry = DEFAULT,
        broker_id: int = 0,
        event_timestamp_ms: int = 0,
        remote_partition_delete_state: int = 0,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.topic_id_partition: TopicIdPartitionEntry = (
            TopicIdPartitionEntry() if topic_id_partition is DEFAULT else topic_id_partition
        )
        self.broker_id = broker_id
        self.event_timestamp_ms = event_timestamp_ms
        self.remote_partition_delete_state = remote_partition_delete_state
        self.unknown_tagged_fields = unknown_tagged_fields
