"""StreamsGroupHeartbeatResponse. Made by tools/make_messages.py from tables/messages.txt."""

from odradek.protocol.message import DEFAULT, Message


class Status(Message):
    __slots__ = (
        "status_code",
        "status_detail",
    )

    def __init__(
        self,
        *,
        status_code: int = 0,
        status_detail: str = "",
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.status_code = status_code
        self.status_detail = status_detail
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


class EndpointToPartitions(Message):
    __slots__ = (
        "active_partitions",
        "standby_partitions",
        "user_endpoint",
    )

    def __init__(
        self,
        *,
        user_endpoint: Endpoint = DEFAULT,
        active_partitions: list[TopicPartition] = DEFAULT,
        standby_partitions: list[TopicPartition] = DEFAULT,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.user_endpoint: Endpoint = Endpoint() if user_endpoint is DEFAULT else user_endpoint
        self.active_partitions: list[TopicPartition] = [] if active_partitions is DEFAULT else active_partitions
        self.standby_partitions: list[TopicPartition] = [] if standby_partitions is DEFAULT else standby_partitions
        self.unknown_tagged_fields = unknown_tagged_fields


class StreamsGroupHeartbeatResponse(Message):
    __slots__ = (
        "acceptable_recovery_lag",
        "acceptable_recovery_lag_legacy",
        "active_tasks",
        "endpoint_information_epoch",
        "error_code",
        "error_message",
        "heartbeat_interval_ms",
        "member_epoch",
        "member_id",
        "partitions_by_user_endpoint",
        "standby_tasks",
        "status",
        "task_offset_interval_ms",
        "throttle_time_ms",
        "topology_description_required",
        "warmup_tasks",
    )

    API_KEY = 88
    VERSIONS = (0, 1)
    FLEXIBLE_FROM = 0
    SCHEMA = """
StreamsGroupHeartbeatResponse response module=clients key=88 versions=0-1 flexible=0+
  struct Status
    StatusCode int8 0+
    StatusDetail string 0+
  struct TopicPartition
    Topic string 0+ entity=topicName
    Partitions []int32 0+
  struct TaskIds
    SubtopologyId string 0+
    Partitions []int32 0+
  struct Endpoint
    Host string 0+
    Port uint16 0+
  ThrottleTimeMs int32 0+
  ErrorCode int16 0+
  ErrorMessage string 0+ nullable=0+ default=null
  MemberId string 0+
  MemberEpoch int32 0+
  HeartbeatIntervalMs int32 0+
  AcceptableRecoveryLagLegacy int32 0
  TaskOffsetIntervalMs int32 0+
  AcceptableRecoveryLag int64 1+ default=-1 ignorable
  Status []Status 0+ nullable=0+
  ActiveTasks []TaskIds 0+ nullable=0+ default=null
  StandbyTasks []TaskIds 0+ nullable=0+ default=null
  WarmupTasks []TaskIds 0+ nullable=0+ default=null
  TopologyDescriptionRequired bool 1+
  EndpointInformationEpoch int32 0+
  PartitionsByUserEndpoint []EndpointToPartitions 0+ nullable=0+ default=null
    UserEndpoint Endpoint 0+
    ActivePartitions []TopicPartition 0+
    StandbyPartitions []TopicPartition 0+
"""

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        error_message: str | None = None,
        member_id: str = "",
        member_epoch: int = 0,
        heartbeat_interval_ms: int = 0,
        acceptable_recovery_lag_legacy: int = 0,
        task_offset_interval_ms: int = 0,
        acceptable_recovery_lag: int = -1,
        status: list[Status] | None = DEFAULT,
        active_tasks: list[TaskIds] | None = None,
        standby_tasks: list[TaskIds] | None = None,
        warmup_tasks: list[TaskIds] | None = None,
        topology_description_required: bool = False,
        endpoint_information_epoch: int = 0,
        partitions_by_user_endpoint: list[EndpointToPartitions] | None = None,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.error_message = error_message
        self.member_id = member_id
        self.member_epoch = member_epoch
        self.heartbeat_interval_ms = heartbeat_interval_ms
        self.acceptable_recovery_lag_legacy = acceptable_recovery_lag_legacy
        self.task_offset_interval_ms = task_offset_interval_ms
        self.acceptable_recovery_lag = acceptable_recovery_lag
        self.status: list[Status] | None = [] if status is DEFAULT else status
        self.active_tasks = active_tasks
        self.standby_tasks = standby_tasks
        self.warmup_tasks = warmup_tasks
        self.topology_description_required = topology_description_required
        self.endpoint_information_epoch = endpoint_information_epoch
        self.partitions_by_user_endpoint = partitions_by_user_endpoint
        self.unknown_tagged_fields = unknown_tagged_fields
