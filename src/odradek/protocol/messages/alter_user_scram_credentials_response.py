"""AlterUserScramCredentialsResponse. Made by tools/make_messages.py from tables/messages.txt."""

from odradek.protocol.message import DEFAULT, Message


class AlterUserScramCredentialsResult(Message):
    __slots__ = (
        "error_code",
        "error_message",
        "user",
    )

    def __init__(
        self,
        *,
        user: str = "",
        error_code: int = 0,
        error_message: str | None = "",
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.user = user
        self.error_code = error_code
        self.error_message = error_message
        self.unknown_tagged_fields = unknown_tagged_fields


class AlterUserScramCredentialsResponse(Message):
    __slots__ = (
        "results",
        "throttle_time_ms",
    )

    API_KEY = 51
    VERSIONS = (0, 0)
    FLEXIBLE_FROM = 0
    SCHEMA = """
AlterUserScramCredentialsResponse response module=clients key=51 versions=0 flexible=0+
  ThrottleTimeMs int32 0+
  Results []AlterUserScramCredentialsResult 0+
    User string 0+
    ErrorCode int16 0+
    ErrorMessage string 0+ nullable=0+
"""

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        results: list[AlterUserScramCredentialsResult] = DEFAULT,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.results: list[AlterUserScramCredentialsResult] = [] if results is DEFAULT else results
        self.unknown_tagged_fields = unknown_tagged_fields
