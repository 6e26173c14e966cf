"""SaslAuthenticateResponse. Made by tools/make_messages.py from tables/messages.txt."""

from odradek.protocol.message import Message


class SaslAuthenticateResponse(Message):
    __slots__ = (
        "auth_bytes",
        "error_code",
        "error_message",
        "session_lifetime_ms",
    )

    API_KEY = 36
    VERSIONS = (0, 2)
    FLEXIBLE_FROM = 2
    SCHEMA = """
SaslAuthenticateResponse response module=clients key=36 versions=0-2 flexible=2+
  ErrorCode int16 0+
  ErrorMessage string 0+ nullable=0+
  AuthBytes bytes 0+
  SessionLifetimeMs int64 1+ ignorable
"""

    def __init__(
        self,
        *,
        error_code: int = 0,
        error_message: str | None = "",
        auth_bytes: bytes = b"",
        session_lifetime_ms: int = 0,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.error_code = error_code
        self.error_message = error_message
        self.auth_bytes = auth_bytes
        self.session_lifetime_ms = session_lifetime_ms
        self.unknown_tagged_fields = unknown_tagged_fields
