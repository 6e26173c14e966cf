"""RemoveDelegationTokenRecord. Made by tools/make_messages.py from tables/messages.txt."""

from odradek.protocol.message import Message


class RemoveDelegationTokenRecord(Message):
    __slots__ = ("token_id",)

    API_KEY = 26
    VERSIONS = (0, 0)
    FLEXIBLE_FROM = 0
    SCHEMA = """
RemoveDelegationTokenRecord metadata module=metadata key=26 versions=0 flexible=0+
  TokenId string 0+
"""

    def __init__(
        self,
        *,
        token_id: str = "",
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.token_id = token_id
        self.unknown_tagged_fields = unknown_tagged_fields
