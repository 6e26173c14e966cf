"""EndTxnMarker. Made by tools/make_messages.py from tables/messages.txt."""

from odradek.protocol.message import Message


class EndTxnMarker(Message):
    __slots__ = ("coordinator_epoch",)

    VERSIONS = (0, 0)
    SCHEMA = """
EndTxnMarker data module=clients versions=0 flexible=none
  CoordinatorEpoch int32 0+
"""

    def __init__(
        self,
        *,
        coordinator_epoch: int = 0,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.coordinator_epoch = coordinator_epoch
        self.unknown_tagged_fields = unknown_tagged_fields
