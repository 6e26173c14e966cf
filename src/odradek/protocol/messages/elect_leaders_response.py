"""ElectLeadersResponse. Made by tools/make_messages.py from tables/messages.txt."""

from odradek.protocol.message import DEFAULT, Message


class PartitionResult(Message):
    __slots__ = (
        "error_code",
        "error_message",
        "partition_id",
    )

    def __init__(
        self,
        *,
        partition_id: int = 0,
        error_code: int = 0,
        error_message: str | None = "",
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.partition_id = partition_id
        self.error_code = error_code
        self.error_message = error_message
        self.unknown_tagged_fields = unknown_tagged_fields


class ReplicaElectionResult(Message):
    __slots__ = (
        "partition_result",
        "topic",
    )

    def __init__(
        self,
        *,
        topic: str = "",
        partition_result: list[PartitionResult] = DEFAULT,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.topic = topic
        self.partition_result: list[PartitionResult] = [] if partition_result is DEFAULT else partition_result
        self.unknown_tagged_fields = unknown_tagged_fields


class ElectLeadersResponse(Message):
    __slots__ = (
        "error_code",
        "replica_election_results",
        "throttle_time_ms",
    )

    API_KEY = 43
    VERSIONS = (0, 2)
    FLEXIBLE_FROM = 2
    SCHEMA = """
ElectLeadersResponse response module=clients key=43 versions=0-2 flexible=2+
  ThrottleTimeMs int32 0+
  ErrorCode int16 1+
  ReplicaElectionResults []ReplicaElectionResult 0+
    Topic string 0+ entity=topicName
    PartitionResult []PartitionResult 0+
      PartitionId int32 0+
      ErrorCode int16 0+
      ErrorMessage string 0+ nullable=0+
"""

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        replica_election_results: list[ReplicaElectionResult] = DEFAULT,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.replica_election_results: list[ReplicaElectionResult] = (
            [] if replica_election_results is DEFAULT else replica_election_results
        )
        self.unknown_tagged_fields = unknown_tagged_fields
