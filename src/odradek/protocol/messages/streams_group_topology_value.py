"""StreamsGroupTopologyValue. Made by tools/make_messages.py from tables/messages.txt."""

from odradek.protocol.message import DEFAULT, Message


class TopicConfig(Message):
    __slots__ = (
        "key",
        "value",
    )

    def __init__(
        self,
        *,
        key: str = "",
        value: str = "",
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.key = key
        self.value = value
        self.unknown_tagged_fields = unknown_tagged_fields


class TopicInfo(Message):
    __slots__ = (
        "name",
        "partitions",
        "replication_factor",
        "topic_configs",
    )

    def __init__(
        self,
        *,
        name: str = "",
        partitions: int = 0,
        replication_factor: int = 0,
        topic_configs: list[TopicConfig] = DEFAULT,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.name = name
        self.partitions = partitions
        self.replication_factor = replication_factor
        self.topic_configs: list[TopicConfig] = [] if topic_configs is DEFAULT else topic_configs
        self.unknown_tagged_fields = unknown_tagged_fields


class CopartitionGroup(Message):
    __slots__ = (
        "repartition_source_topics",
        "source_topic_regex",
        "source_topics",
    )

    def __init__(
        self,
        *,
        source_topics: list[int] = DEFAULT,
        source_topic_regex: list[int] = DEFAULT,
        repartition_source_topics: list[int] = DEFAULT,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.source_topics: list[int] = [] if source_topics is DEFAULT else source_topics
        self.source_topic_regex: list[int] = [] if source_topic_regex is DEFAULT else source_topic_regex
        self.repartition_source_topics: list[int] = (
            [] if repartition_source_topics is DEFAULT else repartition_source_topics
        )
        self.unknown_tagged_fields = unknown_tagged_fields


class Subtopology(Message):
    __slots__ = (
        "copartition_groups",
        "repartition_sink_topics",
        "repartition_source_topics",
        "source_topic_regex",
        "source_topics",
        "state_changelog_topics",
        "subtopology_id",
    )

    def __init__(
        self,
        *,
        subtopology_id: str = "",
        source_topics: list[str] = DEFAULT,
        source_topic_regex: list[str] = DEFAULT,
        state_changelog_topics: list[TopicInfo] = DEFAULT,
        repartition_sink_topics: list[str] = DEFAULT,
        repartition_source_topics: list[TopicInfo] = DEFAULT,
        copartition_groups: list[CopartitionGroup] = DEFAULT,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.subtopology_id = subtopology_id
        self.source_topics: list[str] = [] if source_topics is DEFAULT else source_topics
        self.source_topic_regex: list[str] = [] if source_topic_regex is DEFAULT else source_topic_regex
        self.state_changelog_topics: list[TopicInfo] = (
            [] if state_changelog_topics is DEFAULT else state_changelog_topics
        )
        self.repartition_sink_topics: list[str] = [] if repartition_sink_topics is DEFAULT else repartition_sink_topics
        self.repartition_source_topics: list[TopicInfo] = (
            [] if repartition_source_topics is DEFAULT else repartition_source_topics
        )
        self.copartition_groups: list[CopartitionGroup] = [] if copartition_groups is DEFAULT else copartition_groups
        self.unknown_tagged_fields = unknown_tagged_fields


class StreamsGroupTopologyValue(Message):
    __slots__ = (
        "epoch",
        "subtopologies",
    )

    API_KEY = 23
    VERSIONS = (0, 0)
    FLEXIBLE_FROM = 0
    SCHEMA = """
StreamsGroupTopologyValue coordinator-value module=group-coordinator key=23 versions=0 flexible=0+
  struct TopicConfig
    key string 0+
    value string 0+
  struct TopicInfo
    Name string 0+
    Partitions int32 0+
    ReplicationFactor int16 0+
    TopicConfigs []TopicConfig 0+
  Epoch int32 0+
  Subtopologies []Subtopology 0+
    SubtopologyId string 0+
    SourceTopics []string 0+
    SourceTopicRegex []string 0+
    StateChangelogTopics []TopicInfo 0+
    RepartitionSinkTopics []string 0+
    RepartitionSourceTopics []TopicInfo 0+
    CopartitionGroups []CopartitionGroup 0+
      SourceTopics []int16 0+
      SourceTopicRegex []int16 0+
      RepartitionSourceTopics []int16 0+
"""

    def __init__(
        self,
        *,
        epoch: int = 0,
        subtopologies: list[Subtopology] = DEFAULT,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.epoch = epoch
        self.subtopologies: list[Subtopology] = [] if subtopologies is DEFAULT else subtopologies
        self.unknown_tagged_fields = unknown_tagged_fields
