"""SnapshotFooterRecord. Made by tools/make_messages.py from tables/messages.txt."""

from odradek.protocol.message import Message


class SnapshotFooterRecord(Message):
    __slots__ = ("version",)

    VERSIONS = (0, 0)
    FLEXIBLE_FROM = 0
    SCHEMA = """
SnapshotFooterRecord data module=clients versions=0 flexible=0+
  Version int16 0+
"""

    def __init__(
        self,
        *,
        version: int = 0,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.version = version
        self.unknown_tagged_fields = unknown_tagged_fields
