"""CreateTopicsRequest. Made by tools/make_messages.py from tables/messages.txt."""

from odradek.protocol.message import DEFAULT, Message


class CreatableReplicaAssignment(Message):
    __slots__ = (
        "broker_ids",
        "partition_index",
    )

    def __init__(
        self,
        *,
        partition_index: int = 0,
        broker_ids: list[int] = DEFAULT,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.partition_index = partition_index
        self.broker_ids: list[int] = [] if broker_ids is DEFAULT else broker_ids
        self.unknown_tagged_fields = unknown_tagged_fields


class CreatableTopicConfig(Message):
    __slots__ = (
        "name",
        "value",
    )

    def __init__(
        self,
        *,
        name: str = "",
        value: str | None = "",
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.name = name
        self.value = value
        self.unknown_tagged_fields = unknown_tagged_fields


class CreatableTopic(Message):
    __slots__ = (
        "assignments",
        "configs",
        "name",
        "num_partitions",
        "replication_factor",
    )

    def __init__(
        self,
        *,
        name: str = "",
        num_partitions: int = 0,
        replication_factor: int = 0,
        assignments: list[CreatableReplicaAssignment] = DEFAULT,
        configs: list[CreatableTopicConfig] = DEFAULT,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.name = name
        self.num_partitions = num_partitions
        self.replication_factor = replication_factor
        self.assignments: list[CreatableReplicaAssignment] = [] if assignments is DEFAULT else assignments
        self.configs: list[CreatableTopicConfig] = [] if configs is DEFAULT else configs
        self.unknown_tagged_fields = unknown_tagged_fields


class CreateTopicsRequest(Message):
    __slots__ = (
        "timeout_ms",
        "topics",
        "validate_only",
    )

    API_KEY = 19
    VERSIONS = (2, 7)
    FLEXIBLE_FROM = 5
    SCHEMA = """
CreateTopicsRequest request module=clients key=19 versions=2-7 flexible=5+
  Topics []CreatableTopic 0+
    Name string 0+ key entity=topicName
    NumPartitions int32 0+
    ReplicationFactor int16 0+
    Assignments []CreatableReplicaAssignment 0+
      PartitionIndex int32 0+ key
      BrokerIds []int32 0+ entity=brokerId
    Configs []CreatableTopicConfig 0+
      Name string 0+ key
      Value string 0+ nullable=0+
  timeoutMs int32 0+ default=60000
  validateOnly bool 1+
"""

    def __init__(
        self,
        *,
        topics: list[CreatableTopic] = DEFAULT,
        timeout_ms: int = 60000,
        validate_only: bool = False,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.topics: list[CreatableTopic] = [] if topics is DEFAULT else topics
        self.timeout_ms = timeout_ms
        self.validate_only = validate_only
        self.unknown_tagged_fields = unknown_tagged_fields
