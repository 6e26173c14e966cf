"""ShareGroupHeartbeatRequest. Made by tools/make_messages.py from tables/messages.txt."""

from odradek.protocol.message import Message


class ShareGroupHeartbeatRequest(Message):
    __slots__ = (
        "group_id",
        "member_epoch",
        "member_id",
        "rack_id",
        "subscribed_topic_names",
    )

    API_KEY = 76
    VERSIONS = (1, 1)
    FLEXIBLE_FROM = 0
    SCHEMA = """
ShareGroupHeartbeatRequest request module=clients key=76 versions=1 flexible=0+
  GroupId string 0+ entity=groupId
  MemberId string 0+
  MemberEpoch int32 0+
  RackId string 0+ nullable=0+ default=null
  SubscribedTopicNames []string 0+ nullable=0+ default=null entity=topicName
"""

    def __init__(
        self,
        *,
        group_id: str = "",
        member_id: str = "",
        member_epoch: int = 0,
        rack_id: str | None = None,
        subscribed_topic_names: list[str] | None = None,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.group_id = group_id
        self.member_id = member_id
        self.member_epoch = member_epoch
        self.rack_id = rack_id
        self.subscribed_topic_names = subscribed_topic_names
        self.unknown_tagged_fields = unknown_tagged_fields
