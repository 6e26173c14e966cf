"""ProduceRequest. Made by tools/make_messages.py from tables/messages.txt."""

from odradek.common.ids import ZERO_UUID
from odradek.common.ports import Buffer
from odradek.protocol.message import DEFAULT, Message


class PartitionProduceData(Message):
    __slots__ = (
        "index",
        "records",
    )

    def __init__(
        self,
        *,
        index: int = 0,
        records: Buffer | None = b"",
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.index = index
        self.records = records
        self.unknown_tagged_fields = unknown_tagged_fields


class TopicProduceData(Message):
    __slots__ = (
        "name",
        "partition_data",
        "topic_id",
    )

    def __init__(
        self,
        *,
        name: str = "",
        topic_id: bytes = ZERO_UUID,
        partition_data: list[PartitionProduceData] = DEFAULT,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.name = name
        self.topic_id = topic_id
        self.partition_data: list[PartitionProduceData] = [] if partition_data is DEFAULT else partition_data
        self.unknown_tagged_fields = unknown_tagged_fields


class ProduceRequest(Message):
    __slots__ = (
        "acks",
        "timeout_ms",
        "topic_data",
        "transactional_id",
    )

    API_KEY = 0
    VERSIONS = (3, 13)
    FLEXIBLE_FROM = 9
    SCHEMA = """
ProduceRequest request module=clients key=0 versions=3-13 flexible=9+
  TransactionalId string 3+ nullable=3+ default=null entity=transactionalId
  Acks int16 0+
  TimeoutMs int32 0+
  TopicData []TopicProduceData 0+
    Name string 0-12 ignorable key entity=topicName
    TopicId uuid 13+ ignorable key
    PartitionData []PartitionProduceData 0+
      Index int32 0+
      Records records 0+ nullable=0+
"""

    def __init__(
        self,
        *,
        transactional_id: str | None = None,
        acks: int = 0,
        timeout_ms: int = 0,
        topic_data: list[TopicProduceData] = DEFAULT,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.transactional_id = transactional_id
        self.acks = acks
        self.timeout_ms = timeout_ms
        self.topic_data: list[TopicProduceData] = [] if topic_data is DEFAULT else topic_data
        self.unknown_tagged_fields = unknown_tagged_fields
