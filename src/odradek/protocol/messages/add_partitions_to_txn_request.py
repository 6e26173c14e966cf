"""AddPartitionsToTxnRequest. Made by tools/make_messages.py from tables/messages.txt."""

from odradek.protocol.message import DEFAULT, Message


class AddPartitionsToTxnTopic(Message):
    __slots__ = (
        "name",
        "partitions",
    )

    def __init__(
        self,
        *,
        name: str = "",
        partitions: list[int] = DEFAULT,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.name = name
        self.partitions: list[int] = [] if partitions is DEFAULT else partitions
        self.unknown_tagged_fields = unknown_tagged_fields


class AddPartitionsToTxnTransaction(Message):
    __slots__ = (
        "producer_epoch",
        "producer_id",
        "topics",
        "transactional_id",
        "verify_only",
    )

    def __init__(
        self,
        *,
        transactional_id: str = "",
        producer_id: int = 0,
        producer_epoch: int = 0,
        verify_only: bool = False,
        topics: list[AddPartitionsToTxnTopic] = DEFAULT,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.transactional_id = transactional_id
        self.producer_id = producer_id
        self.producer_epoch = producer_epoch
        self.verify_only = verify_only
        self.topics: list[AddPartitionsToTxnTopic] = [] if topics is DEFAULT else topics
        self.unknown_tagged_fields = unknown_tagged_fields


class AddPartitionsToTxnRequest(Message):
    __slots__ = (
        "transactions",
        "v3_and_below_producer_epoch",
        "v3_and_below_producer_id",
        "v3_and_below_topics",
        "v3_and_below_transactional_id",
    )

    API_KEY = 24
    VERSIONS = (0, 5)
    FLEXIBLE_FROM = 3
    SCHEMA = """
AddPartitionsToTxnRequest request module=clients key=24 versions=0-5 flexible=3+
  struct AddPartitionsToTxnTopic
    Name string 0+ key entity=topicName
    Partitions []int32 0+
  Transactions []AddPartitionsToTxnTransaction 4+
    TransactionalId string 4+ key entity=transactionalId
    ProducerId int64 4+ entity=producerId
    ProducerEpoch int16 4+
    VerifyOnly bool 4+
    Topics []AddPartitionsToTxnTopic 4+
  V3AndBelowTransactionalId string 0-3 entity=transactionalId
  V3AndBelowProducerId int64 0-3 entity=producerId
  V3AndBelowProducerEpoch int16 0-3
  V3AndBelowTopics []AddPartitionsToTxnTopic 0-3
"""

    def __init__(
        self,
        *,
        transactions: list[AddPartitionsToTxnTransaction] = DEFAULT,
        v3_and_below_transactional_id: str = "",
        v3_and_below_producer_id: int = 0,
        v3_and_below_producer_epoch: int = 0,
        v3_and_below_topics: list[AddPartitionsToTxnTopic] = DEFAULT,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.transactions: list[AddPartitionsToTxnTransaction] = [] if transactions is DEFAULT else transactions
        self.v3_and_below_transactional_id = v3_and_below_transactional_id
        self.v3_and_below_producer_id = v3_and_below_producer_id
        self.v3_and_below_producer_epoch = v3_and_below_producer_epoch
        self.v3_and_below_topics: list[AddPartitionsToTxnTopic] = (
            [] if v3_and_below_topics is DEFAULT else v3_and_below_topics
        )
        self.unknown_tagged_fields = unknown_tagged_fields
