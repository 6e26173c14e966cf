"""ControlRecordTypeSchema. Made by tools/make_messages.py from tables/messages.txt."""

from odradek.protocol.message import Message


class ControlRecordTypeSchema(Message):
    __slots__ = ("type",)

    VERSIONS = (0, 0)
    SCHEMA = """
ControlRecordTypeSchema data module=clients versions=0 flexible=none
  Type int16 0+
"""

    def __init__(
        self,
        *,
        type: int = 0,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.type = type
        self.unknown_tagged_fields = unknown_tagged_fields
