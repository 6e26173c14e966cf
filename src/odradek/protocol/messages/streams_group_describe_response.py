"""StreamsGroupDescribeResponse. Made by tools/make_messages.py from tables/messages.txt."""

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


class Subtopology(Message):
    __slots__ = (
        "repartition_sink_topics",
        "repartition_source_topics",
        "source_topics",
        "state_changelog_topics",
        "subtopology_id",
    )

    def __init__(
        self,
        *,
        subtopology_id: str = "",
        source_topics: list[str] = DEFAULT,
        repartition_sink_topics: list[str] = DEFAULT,
        state_changelog_topics: list[TopicInfo] = DEFAULT,
        repartition_source_topics: list[TopicInfo] = DEFAULT,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.subtopology_id = subtopology_id
        self.source_topics: list[str] = [] if source_topics is DEFAULT else source_topics
        self.repartition_sink_topics: list[str] = [] if repartition_sink_topics is DEFAULT else repartition_sink_topics
        self.state_changelog_topics: list[TopicInfo] = (
            [] if state_changelog_topics is DEFAULT else state_changelog_topics
        )
        self.repartition_source_topics: list[TopicInfo] = (
            [] if repartition_source_topics is DEFAULT else repartition_source_topics
        )
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
        subtopologies: list[Subtopology] | None = None,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.epoch = epoch
        self.subtopologies = subtopologies
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


class Assignment(Message):
    __slots__ = (
        "active_tasks",
        "standby_tasks",
        "warmup_tasks",
    )

    def __init__(
        self,
        *,
        active_tasks: list[TaskIds] = DEFAULT,
        standby_tasks: list[TaskIds] = DEFAULT,
        warmup_tasks: list[TaskIds] = DEFAULT,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.active_tasks: list[TaskIds] = [] if active_tasks is DEFAULT else active_tasks
        self.standby_tasks: list[TaskIds] = [] if standby_tasks is DEFAULT else standby_tasks
        self.warmup_tasks: list[TaskIds] = [] if warmup_tasks is DEFAULT else warmup_tasks
        self.unknown_tagged_fields = unknown_tagged_fields


class Member(Message):
    __slots__ = (
        "assignment",
        "client_host",
        "client_id",
        "client_tags",
        "instance_id",
        "is_classic",
        "member_epoch",
        "member_id",
        "process_id",
        "rack_id",
        "target_assignment",
        "task_end_offsets",
        "task_offsets",
        "topology_epoch",
        "user_endpoint",
    )

    def __init__(
        self,
        *,
        member_id: str = "",
        member_epoch: int = 0,
        instance_id: str | None = None,
        rack_id: str | None = None,
        client_id: str = "",
        client_host: str = "",
        topology_epoch: int = 0,
        process_id: str = "",
        user_endpoint: Endpoint | None = None,
        client_tags: list[KeyValue] = DEFAULT,
        task_offsets: list[TaskOffset] = DEFAULT,
        task_end_offsets: list[TaskOffset] = DEFAULT,
        assignment: Assignment = DEFAULT,
        target_assignment: Assignment = DEFAULT,
        is_classic: bool = False,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.member_id = member_id
        self.member_epoch = member_epoch
        self.instance_id = instance_id
        self.rack_id = rack_id
        self.client_id = client_id
        self.client_host = client_host
        self.topology_epoch = topology_epoch
        self.process_id = process_id
        self.user_endpoint = user_endpoint
        self.client_tags: list[KeyValue] = [] if client_tags is DEFAULT else client_tags
        self.task_offsets: list[TaskOffset] = [] if task_offsets is DEFAULT else task_offsets
        self.task_end_offsets: list[TaskOffset] = [] if task_end_offsets is DEFAULT else task_end_offsets
        self.assignment: Assignment = Assignment() if assignment is DEFAULT else assignment
        self.target_assignment: Assignment = Assignment() if target_assignment is DEFAULT else target_assignment
        self.is_classic = is_classic
        self.unknown_tagged_fields = unknown_tagged_fields


class TopologyDescriptionNode(Message):
    __slots__ = (
        "name",
        "node_type",
        "sink_topic",
        "source_topics",
        "stores",
        "successors",
    )

    def __init__(
        self,
        *,
        name: str = "",
        node_type: int = 0,
        source_topics: list[str] = DEFAULT,
        sink_topic: str | None = None,
        stores: list[str] = DEFAULT,
        successors: list[str] = DEFAULT,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.name = name
        self.node_type = node_type
        self.source_topics: list[str] = [] if source_topics is DEFAULT else source_topics
        self.sink_topic = sink_topic
        self.stores: list[str] = [] if stores is DEFAULT else stores
        self.successors: list[str] = [] if successors is DEFAULT else successors
        self.unknown_tagged_fields = unknown_tagged_fields


class TopologyDescriptionSubtopology(Message):
    __slots__ = (
        "nodes",
        "subtopology_id",
    )

    def __init__(
        self,
        *,
        subtopology_id: str = "",
        nodes: list[TopologyDescriptionNode] = DEFAULT,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.subtopology_id = subtopology_id
        self.nodes: list[TopologyDescriptionNode] = [] if nodes is DEFAULT else nodes
        self.unknown_tagged_fields = unknown_tagged_fields


class TopologyDescriptionGlobalStore(Message):
    __slots__ = (
        "processor",
        "source",
    )

    def __init__(
        self,
        *,
        source: TopologyDescriptionNode = DEFAULT,
        processor: TopologyDescriptionNode = DEFAULT,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.source: TopologyDescriptionNode = TopologyDescriptionNode() if source is DEFAULT else source
        self.processor: TopologyDescriptionNode = TopologyDescriptionNode() if processor is DEFAULT else processor
        self.unknown_tagged_fields = unknown_tagged_fields


class TopologyDescription(Message):
    __slots__ = (
        "global_stores",
        "subtopologies",
    )

    def __init__(
        self,
        *,
        subtopologies: list[TopologyDescriptionSubtopology] = DEFAULT,
        global_stores: list[TopologyDescriptionGlobalStore] = DEFAULT,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.subtopologies: list[TopologyDescriptionSubtopology] = [] if subtopologies is DEFAULT else subtopologies
        self.global_stores: list[TopologyDescriptionGlobalStore] = [] if global_stores is DEFAULT else global_stores
        self.unknown_tagged_fields = unknown_tagged_fields


class DescribedGroup(Message):
    __slots__ = (
        "assignment_epoch",
        "assignor_name",
        "authorized_operations",
        "error_code",
        "error_message",
        "group_epoch",
        "group_id",
        "group_state",
        "members",
        "topology",
        "topology_description",
        "topology_description_status",
    )

    def __init__(
        self,
        *,
        error_code: int = 0,
        error_message: str | None = None,
        group_id: str = "",
        group_state: str = "",
        group_epoch: int = 0,
        assignment_epoch: int = 0,
        topology: Topology | None = None,
        members: list[Member] = DEFAULT,
        authorized_operations: int = -2147483648,
        topology_description: TopologyDescription | None = None,
        topology_description_status: int = 0,
        assignor_name: str | None = None,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.error_code = error_code
        self.error_message = error_message
        self.group_id = group_id
        self.group_state = group_state
        self.group_epoch = group_epoch
        self.assignment_epoch = assignment_epoch
        self.topology = topology
        self.members: list[Member] = [] if members is DEFAULT else members
        self.authorized_operations = authorized_operations
        self.topology_description = topology_description
        self.topology_description_status = topology_description_status
        self.assignor_name = assignor_name
        self.unknown_tagged_fields = unknown_tagged_fields


class StreamsGroupDescribeResponse(Message):
    __slots__ = (
        "groups",
        "throttle_time_ms",
    )

    API_KEY = 89
    VERSIONS = (0, 1)
    FLEXIBLE_FROM = 0
    SCHEMA = """
StreamsGroupDescribeResponse response module=clients key=89 versions=0-1 flexible=0+
  struct Endpoint
    Host string 0+
    Port uint16 0+
  struct TaskOffset
    SubtopologyId string 0+
    Partition int32 0+
    Offset int64 0+
  struct Assignment
    ActiveTasks []TaskIds 0+
    StandbyTasks []TaskIds 0+
    WarmupTasks []TaskIds 0+
  struct TaskIds
    SubtopologyId string 0+
    Partitions []int32 0+
  struct KeyValue
    Key string 0+
    Value string 0+
  struct TopicInfo
    Name string 0+ entity=topicName
    Partitions int32 0+
    ReplicationFactor int16 0+
    TopicConfigs []KeyValue 0+
  struct TopologyDescription
    Subtopologies []TopologyDescriptionSubtopology 1+
    GlobalStores []TopologyDescriptionGlobalStore 1+
  struct TopologyDescriptionSubtopology
    SubtopologyId string 1+
    Nodes []TopologyDescriptionNode 1+
  struct TopologyDescriptionNode
    Name string 1+
    NodeType int8 1+
    SourceTopics []string 1+ entity=topicName
    SinkTopic string 1+ nullable=1+ default=null entity=topicName
    Stores []string 1+
    Successors []string 1+
  struct TopologyDescriptionGlobalStore
    Source TopologyDescriptionNode 1+
    Processor TopologyDescriptionNode 1+
  ThrottleTimeMs int32 0+
  Groups []DescribedGroup 0+
    ErrorCode int16 0+
    ErrorMessage string 0+ nullable=0+ default=null
    GroupId string 0+ entity=groupId
    GroupState string 0+
    GroupEpoch int32 0+
    AssignmentEpoch int32 0+
    Topology Topology 0+ nullable=0+ default=null
      Epoch int32 0+
      Subtopologies []Subtopology 0+ nullable=0+ default=null
        SubtopologyId string 0+
        SourceTopics []string 0+ entity=topicName
        RepartitionSinkTopics []string 0+ entity=topicName
        StateChangelogTopics []TopicInfo 0+
        RepartitionSourceTopics []TopicInfo 0+
    Members []Member 0+
      MemberId string 0+
      MemberEpoch int32 0+
      InstanceId string 0+ nullable=0+ default=null
      RackId string 0+ nullable=0+ default=null
      ClientId string 0+
      ClientHost string 0+
      TopologyEpoch int32 0+
      ProcessId string 0+
      UserEndpoint Endpoint 0+ nullable=0+ default=null
      ClientTags []KeyValue 0+
      TaskOffsets []TaskOffset 0+
      TaskEndOffsets []TaskOffset 0+
      Assignment Assignment 0+
      TargetAssignment Assignment 0+
      IsClassic bool 0+
    AuthorizedOperations int32 0+ default=-2147483648
    TopologyDescription TopologyDescription 1+ nullable=1+ default=null
    TopologyDescriptionStatus int8 1+
    AssignorName string 1+ nullable=1+ default=null ignorable
"""

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        groups: list[DescribedGroup] = DEFAULT,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.groups: list[DescribedGroup] = [] if groups is DEFAULT else groups
        self.unknown_tagged_fields = unknown_tagged_fields
