"""OffsetFetchRequest. Made by tools/make_messages.py from tables/messages.txt."""

from odradek.common.ids import ZERO_UUID
from odradek.protocol.message import DEFAULT, Message


class OffsetFetchRequestTopic(Message):
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


class OffsetFetchRequestTopics(Message):
    __slots__ = (
        "name",
        "partition_indexes",
        "topic_id",
    )

    def __init__(
        self,
        *,
        name: str = "",
        topic_id: bytes = ZERO_UUID,
        partition_indexes: list[int] = DEFAULT,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.name = name
        self.topic_id = topic_id
        self.partition_indexes: list[int] = [] if partition_indexes is DEFAULT else partition_indexes
        self.unknown_tagged_fields = unknown_tagged_fields


class OffsetFetchRequestGroup(Message):
    __slots__ = (
        "group_id",
        "member_epoch",
        "member_id",
        "topics",
    )

    def __init__(
        self,
        *,
        group_id: str = "",
        member_id: str | None = None,
        member_epoch: int = -1,
        topics: list[OffsetFetchRequestTopics] | None = DEFAULT,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.group_id = group_id
        self.member_id = member_id
        self.member_epoch = member_epoch
        self.topics: list[OffsetFetchRequestTopics] | None = [] if topics is DEFAULT else topics
        self.unknown_tagged_fields = unknown_tagged_fields


class OffsetFetchRequest(Message):
    __slots__ = (
        "group_id",
        "groups",
        "require_stable",
        "topics",
    )

    API_KEY = 9
    VERSIONS = (1, 10)
    FLEXIBLE_FROM = 6
    SCHEMA = """
OffsetFetchRequest request module=clients key=9 versions=1-10 flexible=6+
  GroupId string 0-7 entity=groupId
  Topics []OffsetFetchRequestTopic 0-7 nullable=2-7
    Name string 0-7 entity=topicName
    PartitionIndexes []int32 0-7
  Groups []OffsetFetchRequestGroup 8+
    GroupId string 8+ entity=groupId
    MemberId string 9+ nullable=9+ default=null ignorable
    MemberEpoch int32 9+ default=-1 ignorable
    Topics []OffsetFetchRequestTopics 8+ nullable=8+
      Name string 8-9 ignorable entity=topicName
      TopicId uuid 10+ ignorable
      PartitionIndexes []int32 8+
  RequireStable bool 7+
"""

    def __init__(
        self,
        *,
        group_id: str = "",
        topics: list[OffsetFetchRequestTopic] | None = DEFAULT,
        groups: list[OffsetFetchRequestGroup] = DEFAULT,
        require_stable: bool = False,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.group_id = group_id
        self.topics: list[OffsetFetchRequestTopic] | None = [] if topics is DEFAULT else topics
        self.groups: list[OffsetFetchRequestGroup] = [] if groups is DEFAULT else groups
        self.require_stable = require_stable
        self.unknown_tagged_fields = unknown_tagged_fields
