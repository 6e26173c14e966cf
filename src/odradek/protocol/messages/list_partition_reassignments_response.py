"""ListPartitionReassignmentsResponse. Made by tools/make_messages.py from tables/messages.txt."""

from odradek.protocol.message import DEFAULT, Message


class OngoingPartitionReassignment(Message):
    __slots__ = (
        "adding_replicas",
        "partition_index",
        "removing_replicas",
        "replicas",
    )

    def __init__(
        self,
        *,
        partition_index: int = 0,
        replicas: list[int] = DEFAULT,
        adding_replicas: list[int] = DEFAULT,
        removing_replicas: list[int] = DEFAULT,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.partition_index = partition_index
        self.replicas: list[int] = [] if replicas is DEFAULT else replicas
        self.adding_replicas: list[int] = [] if adding_replicas is DEFAULT else adding_replicas
        self.removing_replicas: list[int] = [] if removing_replicas is DEFAULT else removing_replicas
        self.unknown_tagged_fields = unknown_tagged_fields


class OngoingTopicReassignment(Message):
    __slots__ = (
        "name",
        "partitions",
    )

    def __init__(
        self,
        *,
        name: str = "",
        partitions: list[OngoingPartitionReassignment] = DEFAULT,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.name = name
        self.partitions: list[OngoingPartitionReassignment] = [] if partitions is DEFAULT else partitions
        self.unknown_tagged_fields = unknown_tagged_fields


class ListPartitionReassignmentsResponse(Message):
    __slots__ = (
        "error_code",
        "error_message",
        "throttle_time_ms",
        "topics",
    )

    API_KEY = 46
    VERSIONS = (0, 0)
    FLEXIBLE_FROM = 0
    SCHEMA = """
ListPartitionReassignmentsResponse response module=clients key=46 versions=0 flexible=0+
  ThrottleTimeMs int32 0+
  ErrorCode int16 0+
  ErrorMessage string 0+ nullable=0+
  Topics []OngoingTopicReassignment 0+
    Name string 0+ entity=topicName
    Partitions []OngoingPartitionReassignment 0+
      PartitionIndex int32 0+
      Replicas []int32 0+ entity=brokerId
      AddingReplicas []int32 0+ entity=brokerId
      RemovingReplicas []int32 0+ entity=brokerId
"""

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        error_message: str | None = "",
        topics: list[OngoingTopicReassignment] = DEFAULT,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.error_message = error_message
        self.topics: list[OngoingTopicReassignment] = [] if topics is DEFAULT else topics
        self.unknown_tagged_fields = unknown_tagged_fields
