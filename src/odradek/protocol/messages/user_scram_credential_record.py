"""UserScramCredentialRecord. Made by tools/make_messages.py from tables/messages.txt."""

from odradek.protocol.message import Message


class UserScramCredentialRecord(Message):
    __slots__ = (
        "iterations",
        "mechanism",
        "name",
        "salt",
        "server_key",
        "stored_key",
    )

    API_KEY = 11
    VERSIONS = (0, 0)
    FLEXIBLE_FROM = 0
    SCHEMA = """
UserScramCredentialRecord metadata module=metadata key=11 versions=0 flexible=0+
  Name string 0+
  Mechanism int8 0+
  Salt bytes 0+
  StoredKey bytes 0+
  ServerKey bytes 0+
  Iterations int32 0+
"""

    def __init__(
        self,
        *,
        name: str = "",
        mechanism: int = 0,
        salt: bytes = b"",
        stored_key: bytes = b"",
        server_key: bytes = b"",
        iterations: int = 0,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.name = name
        self.mechanism = mechanism
        self.salt = salt
        self.stored_key = stored_key
        self.server_key = server_key
        self.iterations = iterations
        self.unknown_tagged_fields = unknown_tagged_fields
