"""AbortTransactionRecord. Made by tools/make_messages.py from tables/messages.txt."""

from odradek.protocol.message import Message


class AbortTransactionRecord(Message):
    __slots__ = ("reason",)

    API_KEY = 25
    VERSIONS = (0, 0)
    FLEXIBLE_FROM = 0
    SCHEMA = """
AbortTransactionRecord metadata module=metadata key=25 versions=0 flexible=0+
  Reason string 0+ nullable=0+ default=null tag=0
"""

    def __init__(
        self,
        *,
        reason: str | None = None,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.reason = reason
        self.unknown_tagged_fields = unknown_tagged_fields
