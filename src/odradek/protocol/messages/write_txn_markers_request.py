"""WriteTxnMarkersRequest. Made by tools/make_messages.py from tables/messages.txt."""

from odradek.protocol.message import DEFAULT, Message


class WritableTxnMarkerTopic(Message):
    __slots__ = (
        "name",
        "partition_indexes",
    )

    def __init__(
        self,
        *,
        name: str = "",
        partition_indexes: list[int] = DEFAULT,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.name = name
        self.partition_indexes: list[int] = [] if partition_indexes is DEFAULT else partition_indexes
        self.unknown_tagged_fields = unknown_tagged_fields


class WritableTxnMarker(Message):
    __slots__ = (
        "coordinator_epoch",
        "producer_epoch",
        "producer_id",
        "topics",
        "transaction_result",
        "transaction_version",
    )

    def __init__(
        self,
        *,
        producer_id: int = 0,
        producer_epoch: int = 0,
        transaction_result: bool = False,
        topics: list[WritableTxnMarkerTopic] = DEFAULT,
        coordinator_epoch: int = 0,
        transaction_version: int = 0,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.producer_id = producer_id
        self.producer_epoch = producer_epoch
        self.transaction_result = transaction_result
        self.topics: list[WritableTxnMarkerTopic] = [] if topics is DEFAULT else topics
        self.coordinator_epoch = coordinator_epoch
        self.transaction_version = transaction_version
        self.unknown_tagged_fields = unknown_tagged_fields


class WriteTxnMarkersRequest(Message):
    __slots__ = ("markers",)

    API_KEY = 27
    VERSIONS = (1, 2)
    FLEXIBLE_FROM = 1
    SCHEMA = """
WriteTxnMarkersRequest request module=clients key=27 versions=1-2 flexible=1+
  Markers []WritableTxnMarker 0+
    ProducerId int64 0+ entity=producerId
    ProducerEpoch int16 0+
    TransactionResult bool 0+
    Topics []WritableTxnMarkerTopic 0+
      Name string 0+ entity=topicName
      PartitionIndexes []int32 0+
    CoordinatorEpoch int32 0+
    TransactionVersion int8 2+ ignorable
"""

    def __init__(
        self,
        *,
        markers: list[WritableTxnMarker] = DEFAULT,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.markers: list[WritableTxnMarker] = [] if markers is DEFAULT else markers
        self.unknown_tagged_fields = unknown_tagged_fields
