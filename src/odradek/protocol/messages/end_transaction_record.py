"""EndTransactionRecord. Made by tools/make_messages.py from tables/messages.txt."""

from odradek.protocol.message import Message


class EndTransactionRecord(Message):
    __slots__ = ()

    API_KEY = 24
    VERSIONS = (0, 0)
    FLEXIBLE_FROM = 0
    SCHEMA = """
EndTransactionRecord metadata module=metadata key=24 versions=0 flexible=0+
"""

    def __init__(
        self,
        *,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.unknown_tagged_fields = unknown_tagged_fields
