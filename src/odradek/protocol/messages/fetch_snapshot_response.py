"""FetchSnapshotResponse. Made by tools/make_messages.py from tables/messages.txt."""

from odradek.common.ports import Buffer
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


class LeaderIdAndEpoch(Message):
    __slots__ = (
        "leader_epoch",
        "leader_id",
    )

    def __init__(
        self,
        *,
        leader_id: int = 0,
        leader_epoch: int = 0,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.leader_id = leader_id
        self.leader_epoch = leader_epoch
        self.unknown_tagged_fields = unknown_tagged_fields


class PartitionSnapshot(Message):
    __slots__ = (
        "current_leader",
        "error_code",
        "index",
        "position",
        "size",
        "snapshot_id",
        "unaligned_records",
    )

    def __init__(
        self,
        *,
        index: int = 0,
        error_code: int = 0,
        snapshot_id: SnapshotId = DEFAULT,
        current_leader: LeaderIdAndEpoch = DEFAULT,
        size: int = 0,
        position: int = 0,
        unaligned_records: Buffer = b"",
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.index = index
        self.error_code = error_code
        self.snapshot_id: SnapshotId = SnapshotId() if snapshot_id is DEFAULT else snapshot_id
        self.current_leader: LeaderIdAndEpoch = LeaderIdAndEpoch() if current_leader is DEFAULT else current_leader
        self.size = size
        self.position = position
        self.unaligned_records = unaligned_records
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


class NodeEndpoint(Message):
    __slots__ = (
        "host",
        "node_id",
        "port",
    )

    def __init__(
        self,
        *,
        node_id: int = 0,
        host: str = "",
        port: int = 0,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.node_id = node_id
        self.host = host
        self.port = port
        self.unknown_tagged_fields = unknown_tagged_fields


class FetchSnapshotResponse(Message):
    __slots__ = (
        "error_code",
        "node_endpoints",
        "throttle_time_ms",
        "topics",
    )

    API_KEY = 59
    VERSIONS = (0, 1)
    FLEXIBLE_FROM = 0
    SCHEMA = """
FetchSnapshotResponse response module=clients key=59 versions=0-1 flexible=0+
  ThrottleTimeMs int32 0+ ignorable
  ErrorCode int16 0+
  Topics []TopicSnapshot 0+
    Name string 0+ entity=topicName
    Partitions []PartitionSnapshot 0+
      Index int32 0+
      ErrorCode int16 0+
      SnapshotId SnapshotId 0+
        EndOffset int64 0+
        Epoch int32 0+
      CurrentLeader LeaderIdAndEpoch 0+ tag=0
        LeaderId int32 0+ entity=brokerId
        LeaderEpoch int32 0+
      Size int64 0+
      Position int64 0+
      UnalignedRecords records 0+
  NodeEndpoints []NodeEndpoint 1+ tag=0
    NodeId int32 1+ key entity=brokerId
    Host string 1+
    Port uint16 1+
"""

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        topics: list[TopicSnapshot] = DEFAULT,
        node_endpoints: list[NodeEndpoint] = DEFAULT,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.topics: list[TopicSnapshot] = [] if topics is DEFAULT else topics
        self.node_endpoints: list[NodeEndpoint] = [] if node_endpoints is DEFAULT else node_endpoints
        self.unknown_tagged_fields = unknown_tagged_fields
