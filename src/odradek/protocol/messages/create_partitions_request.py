"""CreatePartitionsRequest. Made by tools/make_messages.py from tables/messages.txt."""

from odradek.protocol.message import DEFAULT, Message


class CreatePartitionsAssignment(Message):
    __slots__ = ("broker_ids",)

    def __init__(
        self,
        *,
        broker_ids: list[int] = DEFAULT,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.broker_ids: list[int] = [] if broker_ids is DEFAULT else broker_ids
        self.unknown_tagged_fields = unknown_tagged_fields


class CreatePartitionsTopic(Message):
    __slots__ = (
        "assignments",
        "count",
        "name",
    )

    def __init__(
        self,
        *,
        name: str = "",
        count: int = 0,
        assignments: list[CreatePartitionsAssignment] | None = DEFAULT,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.name = name
        self.count = count
        self.assignments: list[CreatePartitionsAssignment] | None = [] if assignments is DEFAULT else assignments
        self.unknown_tagged_fields = unknown_tagged_fields


class CreatePartitionsRequest(Message):
    __slots__ = (
        "timeout_ms",
        "topics",
        "validate_only",
    )

    API_KEY = 37
    VERSIONS = (0, 3)
    FLEXIBLE_FROM = 2
    SCHEMA = """
CreatePartitionsRequest request module=clients key=37 versions=0-3 flexible=2+
  Topics []CreatePartitionsTopic 0+
    Name string 0+ key entity=topicName
    Count int32 0+
    Assignments []CreatePartitionsAssignment 0+ nullable=0+
      BrokerIds []int32 0+ entity=brokerId
  TimeoutMs int32 0+
  ValidateOnly bool 0+
"""

    def __init__(
        self,
        *,
        topics: list[CreatePartitionsTopic] = DEFAULT,
        timeout_ms: int = 0,
        validate_only: bool = False,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.topics: list[CreatePartitionsTopic] = [] if topics is DEFAULT else topics
        self.timeout_ms = timeout_ms
        self.validate_only = validate_only
        self.unknown_tagged_fields = unknown_tagged_fields
