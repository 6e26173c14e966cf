"""FetchSnapshotRequest. Made by tools/make_messages.py from tables/messages.txt."""

from odradek.common.ids import ZERO_UUID
from odradek.protocol.message import DEFAULT, Message


class SnapshotId(Message):
    __slots__ = (
        "end_offset",
        "epoch",
    )

    def __init__(
        self,
        *,
        end_offset: int = 0,
        epoch: int = 0,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.end_offset = end_offset
        self.epoch = epoch
        self.unknown_tagged_fields = unknown_tagged_fields


class PartitionSnapshot(Message):
    __slots__ = (
        "current_leader_epoch",
        "partition",
        "position",
        "replica_directory_id",
        "snapshot_id",
    )

    def __init__(
        self,
        *,
        partition: int = 0,
        current_leader_epoch: int = 0,
        snapshot_id: SnapshotId = DEFAULT,
        position: int = 0,
        replica_directory_id: bytes = ZERO_UUID,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.partition = partition
        self.current_leader_epoch = current_leader_epoch
        self.snapshot_id: SnapshotId = SnapshotId() if snapshot_id is DEFAULT else snapshot_id
        self.position = position
        self.replica_directory_id = replica_directory_id
        self.unknown_tagged_fields = unknown_tagged_fields


class TopicSnapshot(Message):
    __slots__ = (
        "name",
        "partitions",
    )

    def __init__(
        self,
        *,
        name: str = "",
        partitions: list[PartitionSnapshot] = DEFAULT,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.name = name
        self.partitions: list[PartitionSnapshot] = [] if partitions is DEFAULT else partitions
        self.unknown_tagged_fields = unknown_tagged_fields


class FetchSnapshotRequest(Message):
    __slots__ = (
        "cluster_id",
        "max_bytes",
        "replica_id",
        "topics",
    )

    API_KEY = 59
    VERSIONS = (0, 1)
    FLEXIBLE_FROM = 0
    SCHEMA = """
FetchSnapshotRequest request module=clients key=59 versions=0-1 flexible=0+
  ClusterId string 0+ nullable=0+ default=null tag=0
  ReplicaId int32 0+ default=-1 entity=brokerId
  MaxBytes int32 0+ default=2147483647
  Topics []TopicSnapshot 0+
    Name string 0+ entity=topicName
    Partitions []PartitionSnapshot 0+
      Partition int32 0+
      CurrentLeaderEpoch int32 0+
      SnapshotId SnapshotId 0+
        EndOffset int64 0+
        Epoch int32 0+
      Position int64 0+
      ReplicaDirectoryId uuid 1+ tag=0 ignorable
"""

    def __init__(
        self,
        *,
        cluster_id: str | None = None,
        replica_id: int = -1,
        max_bytes: int = 2147483647,
        topics: list[TopicSnapshot] = DEFAULT,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.cluster_id = cluster_id
        self.replica_id = replica_id
        self.max_bytes = max_bytes
        self.topics: list[TopicSnapshot] = [] if topics is DEFAULT else topics
        self.unknown_tagged_fields = unknown_tagged_fields
