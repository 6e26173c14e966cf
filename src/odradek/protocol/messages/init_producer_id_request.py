"""InitProducerIdRequest. Made by tools/make_messages.py from tables/messages.txt."""

from odradek.protocol.message import Message


class InitProducerIdRequest(Message):
    __slots__ = (
        "enable2_pc",
        "keep_prepared_txn",
        "producer_epoch",
        "producer_id",
        "transaction_timeout_ms",
        "transactional_id",
    )

    API_KEY = 22
    VERSIONS = (0, 6)
    FLEXIBLE_FROM = 2
    SCHEMA = """
InitProducerIdRequest request module=clients key=22 versions=0-6 flexible=2+
  TransactionalId string 0+ nullable=0+ entity=transactionalId
  TransactionTimeoutMs int32 0+
  ProducerId int64 3+ default=-1 entity=producerId
  ProducerEpoch int16 3+ default=-1
  Enable2Pc bool 6+
  KeepPreparedTxn bool 6+
"""

    def __init__(
        self,
        *,
        transactional_id: str | None = "",
        transaction_timeout_ms: int = 0,
        producer_id: int = -1,
        producer_epoch: int = -1,
        enable2_pc: bool = False,
        keep_prepared_txn: bool = False,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.transactional_id = transactional_id
        self.transaction_timeout_ms = transaction_timeout_ms
        self.producer_id = producer_id
        self.producer_epoch = producer_epoch
        self.enable2_pc = enable2_pc
        self.keep_prepared_txn = keep_prepared_txn
        self.unknown_tagged_fields = unknown_tagged_fields
