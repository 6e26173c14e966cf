"""AlterPartitionReassignmentsResponse. Made by tools/make_messages.py from tables/messages.txt."""

from odradek.protocol.message import DEFAULT, Message


class ReassignablePartitionResponse(Message):
    __slots__ = (
        "error_code",
        "error_message",
        "partition_index",
    )

    def __init__(
        self,
        *,
        partition_index: int = 0,
        error_code: int = 0,
        error_message: str | None = "",
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.partition_index = partition_index
        self.error_code = error_code
        self.error_message = error_message
        self.unknown_tagged_fields = unknown_tagged_fields


class ReassignableTopicResponse(Message):
    __slots__ = (
        "name",
        "partitions",
    )

    def __init__(
        self,
        *,
        name: str = "",
        partitions: list[ReassignablePartitionResponse] = DEFAULT,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.name = name
        self.partitions: list[ReassignablePartitionResponse] = [] if partitions is DEFAULT else partitions
        self.unknown_tagged_fields = unknown_tagged_fields


class AlterPartitionReassignmentsResponse(Message):
    __slots__ = (
        "allow_replication_factor_change",
        "error_code",
        "error_message",
        "responses",
        "throttle_time_ms",
    )

    API_KEY = 45
    VERSIONS = (0, 1)
    FLEXIBLE_FROM = 0
    SCHEMA = """
AlterPartitionReassignmentsResponse response module=clients key=45 versions=0-1 flexible=0+
  ThrottleTimeMs int32 0+
  AllowReplicationFactorChange bool 1+ default=true ignorable
  ErrorCode int16 0+
  ErrorMessage string 0+ nullable=0+
  Responses []ReassignableTopicResponse 0+
    Name string 0+ entity=topicName
    Partitions []ReassignablePartitionResponse 0+
      PartitionIndex int32 0+
      ErrorCode int16 0+
      ErrorMessage string 0+ nullable=0+
"""

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        allow_replication_factor_change: bool = True,
        error_code: int = 0,
        error_message: str | None = "",
        responses: list[ReassignableTopicResponse] = DEFAULT,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.allow_replication_factor_change = allow_replication_factor_change
        self.error_code = error_code
        self.error_message = error_message
        self.responses: list[ReassignableTopicResponse] = [] if responses is DEFAULT else responses
        self.unknown_tagged_fields = unknown_tagged_fields
