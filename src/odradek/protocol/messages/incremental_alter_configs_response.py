"""IncrementalAlterConfigsResponse. Made by tools/make_messages.py from tables/messages.txt."""

from odradek.protocol.message import DEFAULT, Message


class AlterConfigsResourceResponse(Message):
    __slots__ = (
        "error_code",
        "error_message",
        "resource_name",
        "resource_type",
    )

    def __init__(
        self,
        *,
        error_code: int = 0,
        error_message: str | None = "",
        resource_type: int = 0,
        resource_name: str = "",
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.error_code = error_code
        self.error_message = error_message
        self.resource_type = resource_type
        self.resource_name = resource_name
        self.unknown_tagged_fields = unknown_tagged_fields


class IncrementalAlterConfigsResponse(Message):
    __slots__ = (
        "responses",
        "throttle_time_ms",
    )

    API_KEY = 44
    VERSIONS = (0, 1)
    FLEXIBLE_FROM = 1
    SCHEMA = """
IncrementalAlterConfigsResponse response module=clients key=44 versions=0-1 flexible=1+
  ThrottleTimeMs int32 0+
  Responses []AlterConfigsResourceResponse 0+
    ErrorCode int16 0+
    ErrorMessage string 0+ nullable=0+
    ResourceType int8 0+
    ResourceName string 0+
"""

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        responses: list[AlterConfigsResourceResponse] = DEFAULT,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.responses: list[AlterConfigsResourceResponse] = [] if responses is DEFAULT else responses
        self.unknown_tagged_fields = unknown_tagged_fields
