"""InitializeShareGroupStateResponse. Made by tools/make_messages.py from tables/messages.txt."""

from odradek.common.ids import ZERO_UUID
from odradek.protocol.message import DEFAULT, Message


class PartitionResult(Message):
    __slots__ = (
        "error_code",
        "error_message",
        "partition",
    )

    def __init__(
        self,
        *,
        partition: int = 0,
        error_code: int = 0,
        error_message: str | None = None,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.partition = partition
        self.error_code = error_code
        self.error_message = error_message
        self.unknown_tagged_fields = unknown_tagged_fields


class InitializeStateResult(Message):
    __slots__ = (
        "partitions",
        "topic_id",
    )

    def __init__(
        self,
        *,
        topic_id: bytes = ZERO_UUID,
        partitions: list[PartitionResult] = DEFAULT,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.topic_id = topic_id
        self.partitions: list[PartitionResult] = [] if partitions is DEFAULT else partitions
        self.unknown_tagged_fields = unknown_tagged_fields


class InitializeShareGroupStateResponse(Message):
    __slots__ = ("results",)

    API_KEY = 83
    VERSIONS = (0, 0)
    FLEXIBLE_FROM = 0
    SCHEMA = """
InitializeShareGroupStateResponse response module=clients key=83 versions=0 flexible=0+
  Results []InitializeStateResult 0+
    TopicId uuid 0+
    Partitions []PartitionResult 0+
      Partition int32 0+
      ErrorCode int16 0+
      ErrorMessage string 0+ nullable=0+ default=null
"""

    def __init__(
        self,
        *,
        results: list[InitializeStateResult] = DEFAULT,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.results: list[InitializeStateResult] = [] if results is DEFAULT else results
        self.unknown_tagged_fields = unknown_tagged_fields
