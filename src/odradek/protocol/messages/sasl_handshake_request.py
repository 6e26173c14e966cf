"""SaslHandshakeRequest. Made by tools/make_messages.py from tables/messages.txt."""

from odradek.protocol.message import Message


class SaslHandshakeRequest(Message):
    __slots__ = ("mechanism",)

    API_KEY = 17
    VERSIONS = (0, 1)
    SCHEMA = """
SaslHandshakeRequest request module=clients key=17 versions=0-1 flexible=none
  Mechanism string 0+
"""

    def __init__(
        self,
        *,
        mechanism: str = "",
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.mechanism = mechanism
        self.unknown_tagged_fields = unknown_tagged_fields
