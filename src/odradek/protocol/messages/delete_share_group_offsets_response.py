"""DeleteShareGroupOffsetsResponse. Made by tools/make_messages.py from tables/messages.txt."""

from odradek.common.ids import ZERO_UUID
from odradek.protocol.message import DEFAULT, Message


class DeleteShareGroupOffsetsResponseTopic(Message):
    __slots__ = (
        "error_code",
        "error_message",
        "topic_id",
        "topic_name",
    )

    def __init__(
        self,
        *,
        topic_name: str = "",
        topic_id: bytes = ZERO_UUID,
        error_code: int = 0,
        error_message: str | None = None,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.topic_name = topic_name
        self.topic_id = topic_id
        self.error_code = error_code
        self.error_message = error_message
        self.unknown_tagged_fields = unknown_tagged_fields


class DeleteShareGroupOffsetsResponse(Message):
    __slots__ = (
        "error_code",
        "error_message",
        "responses",
        "throttle_time_ms",
    )

    API_KEY = 92
    VERSIONS = (0, 0)
    FLEXIBLE_FROM = 0
    SCHEMA = """
DeleteShareGroupOffsetsResponse response module=clients key=92 versions=0 flexible=0+
  ThrottleTimeMs int32 0+
  ErrorCode int16 0+
  ErrorMessage string 0+ nullable=0+ default=null
  Responses []DeleteShareGroupOffsetsResponseTopic 0+
    TopicName string 0+ entity=topicName
    TopicId uuid 0+
    ErrorCode int16 0+
    ErrorMessage string 0+ nullable=0+ default=null
"""

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        error_message: str | None = None,
        responses: list[DeleteShareGroupOffsetsResponseTopic] = DEFAULT,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.error_message = error_message
        self.responses: list[DeleteShareGroupOffsetsResponseTopic] = [] if responses is DEFAULT else responses
        self.unknown_tagged_fields = unknown_tagged_fields
