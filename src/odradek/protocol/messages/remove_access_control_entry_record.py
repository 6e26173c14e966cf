"""RemoveAccessControlEntryRecord. Made by tools/make_messages.py from tables/messages.txt."""

from odradek.common.ids import ZERO_UUID
from odradek.protocol.message import Message


class RemoveAccessControlEntryRecord(Message):
    __slots__ = ("id",)

    API_KEY = 19
    VERSIONS = (0, 0)
    FLEXIBLE_FROM = 0
    SCHEMA = """
RemoveAccessControlEntryRecord metadata module=metadata key=19 versions=0 flexible=0+
  Id uuid 0+
"""

    def __init__(
        self,
        *,
        id: bytes = ZERO_UUID,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.id = id
        self.unknown_tagged_fields = unknown_tagged_fields
