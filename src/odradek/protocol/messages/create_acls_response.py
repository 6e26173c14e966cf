"""CreateAclsResponse. Made by tools/make_messages.py from tables/messages.txt."""

from odradek.protocol.message import DEFAULT, Message


class AclCreationResult(Message):
    __slots__ = (
        "error_code",
        "error_message",
    )

    def __init__(
        self,
        *,
        error_code: int = 0,
        error_message: str | None = "",
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.error_code = error_code
        self.error_message = error_message
        self.unknown_tagged_fields = unknown_tagged_fields


class CreateAclsResponse(Message):
    __slots__ = (
        "results",
        "throttle_time_ms",
    )

    API_KEY = 30
    VERSIONS = (1, 3)
    FLEXIBLE_FROM = 2
    SCHEMA = """
CreateAclsResponse response module=clients key=30 versions=1-3 flexible=2+
  ThrottleTimeMs int32 0+
  Results []AclCreationResult 0+
    ErrorCode int16 0+
    ErrorMessage string 0+ nullable=0+
"""

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        results: list[AclCreationResult] = DEFAULT,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.results: list[AclCreationResult] = [] if results is DEFAULT else results
        self.unknown_tagged_fields = unknown_tagged_fields
