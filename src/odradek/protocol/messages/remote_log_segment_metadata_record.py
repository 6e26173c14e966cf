"""RemoteLogSegmentMetadataRecord. Made by tools/make_messages.py from tables/messages.txt."""

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


class SegmentLeaderEpochEntry(Message):
    __slots__ = (
        "leader_epoch",
        "offset",
    )

    def __init__(
        self,
        *,
        leader_epoch: int = 0,
        offset: int = 0,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.leader_epoch = leader_epoch
        self.offset = offset
        self.unknown_tagged_fields = unknown_tagged_fields


class RemoteLogSegmentMetadataRecord(Message):
    __slots__ = (
        "broker_id",
        "custom_metadata",
        "end_offset",
        "event_timestamp_ms",
        "max_timestamp_ms",
        "remote_log_segment_id",
        "remote_log_segment_state",
        "segment_leader_epochs",
        "segment_size_in_bytes",
        "start_offset",
        "txn_index_empty",
    )

    API_KEY = 0
    VERSIONS = (0, 0)
    FLEXIBLE_FROM = 0
    SCHEMA = """
RemoteLogSegmentMetadataRecord metadata module=storage key=0 versions=0 flexible=0+
  RemoteLogSegmentId RemoteLogSegmentIdEntry 0+
    TopicIdPartition TopicIdPartitionEntry 0+
      Name string 0+
      Id uuid 0+
      Partition int32 0+
    Id uuid 0+
  StartOffset int64 0+
  EndOffset int64 0+
  BrokerId int32 0+
  MaxTimestampMs int64 0+
  EventTimestampMs int64 0+
  SegmentLeaderEpochs []SegmentLeaderEpochEntry 0+
    LeaderEpoch int32 0+
    Offset int64 0+
  SegmentSizeInBytes int32 0+
  CustomMetadata bytes 0+ nullable=0+ default=null
  RemoteLogSegmentState int8 0+
  TxnIndexEmpty bool 0+ tag=0
"""

    def __init__(
        self,
        *,
        remote_log_segment_id: RemoteLogSegmentIdEntry = DEFAULT,
        start_offset: int = 0,
        end_offset: int = 0,
        broker_id: int = 0,
        max_timestamp_ms: int = 0,
        event_timestamp_ms: int = 0,
        segment_leader_epochs: list[SegmentLeaderEpochEntry] = DEFAULT,
        segment_size_in_bytes: int = 0,
        custom_metadata: bytes | None = None,
        remote_log_segment_state: int = 0,
        txn_index_empty: bool = False,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.remote_log_segment_id: RemoteLogSegmentIdEntry = (
            RemoteLogSegmentIdEntry() if remote_log_segment_id is DEFAULT else remote_log_segment_id
        )
        self.start_offset = start_offset
        self.end_offset = end_offset
        self.broker_id = broker_id
        self.max_timestamp_ms = max_timestamp_ms
        self.event_timestamp_ms = event_timestamp_ms
        self.segment_leader_epochs: list[SegmentLeaderEpochEntry] = (
            [] if segment_leader_epochs is DEFAULT else segment_leader_epochs
        )
        self.segment_size_in_bytes = segment_size_in_bytes
        self.custom_metadata = custom_metadata
        self.remote_log_segment_state = remote_log_segment_state
        self.txn_index_empty = txn_index_empty
        self.unknown_tagged_fields = unknown_tagged_fields
