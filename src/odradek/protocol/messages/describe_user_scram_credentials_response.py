"""DescribeUserScramCredentialsResponse. Made by tools/make_messages.py from tables/messages.txt."""

from odradek.protocol.message import DEFAULT, Message


class CredentialInfo(Message):
    __slots__ = (
        "iterations",
        "mechanism",
    )

    def __init__(
        self,
        *,
        mechanism: int = 0,
        iterations: int = 0,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.mechanism = mechanism
        self.iterations = iterations
        self.unknown_tagged_fields = unknown_tagged_fields


class DescribeUserScramCredentialsResult(Message):
    __slots__ = (
        "credential_infos",
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
        credential_infos: list[CredentialInfo] = DEFAULT,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.user = user
        self.error_code = error_code
        self.error_message = error_message
        self.credential_infos: list[CredentialInfo] = [] if credential_infos is DEFAULT else credential_infos
        self.unknown_tagged_fields = unknown_tagged_fields


class DescribeUserScramCredentialsResponse(Message):
    __slots__ = (
        "error_code",
        "error_message",
        "results",
        "throttle_time_ms",
    )

    API_KEY = 50
    VERSIONS = (0, 0)
    FLEXIBLE_FROM = 0
    SCHEMA = """
DescribeUserScramCredentialsResponse response module=clients key=50 versions=0 flexible=0+
  ThrottleTimeMs int32 0+
  ErrorCode int16 0+
  ErrorMessage string 0+ nullable=0+
  Results []DescribeUserScramCredentialsResult 0+
    User string 0+
    ErrorCode int16 0+
    ErrorMessage string 0+ nullable=0+
    CredentialInfos []CredentialInfo 0+
      Mechanism int8 0+
      Iterations int32 0+
"""

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        error_message: str | None = "",
        results: list[DescribeUserScramCredentialsResult] = DEFAULT,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.error_message = error_message
        self.results: list[DescribeUserScramCredentialsResult] = [] if results is DEFAULT else results
        self.unknown_tagged_fields = unknown_tagged_fields
