"""DescribeClusterResponse. Made by tools/make_messages.py from tables/messages.txt."""

from odradek.protocol.message import DEFAULT, Message


class DescribeClusterBroker(Message):
    __slots__ = (
        "broker_id",
        "host",
        "is_fenced",
        "port",
        "rack",
    )

    def __init__(
        self,
        *,
        broker_id: int = 0,
        host: str = "",
        port: int = 0,
        rack: str | None = None,
        is_fenced: bool = False,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.broker_id = broker_id
        self.host = host
        self.port = port
        self.rack = rack
        self.is_fenced = is_fenced
        self.unknown_tagged_fields = unknown_tagged_fields


class DescribeClusterResponse(Message):
    __slots__ = (
        "brokers",
        "cluster_authorized_operations",
        "cluster_id",
        "controller_id",
        "endpoint_type",
        "error_code",
        "error_message",
        "throttle_time_ms",
    )

    API_KEY = 60
    VERSIONS = (0, 2)
    FLEXIBLE_FROM = 0
    SCHEMA = """
DescribeClusterResponse response module=clients key=60 versions=0-2 flexible=0+
  ThrottleTimeMs int32 0+
  ErrorCode int16 0+
  ErrorMessage string 0+ nullable=0+ default=null
  EndpointType int8 1+ default=1
  ClusterId string 0+
  ControllerId int32 0+ default=-1 entity=brokerId
  Brokers []DescribeClusterBroker 0+
    BrokerId int32 0+ key entity=brokerId
    Host string 0+
    Port int32 0+
    Rack string 0+ nullable=0+ default=null
    IsFenced bool 2+
  ClusterAuthorizedOperations int32 0+ default=-2147483648
"""

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        error_message: str | None = None,
        endpoint_type: int = 1,
        cluster_id: str = "",
        controller_id: int = -1,
        brokers: list[DescribeClusterBroker] = DEFAULT,
        cluster_authorized_operations: int = -2147483648,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.error_message = error_message
        self.endpoint_type = endpoint_type
        self.cluster_id = cluster_id
        self.controller_id = controller_id
        self.brokers: list[DescribeClusterBroker] = [] if brokers is DEFAULT else brokers
        self.cluster_authorized_operations = cluster_authorized_operations
        self.unknown_tagged_fields = unknown_tagged_fields
