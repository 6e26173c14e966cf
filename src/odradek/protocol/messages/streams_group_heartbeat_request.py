"""StreamsGroupHeartbeatRequest. Made by tools/make_messages.py from tables/messages.txt."""

from odradek.protocol.message import DEFAULT, Message


class KeyValue(Message):
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
        topic_configs: list[KeyValue] = DEFAULT,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.name = name
        self.partitions = partitions
        self.replication_factor = replication_factor
        self.topic_configs: list[KeyValue] = [] if topic_configs is DEFAULT else topic_configs
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


class Topology(Message):
    __slots__ = (
        "epoch",
        "subtopologies",
    )

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


class TaskIds(Message):
    __slots__ = (
        "partitions",
        "subtopology_id",
    )

    def __init__(
        self,
        *,
        subtopology_id: str = "",
        partitions: list[int] = DEFAULT,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.subtopology_id = subtopology_id
        self.partitions: list[int] = [] if partitions is DEFAULT else partitions
        self.unknown_tagged_fields = unknown_tagged_fields


class Endpoint(Message):
    __slots__ = (
        "host",
        "port",
    )

    def __init__(
        self,
        *,
        host: str = "",
        port: int = 0,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.host = host
        self.port = port
        self.unknown_tagged_fields = unknown_tagged_fields


class TaskOffset(Message):
    __slots__ = (
        "offset",
        "partition",
        "subtopology_id",
    )

    def __init__(
        self,
        *,
        subtopology_id: str = "",
        partition: int = 0,
        offset: int = 0,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.subtopology_id = subtopology_id
        self.partition = partition
        self.offset = offset
        self.unknown_tagged_fields = unknown_tagged_fields


class StreamsGroupHeartbeatRequest(Message):
    __slots__ = (
        "active_tasks",
        "client_tags",
        "endpoint_information_epoch",
        "group_id",
        "instance_id",
        "member_epoch",
        "member_id",
        "process_id",
        "rack_id",
        "rebalance_timeout_ms",
        "shutdown_application",
        "standby_tasks",
        "task_end_offsets",
        "task_offsets",
        "topology",
        "user_endpoint",
        "warmup_tasks",
    )

    API_KEY = 88
    VERSIONS = (0, 1)
    FLEXIBLE_FROM = 0
    SCHEMA = """
StreamsGroupHeartbeatRequest request module=clients key=88 versions=0-1 flexible=0+
  struct KeyValue
    Key string 0+
    Value string 0+
  struct TopicInfo
    Name string 0+ entity=topicName
    Partitions int32 0+
    ReplicationFactor int16 0+
    TopicConfigs []KeyValue 0+
  struct Endpoint
    Host string 0+
    Port uint16 0+
  struct TaskOffset
    SubtopologyId string 0+
    Partition int32 0+
    Offset int64 0+
  struct TaskIds
    SubtopologyId string 0+
    Partitions []int32 0+
  GroupId string 0+ entity=groupId
  MemberId string 0+
  MemberEpoch int32 0+
  EndpointInformationEpoch int32 0+
  InstanceId string 0+ nullable=0+ default=null
  RackId string 0+ nullable=0+ default=null
  RebalanceTimeoutMs int32 0+ default=-1
  Topology Topology 0+ nullable=0+ default=null
    Epoch int32 0+
    Subtopologies []Subtopology 0+
      SubtopologyId string 0+
      SourceTopics []string 0+ entity=topicName
      SourceTopicRegex []string 0+
      StateChangelogTopics []TopicInfo 0+
      RepartitionSinkTopics []string 0+ entity=topicName
      RepartitionSourceTopics []TopicInfo 0+
      CopartitionGroups []CopartitionGroup 0+
        SourceTopics []int16 0+
        SourceTopicRegex []int16 0+
        RepartitionSourceTopics []int16 0+
  ActiveTasks []TaskIds 0+ nullable=0+ default=null
  StandbyTasks []TaskIds 0+ nullable=0+ default=null
  WarmupTasks []TaskIds 0+ nullable=0+ default=null
  ProcessId string 0+ nullable=0+ default=null
  UserEndpoint Endpoint 0+ nullable=0+ default=null
  ClientTags []KeyValue 0+ nullable=0+ default=null
  TaskOffsets []TaskOffset 0+ nullable=0+ default=null
  TaskEndOffsets []TaskOffset 0+ nullable=0+ default=null
  ShutdownApplication bool 0+
"""

    def __init__(
        self,
        *,
        group_id: str = "",
        member_id: str = "",
        member_epoch: int = 0,
        endpoint_information_epoch: int = 0,
        instance_id: str | None = None,
        rack_id: str | None = None,
        rebalance_timeout_ms: int = -1,
        topology: Topology | None = None,
        active_tasks: list[TaskIds] | None = None,
        standby_tasks: list[TaskIds] | None = None,
        warmup_tasks: list[TaskIds] | None = None,
        process_id: str | None = None,
        user_endpoint: Endpoint | None = None,
        client_tags: list[KeyValue] | None = None,
        task_offsets: list[TaskOffset] | None = None,
        task_end_offsets: list[TaskOffset] | None = None,
        shutdown_application: bool = False,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.group_id = group_id
        self.member_id = member_id
        self.member_epoch = member_epoch
        self.endpoint_information_epoch = endpoint_information_epoch
        self.instance_id = instance_id
        self.rack_id = rack_id
        self.rebalance_timeout_ms = rebalance_timeout_ms
        self.topology = topology
        self.active_tasks = active_tasks
        self.standby_tasks = standby_tasks
        self.warmup_tasks = warmup_tasks
        self.process_id = process_id
        self.user_endpoint = user_endpoint
        self.client_tags = client_tags
        self.task_offsets = task_offsets
        self.task_end_offsets = task_end_offsets
        self.shutdown_application = shutdown_application
        self.unknown_tagged_fields = unknown_tagged_fields
