"""ConsumerGroupMemberMetadataValue. Made by tools/make_messages.py from tables/messages.txt."""

from odradek.protocol.message import DEFAULT, Message


class ClassicProtocol(Message):
    __slots__ = (
        "metadata",
        "name",
    )

    def __init__(
        self,
        *,
        name: str = "",
        metadata: bytes = b"",
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.name = name
        self.metadata = metadata
        self.unknown_tagged_fields = unknown_tagged_fields


class ClassicMemberMetadata(Message):
    __slots__ = (
        "session_timeout_ms",
        "supported_protocols",
    )

    def __init__(
        self,
        *,
        session_timeout_ms: int = 0,
        supported_protocols: list[ClassicProtocol] = DEFAULT,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.session_timeout_ms = session_timeout_ms
        self.supported_protocols: list[ClassicProtocol] = [] if supported_protocols is DEFAULT else supported_protocols
        self.unknown_tagged_fields = unknown_tagged_fields


class ConsumerGroupMemberMetadataValue(Message):
    __slots__ = (
        "classic_member_metadata",
        "client_host",
        "client_id",
        "instance_id",
        "rack_id",
        "rebalance_timeout_ms",
        "server_assignor",
        "subscribed_topic_names",
        "subscribed_topic_regex",
    )

    API_KEY = 5
    VERSIONS = (0, 0)
    FLEXIBLE_FROM = 0
    SCHEMA = """
ConsumerGroupMemberMetadataValue coordinator-value module=group-coordinator key=5 versions=0 flexible=0+
  InstanceId string 0+ nullable=0+
  RackId string 0+ nullable=0+
  ClientId string 0+
  ClientHost string 0+
  SubscribedTopicNames []string 0+
  SubscribedTopicRegex string 0+ nullable=0+
  RebalanceTimeoutMs int32 0+ default=-1
  ServerAssignor string 0+ nullable=0+
  ClassicMemberMetadata ClassicMemberMetadata 0+ nullable=0+ tag=0
    SessionTimeoutMs int32 0+
    SupportedProtocols []ClassicProtocol 0+
      Name string 0+
      Metadata bytes 0+
"""

    def __init__(
        self,
        *,
        instance_id: str | None = "",
        rack_id: str | None = "",
        client_id: str = "",
        client_host: str = "",
        subscribed_topic_names: list[str] = DEFAULT,
        subscribed_topic_regex: str | None = "",
        rebalance_timeout_ms: int = -1,
        server_assignor: str | None = "",
        classic_member_metadata: ClassicMemberMetadata | None = DEFAULT,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.instance_id = instance_id
        self.rack_id = rack_id
        self.client_id = client_id
        self.client_host = client_host
        self.subscribed_topic_names: list[str] = [] if subscribed_topic_names is DEFAULT else subscribed_topic_names
        self.subscribed_topic_regex = subscribed_topic_regex
        self.rebalance_timeout_ms = rebalance_timeout_ms
        self.server_assignor = server_assignor
        self.classic_member_metadata: ClassicMemberMetadata | None = (
            ClassicMemberMetadata() if classic_member_metadata is DEFAULT else classic_member_metadata
        )
        self.unknown_tagged_fields = unknown_tagged_fields
