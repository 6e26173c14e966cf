"""RemoteLogSegmentMetadataUpdateRecord. Made by tools/make_messages.py from tables/messages.txt."""

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


class RemoteLogSegmentIdEntry(Message):
    __slots__ = (
        "id",
        "topic_id_partition",
    )

    def __init__(
        self,
        *,
        topic_id_partition: TopicIdPartitionEntry = DEFAULT,
        id: bytes = ZERO_UUID,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.topic_id_partition: TopicIdPartitionEntry = (
            TopicIdPartitionEntry() if topic_id_partition is DEFAULT else topic_id_partition
        )
        self.id = id
        self.unknown_tagged_fields = unknown_tagged_fields


class RemoteLogSegmentMetadataUpdateRecord(Message):
    __slots__ = (
        "broker_id",
        "custom_metadata",
        "event_timestamp_ms",
        "remote_log_segment_id",
        "remote_log_segment_state",
    )

    API_KEY = 1
    VERSIONS = (0, 0)
    FLEXIBLE_FROM = 0
    SCHEMA = """
RemoteLogSegmentMetadataUpdateRecord metadata module=storage key=1 versions=0 flexible=0+
  RemoteLogSegmentId RemoteLogSegmentIdEntry 0+
    TopicIdPartition TopicIdPartitionEntry 0+
      Name string 0+
      Id uuid 0+
      Partition int32 0+
    Id uuid 0+
  BrokerId int32 0+
  EventTimestampMs int64 0+
  CustomMetadata bytes 0+ nullable=0+ default=null
  RemoteLogSegmentState int8 0+
"""

    def __init__(
        self,
        *,
        remote_log_segment_id: RemoteLogSegmentIdEntry = DEFAULT,
        broker_id: int = 0,
        event_timestamp_ms: int = 0,
        custom_metadata: bytes | None = None,
        remote_log_segment_state: int = 0,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.remote_log_segment_id: RemoteLogSegmentIdEntry = (
            RemoteLogSegmentIdEntry() if remote_log_segment_id is DEFAULT else remote_log_segment_id
        )
        self.broker_id = broker_id
        self.event_timestamp_ms = event_timestamp_ms
        self.custom_metadata = custom_metadata
        self.remote_log_segment_state = remote_log_segment_state
        self.unknown_tagged_fields = unknown_tagged_fields
