"""StreamsGroupMemberMetadataValue. Made by tools/make_messages.py from tables/messages.txt."""

from odradek.protocol.message import DEFAULT, Message


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


class StreamsGroupMemberMetadataValue(Message):
    __slots__ = (
        "client_host",
        "client_id",
        "client_tags",
        "instance_id",
        "process_id",
        "rack_id",
        "rebalance_timeout_ms",
        "topology_epoch",
        "user_endpoint",
    )

    API_KEY = 19
    VERSIONS = (0, 0)
    FLEXIBLE_FROM = 0
    SCHEMA = """
StreamsGroupMemberMetadataValue coordinator-value module=group-coordinator key=19 versions=0 flexible=0+
  struct Endpoint
    Host string 0+
    Port uint16 0+
  struct KeyValue
    Key string 0+
    Value string 0+
  InstanceId string 0+ nullable=0+
  RackId string 0+ nullable=0+
  ClientId string 0+
  ClientHost string 0+
  RebalanceTimeoutMs int32 0+ default=-1
  TopologyEpoch int32 0+
  ProcessId string 0+
  UserEndpoint Endpoint 0+ nullable=0+ default=null
  ClientTags []KeyValue 0+
"""

    def __init__(
        self,
        *,
        instance_id: str | None = "",
        rack_id: str | None = "",
        client_id: str = "",
        client_host: str = "",
        rebalance_timeout_ms: int = -1,
        topology_epoch: int = 0,
        process_id: str = "",
        user_endpoint: Endpoint | None = None,
        client_tags: list[KeyValue] = DEFAULT,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.instance_id = instance_id
        self.rack_id = rack_id
        self.client_id = client_id
        self.client_host = client_host
        self.rebalance_timeout_ms = rebalance_timeout_ms
        self.topology_epoch = topology_epoch
        self.process_id = process_id
        self.user_endpoint = user_endpoint
        self.client_tags: list[KeyValue] = [] if client_tags is DEFAULT else client_tags
        self.unknown_tagged_fields = unknown_tagged_fields
