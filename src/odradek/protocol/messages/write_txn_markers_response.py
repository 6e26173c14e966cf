"""WriteTxnMarkersResponse. Made by tools/make_messages.py from tables/messages.txt."""

from odradek.protocol.message import DEFAULT, Message


class WritableTxnMarkerPartitionResult(Message):
    __slots__ = (
        "error_code",
        "partition_index",
    )

    def __init__(
        self,
        *,
        partition_index: int = 0,
        error_code: int = 0,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.partition_index = partition_index
        self.error_code = error_code
        self.unknown_tagged_fields = unknown_tagged_fields


class WritableTxnMarkerTopicResult(Message):
    __slots__ = (
        "name",
        "partitions",
    )

    def __init__(
        self,
        *,
        name: str = "",
        partitions: list[WritableTxnMarkerPartitionResult] = DEFAULT,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.name = name
        self.partitions: list[WritableTxnMarkerPartitionResult] = [] if partitions is DEFAULT else partitions
        self.unknown_tagged_fields = unknown_tagged_fields


class WritableTxnMarkerResult(Message):
    __slots__ = (
        "producer_id",
        "topics",
    )

    def __init__(
        self,
        *,
        producer_id: int = 0,
        topics: list[WritableTxnMarkerTopicResult] = DEFAULT,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.producer_id = producer_id
        self.topics: list[WritableTxnMarkerTopicResult] = [] if topics is DEFAULT else topics
        self.unknown_tagged_fields = unknown_tagged_fields


class WriteTxnMarkersResponse(Message):
    __slots__ = ("markers",)

    API_KEY = 27
    VERSIONS = (1, 2)
    FLEXIBLE_FROM = 1
    SCHEMA = """
WriteTxnMarkersResponse response module=clients key=27 versions=1-2 flexible=1+
  Markers []WritableTxnMarkerResult 0+
    ProducerId int64 0+ entity=producerId
    Topics []WritableTxnMarkerTopicResult 0+
      Name string 0+ entity=topicName
      Partitions []WritableTxnMarkerPartitionResult 0+
        PartitionIndex int32 0+
        ErrorCode int16 0+
"""

    def __init__(
        self,
        *,
        markers: list[WritableTxnMarkerResult] = DEFAULT,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.markers: list[WritableTxnMarkerResult] = [] if markers is DEFAULT else markers
        self.unknown_tagged_fields = unknown_tagged_fields
