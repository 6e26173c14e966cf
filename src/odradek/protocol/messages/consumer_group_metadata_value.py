"""ConsumerGroupMetadataValue. Made by tools/make_messages.py from tables/messages.txt."""

from odradek.protocol.message import Message


class ConsumerGroupMetadataValue(Message):
    __slots__ = (
        "epoch",
        "metadata_hash",
    )

    API_KEY = 3
    VERSIONS = (0, 0)
    FLEXIBLE_FROM = 0
    SCHEMA = """
ConsumerGroupMetadataValue coordinator-value module=group-coordinator key=3 versions=0 flexible=0+
  Epoch int32 0+
  MetadataHash int64 0+ tag=0
"""

    def __init__(
        self,
        *,
        epoch: int = 0,
        metadata_hash: int = 0,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.epoch = epoch
        self.metadata_hash = metadata_hash
        self.unknown_tagged_fields = unknown_tagged_fields
