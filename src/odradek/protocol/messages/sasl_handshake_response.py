"""SaslHandshakeResponse. Made by tools/make_messages.py from tables/messages.txt."""

from odradek.protocol.message import DEFAULT, Message


class SaslHandshakeResponse(Message):
    __slots__ = (
        "error_code",
        "mechanisms",
    )

    API_KEY = 17
    VERSIONS = (0, 1)
    SCHEMA = """
SaslHandshakeResponse response module=clients key=17 versions=0-1 flexible=none
  ErrorCode int16 0+
  Mechanisms []string 0+
"""

    def __init__(
        self,
        *,
        error_code: int = 0,
        mechanisms: list[str] = DEFAULT,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.error_code = error_code
        self.mechanisms: list[str] = [] if mechanisms is DEFAULT else mechanisms
        self.unknown_tagged_fields = unknown_tagged_fields
