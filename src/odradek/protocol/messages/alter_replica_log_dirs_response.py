"""AlterReplicaLogDirsResponse. Made by tools/make_messages.py from tables/messages.txt."""

from odradek.protocol.message import DEFAULT, Message


class AlterReplicaLogDirPartitionResult(Message):
    __slots__ = (
        "error_code",
        "partition_index",
    )

    def __init__(
        self,
        *,
        partition_index: int = 0,
        error_code: int = 0,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.partition_index = partition_index
        self.error_code = error_code
        self.unknown_tagged_fields = unknown_tagged_fields


class AlterReplicaLogDirTopicResult(Message):
    __slots__ = (
        "partitions",
        "topic_name",
    )

    def __init__(
        self,
        *,
        topic_name: str = "",
        partitions: list[AlterReplicaLogDirPartitionResult] = DEFAULT,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.topic_name = topic_name
        self.partitions: list[AlterReplicaLogDirPartitionResult] = [] if partitions is DEFAULT else partitions
        self.unknown_tagged_fields = unknown_tagged_fields


class AlterReplicaLogDirsResponse(Message):
    __slots__ = (
        "results",
        "throttle_time_ms",
    )

    API_KEY = 34
    VERSIONS = (1, 2)
    FLEXIBLE_FROM = 2
    SCHEMA = """
AlterReplicaLogDirsResponse response module=clients key=34 versions=1-2 flexible=2+
  ThrottleTimeMs int32 0+
  Results []AlterReplicaLogDirTopicResult 0+
    TopicName string 0+ entity=topicName
    Partitions []AlterReplicaLogDirPartitionResult 0+
      PartitionIndex int32 0+
      ErrorCode int16 0+
"""

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        results: list[AlterReplicaLogDirTopicResult] = DEFAULT,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.results: list[AlterReplicaLogDirTopicResult] = [] if results is DEFAULT else results
        self.unknown_tagged_fields = unknown_tagged_fields
