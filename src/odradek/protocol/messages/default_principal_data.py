"""DefaultPrincipalData. Made by tools/make_messages.py from tables/messages.txt."""

from odradek.protocol.message import Message


class DefaultPrincipalData(Message):
    __slots__ = (
        "name",
        "token_authenticated",
        "type",
    )

    VERSIONS = (0, 0)
    FLEXIBLE_FROM = 0
    SCHEMA = """
DefaultPrincipalData data module=clients versions=0 flexible=0+
  Type string 0+
  Name string 0+
  TokenAuthenticated bool 0+
"""

    def __init__(
        self,
        *,
        type: str = "",
        name: str = "",
        token_authenticated: bool = False,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.type = type
        self.name = name
        self.token_authenticated = token_authenticated
        self.unknown_tagged_fields = unknown_tagged_fields
