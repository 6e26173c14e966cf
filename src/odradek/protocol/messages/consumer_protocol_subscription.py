"""ConsumerProtocolSubscription. Made by tools/make_messages.py from tables/messages.txt."""

from odradek.protocol.message import DEFAULT, Message


class TopicPartition(Message):
    __slots__ = (
        "partitions",
        "topic",
    )

    def __init__(
        self,
        *,
        topic: str = "",
        partitions: list[int] = DEFAULT,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.topic = topic
        self.partitions: list[int] = [] if partitions is DEFAULT else partitions
        self.unknown_tagged_fields = unknown_tagged_fields


class ConsumerProtocolSubscription(Message):
    __slots__ = (
        "generation_id",
        "owned_partitions",
        "rack_id",
        "topics",
        "user_data",
    )

    VERSIONS = (0, 3)
    SCHEMA = """
ConsumerProtocolSubscription data module=clients versions=0-3 flexible=none
  Topics []string 0+
  UserData bytes 0+ nullable=0+ default=null
  OwnedPartitions []TopicPartition 1+ ignorable
    Topic string 1+ key entity=topicName
    Partitions []int32 1+
  GenerationId int32 2+ default=-1 ignorable
  RackId string 3+ nullable=3+ default=null ignorable
"""

    def __init__(
        self,
        *,
        topics: list[str] = DEFAULT,
        user_data: bytes | None = None,
        owned_partitions: list[TopicPartition] = DEFAULT,
        generation_id: int = -1,
        rack_id: str | None = None,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.topics: list[str] = [] if topics is DEFAULT else topics
        self.user_data = user_data
        self.owned_partitions: list[TopicPartition] = [] if owned_partitions is DEFAULT else owned_partitions
        self.generation_id = generation_id
        self.rack_id = rack_id
        self.unknown_tagged_fields = unknown_tagged_fields
