"""DeleteTopicsResponse. Made by tools/make_messages.py from tables/messages.txt."""

from odradek.common.ids import ZERO_UUID
from odradek.protocol.message import DEFAULT, Message


class DeletableTopicResult(Message):
    __slots__ = (
        "error_code",
        "error_message",
        "name",
        "topic_id",
    )

    def __init__(
        self,
        *,
        name: str | None = "",
        topic_id: bytes = ZERO_UUID,
        error_code: int = 0,
        error_message: str | None = None,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.name = name
        self.topic_id = topic_id
        self.error_code = error_code
        self.error_message = error_message
        self.unknown_tagged_fields = unknown_tagged_fields


class DeleteTopicsResponse(Message):
    __slots__ = (
        "responses",
        "throttle_time_ms",
    )

    API_KEY = 20
    VERSIONS = (1, 6)
    FLEXIBLE_FROM = 4
    SCHEMA = """
DeleteTopicsResponse response module=clients key=20 versions=1-6 flexible=4+
  ThrottleTimeMs int32 1+ ignorable
  Responses []DeletableTopicResult 0+
    Name string 0+ nullable=6+ key entity=topicName
    TopicId uuid 6+ ignorable
    ErrorCode int16 0+
    ErrorMessage string 5+ nullable=5+ default=null ignorable
"""

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        responses: list[DeletableTopicResult] = DEFAULT,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.responses: list[DeletableTopicResult] = [] if responses is DEFAULT else responses
        self.unknown_tagged_fields = unknown_tagged_fields
