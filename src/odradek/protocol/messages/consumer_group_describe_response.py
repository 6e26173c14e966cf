"""ConsumerGroupDescribeResponse. Made by tools/make_messages.py from tables/messages.txt."""

from odradek.common.ids import ZERO_UUID
from odradek.protocol.message import DEFAULT, Message


class TopicPartitions(Message):
    __slots__ = (
        "partitions",
        "topic_id",
        "topic_name",
    )

    def __init__(
        self,
        *,
        topic_id: bytes = ZERO_UUID,
        topic_name: str = "",
        partitions: list[int] = DEFAULT,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.topic_id = topic_id
        self.topic_name = topic_name
        self.partitions: list[int] = [] if partitions is DEFAULT else partitions
        self.unknown_tagged_fields = unknown_tagged_fields


class Assignment(Message):
    __slots__ = ("topic_partitions",)

    def __init__(
        self,
        *,
        topic_partitions: list[TopicPartitions] = DEFAULT,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.topic_partitions: list[TopicPartitions] = [] if topic_partitions is DEFAULT else topic_partitions
        self.unknown_tagged_fields = unknown_tagged_fields


class Member(Message):
    __slots__ = (
        "assignment",
        "client_host",
        "client_id",
        "instance_id",
        "member_epoch",
        "member_id",
        "member_type",
        "rack_id",
        "subscribed_topic_names",
        "subscribed_topic_regex",
        "target_assignment",
    )

    def __init__(
        self,
        *,
        member_id: str = "",
        instance_id: str | None = None,
        rack_id: str | None = None,
        member_epoch: int = 0,
        client_id: str = "",
        client_host: str = "",
        subscribed_topic_names: list[str] = DEFAULT,
        subscribed_topic_regex: str | None = None,
        assignment: Assignment = DEFAULT,
        target_assignment: Assignment = DEFAULT,
        member_type: int = -1,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.member_id = member_id
        self.instance_id = instance_id
        self.rack_id = rack_id
        self.member_epoch = member_epoch
        self.client_id = client_id
        self.client_host = client_host
        self.subscribed_topic_names: list[str] = [] if subscribed_topic_names is DEFAULT else subscribed_topic_names
        self.subscribed_topic_regex = subscribed_topic_regex
        self.assignment: Assignment = Assignment() if assignment is DEFAULT else assignment
        self.target_assignment: Assignment = Assignment() if target_assignment is DEFAULT else target_assignment
        self.member_type = member_type
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
        assignor_name: str = "",
        members: list[Member] = DEFAULT,
        authorized_operations: int = -2147483648,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.error_code = error_code
        self.error_message = error_message
        self.group_id = group_id
        self.group_state = group_state
        self.group_epoch = group_epoch
        self.assignment_epoch = assignment_epoch
        self.assignor_name = assignor_name
        self.members: list[Member] = [] if members is DEFAULT else members
        self.authorized_operations = authorized_operations
        self.unknown_tagged_fields = unknown_tagged_fields


class ConsumerGroupDescribeResponse(Message):
    __slots__ = (
        "groups",
        "throttle_time_ms",
    )

    API_KEY = 69
    VERSIONS = (0, 1)
    FLEXIBLE_FROM = 0
    SCHEMA = """
ConsumerGroupDescribeResponse response module=clients key=69 versions=0-1 flexible=0+
  struct TopicPartitions
    TopicId uuid 0+
    TopicName string 0+ entity=topicName
    Partitions []int32 0+
  struct Assignment
    TopicPartitions []TopicPartitions 0+
  ThrottleTimeMs int32 0+
  Groups []DescribedGroup 0+
    ErrorCode int16 0+
    ErrorMessage string 0+ nullable=0+ default=null
    GroupId string 0+ entity=groupId
    GroupState string 0+
    GroupEpoch int32 0+
    AssignmentEpoch int32 0+
    AssignorName string 0+
    Members []Member 0+
      MemberId string 0+
      InstanceId string 0+ nullable=0+ default=null
      RackId string 0+ nullable=0+ default=null
      MemberEpoch int32 0+
      ClientId string 0+
      ClientHost string 0+
      SubscribedTopicNames []string 0+ entity=topicName
      SubscribedTopicRegex string 0+ nullable=0+ default=null
      Assignment Assignment 0+
      TargetAssignment Assignment 0+
      MemberType int8 1+ default=-1 ignorable
    AuthorizedOperations int32 0+ default=-2147483648
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
