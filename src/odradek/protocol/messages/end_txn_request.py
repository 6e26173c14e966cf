"""EndTxnRequest. Made by tools/make_messages.py from tables/messages.txt."""

from odradek.protocol.message import Message


class EndTxnRequest(Message):
    __slots__ = (
        "committed",
        "producer_epoch",
        "producer_id",
        "transactional_id",
    )

    API_KEY = 26
    VERSIONS = (0, 5)
    FLEXIBLE_FROM = 3
    SCHEMA = """
EndTxnRequest request module=clients key=26 versions=0-5 flexible=3+
  TransactionalId string 0+ entity=transactionalId
  ProducerId int64 0+ entity=producerId
  ProducerEpoch int16 0+
  Committed bool 0+
"""

    def __init__(
        self,
        *,
        transactional_id: str = "",
        producer_id: int = 0,
        producer_epoch: int = 0,
        committed: bool = False,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.transactional_id = transactional_id
        self.producer_id = producer_id
        self.producer_epoch = producer_epoch
        self.committed = committed
        self.unknown_tagged_fields = unknown_tagged_fields
