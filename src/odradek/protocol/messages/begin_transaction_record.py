"""BeginTransactionRecord. Made by tools/make_messages.py from tables/messages.txt."""

from odradek.protocol.message import Message


class BeginTransactionRecord(Message):
    __slots__ = ("name",)

    API_KEY = 23
    VERSIONS = (0, 0)
    FLEXIBLE_FROM = 0
    SCHEMA = """
BeginTransactionRecord metadata module=metadata key=23 versions=0 flexible=0+
  Name string 0+ nullable=0+ default=null tag=0
"""

    def __init__(
        self,
        *,
        name: str | None = None,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.name = name
        self.unknown_tagged_fields = unknown_tagged_fields
