"""FindCoordinatorResponse. Made by tools/make_messages.py from tables/messages.txt."""

from odradek.protocol.message import DEFAULT, Message


class Coordinator(Message):
    __slots__ = (
        "error_code",
        "error_message",
        "host",
        "key",
        "node_id",
        "port",
    )

    def __init__(
        self,
        *,
        key: str = "",
        node_id: int = 0,
        host: str = "",
        port: int = 0,
        error_code: int = 0,
        error_message: str | None = "",
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.key = key
        self.node_id = node_id
        self.host = host
        self.port = port
        self.error_code = error_code
        self.error_message = error_message
        self.unknown_tagged_fields = unknown_tagged_fields


class FindCoordinatorResponse(Message):
    __slots__ = (
        "coordinators",
        "error_code",
        "error_message",
        "host",
        "node_id",
        "port",
        "throttle_time_ms",
    )

    API_KEY = 10
    VERSIONS = (0, 6)
    FLEXIBLE_FROM = 3
    SCHEMA = """
FindCoordinatorResponse response module=clients key=10 versions=0-6 flexible=3+
  ThrottleTimeMs int32 1+ ignorable
  ErrorCode int16 0-3
  ErrorMessage string 1-3 nullable=1-3 ignorable
  NodeId int32 0-3 entity=brokerId
  Host string 0-3
  Port int32 0-3
  Coordinators []Coordinator 4+
    Key string 4+
    NodeId int32 4+ entity=brokerId
    Host string 4+
    Port int32 4+
    ErrorCode int16 4+
    ErrorMessage string 4+ nullable=4+ ignorable
"""

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        error_message: str | None = "",
        node_id: int = 0,
        host: str = "",
        port: int = 0,
        coordinators: list[Coordinator] = DEFAULT,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.error_message = error_message
        self.node_id = node_id
        self.host = host
        self.port = port
        self.coordinators: list[Coordinator] = [] if coordinators is DEFAULT else coordinators
        self.unknown_tagged_fields = unknown_tagged_fields
