"""ShareGroupMemberMetadataValue. Made by tools/make_messages.py from tables/messages.txt."""

from odradek.protocol.message import DEFAULT, Message


class ShareGroupMemberMetadataValue(Message):
    __slots__ = (
        "client_host",
        "client_id",
        "rack_id",
        "subscribed_topic_names",
    )

    API_KEY = 10
    VERSIONS = (0, 0)
    FLEXIBLE_FROM = 0
    SCHEMA = """
ShareGroupMemberMetadataValue coordinator-value module=group-coordinator key=10 versions=0 flexible=0+
  RackId string 0+ nullable=0+
  ClientId string 0+
  ClientHost string 0+
  SubscribedTopicNames []string 0+
"""

    def __init__(
        self,
        *,
        rack_id: str | None = "",
        client_id: str = "",
        client_host: str = "",
        subscribed_topic_names: list[str] = DEFAULT,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.rack_id = rack_id
        self.client_id = client_id
        self.client_host = client_host
        self.subscribed_topic_names: list[str] = [] if subscribed_topic_names is DEFAULT else subscribed_topic_names
        self.unknown_tagged_fields = unknown_tagged_fields
