"""CreatePartitionsResponse. Made by tools/make_messages.py from tables/messages.txt."""

from odradek.protocol.message import DEFAULT, Message


class CreatePartitionsTopicResult(Message):
    __slots__ = (
        "error_code",
        "error_message",
        "name",
    )

    def __init__(
        self,
        *,
        name: str = "",
        error_code: int = 0,
        error_message: str | None = None,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.name = name
        self.error_code = error_code
        self.error_message = error_message
        self.unknown_tagged_fields = unknown_tagged_fields


class CreatePartitionsResponse(Message):
    __slots__ = (
        "results",
        "throttle_time_ms",
    )

    API_KEY = 37
    VERSIONS = (0, 3)
    FLEXIBLE_FROM = 2
    SCHEMA = """
CreatePartitionsResponse response module=clients key=37 versions=0-3 flexible=2+
  ThrottleTimeMs int32 0+
  Results []CreatePartitionsTopicResult 0+
    Name string 0+ entity=topicName
    ErrorCode int16 0+
    ErrorMessage string 0+ nullable=0+ default=null
"""

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        results: list[CreatePartitionsTopicResult] = DEFAULT,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.results: list[CreatePartitionsTopicResult] = [] if results is DEFAULT else results
        self.unknown_tagged_fields = unknown_tagged_fields
