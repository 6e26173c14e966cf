"""FenceBrokerRecord. Made by tools/make_messages.py from tables/messages.txt."""

from odradek.protocol.message import Message


class FenceBrokerRecord(Message):
    __slots__ = (
        "epoch",
        "id",
    )

    API_KEY = 7
    VERSIONS = (0, 0)
    FLEXIBLE_FROM = 0
    SCHEMA = """
FenceBrokerRecord metadata module=metadata key=7 versions=0 flexible=0+
  Id int32 0+ entity=brokerId
  Epoch int64 0+
"""

    def __init__(
        self,
        *,
        id: int = 0,
        epoch: int = 0,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.id = id
        self.epoch = epoch
        self.unknown_tagged_fields = unknown_tagged_fields
