"""AbortedTxn. Made by tools/make_messages.py from tables/messages.txt."""

from odradek.protocol.message import Message


class AbortedTxn(Message):
    __slots__ = (
        "first_offset",
        "last_offset",
        "last_stable_offset",
        "producer_id",
    )

    VERSIONS = (0, 0)
    SCHEMA = """
AbortedTxn data module=clients versions=0 flexible=none
  ProducerId int64 0+
  FirstOffset int64 0+
  LastOffset int64 0+
  LastStableOffset int64 0+
"""

    def __init__(
        self,
        *,
        producer_id: int = 0,
        first_offset: int = 0,
        last_offset: int = 0,
        last_stable_offset: int = 0,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.producer_id = producer_id
        self.first_offset = first_offset
        self.last_offset = last_offset
        self.last_stable_offset = last_stable_offset
        self.unknown_tagged_fields = unknown_tagged_fields
