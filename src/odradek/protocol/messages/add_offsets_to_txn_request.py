"""AddOffsetsToTxnRequest. Made by tools/make_messages.py from tables/messages.txt."""

from odradek.protocol.message import Message


class AddOffsetsToTxnRequest(Message):
    __slots__ = (
        "group_id",
        "producer_epoch",
        "producer_id",
        "transactional_id",
    )

    API_KEY = 25
    VERSIONS = (0, 4)
    FLEXIBLE_FROM = 3
    SCHEMA = """
AddOffsetsToTxnRequest request module=clients key=25 versions=0-4 flexible=3+
  TransactionalId string 0+ entity=transactionalId
  ProducerId int64 0+ entity=producerId
  ProducerEpoch int16 0+
  GroupId string 0+ entity=groupId
"""

    def __init__(
        self,
        *,
        transactional_id: str = "",
        producer_id: int = 0,
        producer_epoch: int = 0,
        group_id: str = "",
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.transactional_id = transactional_id
        self.producer_id = producer_id
        self.producer_epoch = producer_epoch
        self.group_id = group_id
        self.unknown_tagged_fields = unknown_tagged_fields
