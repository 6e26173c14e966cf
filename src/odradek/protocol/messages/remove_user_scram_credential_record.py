"""RemoveUserScramCredentialRecord. Made by tools/make_messages.py from tables/messages.txt."""

from odradek.protocol.message import Message


class RemoveUserScramCredentialRecord(Message):
    __slots__ = (
        "mechanism",
        "name",
    )

    API_KEY = 22
    VERSIONS = (0, 0)
    FLEXIBLE_FROM = 0
    SCHEMA = """
RemoveUserScramCredentialRecord metadata module=metadata key=22 versions=0 flexible=0+
  Name string 0+
  Mechanism int8 0+
"""

    def __init__(
        self,
        *,
        name: str = "",
        mechanism: int = 0,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.name = name
        self.mechanism = mechanism
        self.unknown_tagged_fields = unknown_tagged_fields
