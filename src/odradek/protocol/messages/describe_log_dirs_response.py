"""DescribeLogDirsResponse. Made by tools/make_messages.py from tables/messages.txt."""

from odradek.protocol.message import DEFAULT, Message


class DescribeLogDirsPartition(Message):
    __slots__ = (
        "is_future_key",
        "offset_lag",
        "partition_index",
        "partition_size",
    )

    def __init__(
        self,
        *,
        partition_index: int = 0,
        partition_size: int = 0,
        offset_lag: int = 0,
        is_future_key: bool = False,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.partition_index = partition_index
        self.partition_size = partition_size
        self.offset_lag = offset_lag
        self.is_future_key = is_future_key
        self.unknown_tagged_fields = unknown_tagged_fields


class DescribeLogDirsTopic(Message):
    __slots__ = (
        "name",
        "partitions",
    )

    def __init__(
        self,
        *,
        name: str = "",
        partitions: list[DescribeLogDirsPartition] = DEFAULT,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.name = name
        self.partitions: list[DescribeLogDirsPartition] = [] if partitions is DEFAULT else partitions
        self.unknown_tagged_fields = unknown_tagged_fields


class DescribeLogDirsResult(Message):
    __slots__ = (
        "error_code",
        "is_cordoned",
        "log_dir",
        "topics",
        "total_bytes",
        "usable_bytes",
    )

    def __init__(
        self,
        *,
        error_code: int = 0,
        log_dir: str = "",
        topics: list[DescribeLogDirsTopic] = DEFAULT,
        total_bytes: int = -1,
        usable_bytes: int = -1,
        is_cordoned: bool = False,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.error_code = error_code
        self.log_dir = log_dir
        self.topics: list[DescribeLogDirsTopic] = [] if topics is DEFAULT else topics
        self.total_bytes = total_bytes
        self.usable_bytes = usable_bytes
        self.is_cordoned = is_cordoned
        self.unknown_tagged_fields = unknown_tagged_fields


class DescribeLogDirsResponse(Message):
    __slots__ = (
        "error_code",
        "results",
        "throttle_time_ms",
    )

    API_KEY = 35
    VERSIONS = (1, 5)
    FLEXIBLE_FROM = 2
    SCHEMA = """
DescribeLogDirsResponse response module=clients key=35 versions=1-5 flexible=2+
  ThrottleTimeMs int32 0+
  ErrorCode int16 3+ ignorable
  Results []DescribeLogDirsResult 0+
    ErrorCode int16 0+
    LogDir string 0+
    Topics []DescribeLogDirsTopic 0+
      Name string 0+ entity=topicName
      Partitions []DescribeLogDirsPartition 0+
        PartitionIndex int32 0+
        PartitionSize int64 0+
        OffsetLag int64 0+
        IsFutureKey bool 0+
    TotalBytes int64 4+ default=-1 ignorable
    UsableBytes int64 4+ default=-1 ignorable
    IsCordoned bool 5+ ignorable
"""

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        results: list[DescribeLogDirsResult] = DEFAULT,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.results: list[DescribeLogDirsResult] = [] if results is DEFAULT else results
        self.unknown_tagged_fields = unknown_tagged_fields
