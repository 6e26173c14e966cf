"""SaslAuthenticateRequest. Made by tools/make_messages.py from tables/messages.txt."""

from odradek.protocol.message import Message


class SaslAuthenticateRequest(Message):
    __slots__ = ("auth_bytes",)

    API_KEY = 36
    VERSIONS = (0, 2)
    FLEXIBLE_FROM = 2
    SCHEMA = """
SaslAuthenticateRequest request module=clients key=36 versions=0-2 flexible=2+
  AuthBytes bytes 0+
"""

    def __init__(
        self,
        *,
        auth_bytes: bytes = b"",
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.auth_bytes = auth_bytes
        self.unknown_tagged_fields = unknown_tagged_fields
