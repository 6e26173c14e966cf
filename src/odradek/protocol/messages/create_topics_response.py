"""CreateTopicsResponse. Made by tools/make_messages.py from tables/messages.txt."""

from odradek.common.ids import ZERO_UUID
from odradek.protocol.message import DEFAULT, Message


class CreatableTopicConfigs(Message):
    __slots__ = (
        "config_source",
        "is_sensitive",
        "name",
        "read_only",
        "value",
    )

    def __init__(
        self,
        *,
        name: str = "",
        value: str | None = "",
        read_only: bool = False,
        config_source: int = -1,
        is_sensitive: bool = False,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.name = name
        self.value = value
        self.read_only = read_only
        self.config_source = config_source
        self.is_sensitive = is_sensitive
        self.unknown_tagged_fields = unknown_tagged_fields


class CreatableTopicResult(Message):
    __slots__ = (
        "configs",
        "error_code",
        "error_message",
        "name",
        "num_partitions",
        "replication_factor",
        "topic_config_error_code",
        "topic_id",
    )

    def __init__(
        self,
        *,
        name: str = "",
        topic_id: bytes = ZERO_UUID,
        error_code: int = 0,
        error_message: str | None = "",
        topic_config_error_code: int = 0,
        num_partitions: int = -1,
        replication_factor: int = -1,
        configs: list[CreatableTopicConfigs] | None = DEFAULT,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.name = name
        self.topic_id = topic_id
        self.error_code = error_code
        self.error_message = error_message
        self.topic_config_error_code = topic_config_error_code
        self.num_partitions = num_partitions
        self.replication_factor = replication_factor
        self.configs: list[CreatableTopicConfigs] | None = [] if configs is DEFAULT else configs
        self.unknown_tagged_fields = unknown_tagged_fields


class CreateTopicsResponse(Message):
    __slots__ = (
        "throttle_time_ms",
        "topics",
    )

    API_KEY = 19
    VERSIONS = (2, 7)
    FLEXIBLE_FROM = 5
    SCHEMA = """
CreateTopicsResponse response module=clients key=19 versions=2-7 flexible=5+
  ThrottleTimeMs int32 2+ ignorable
  Topics []CreatableTopicResult 0+
    Name string 0+ key entity=topicName
    TopicId uuid 7+ ignorable
    ErrorCode int16 0+
    ErrorMessage string 1+ nullable=0+ ignorable
    TopicConfigErrorCode int16 5+ tag=0 ignorable
    NumPartitions int32 5+ default=-1 ignorable
    ReplicationFactor int16 5+ default=-1 ignorable
    Configs []CreatableTopicConfigs 5+ nullable=5+ ignorable
      Name string 5+
      Value string 5+ nullable=5+
      ReadOnly bool 5+
      ConfigSource int8 5+ default=-1 ignorable
      IsSensitive bool 5+
"""

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        topics: list[CreatableTopicResult] = DEFAULT,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.topics: list[CreatableTopicResult] = [] if topics is DEFAULT else topics
        self.unknown_tagged_fields = unknown_tagged_fields
