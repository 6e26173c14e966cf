"""SyncGroupResponse. Made by tools/make_messages.py from tables/messages.txt."""

from odradek.protocol.message import Message


class SyncGroupResponse(Message):
    __slots__ = (
        "assignment",
        "error_code",
        "protocol_name",
        "protocol_type",
        "throttle_time_ms",
    )

    API_KEY = 14
    VERSIONS = (0, 5)
    FLEXIBLE_FROM = 4
    SCHEMA = """
SyncGroupResponse response module=clients key=14 versions=0-5 flexible=4+
  ThrottleTimeMs int32 1+ ignorable
  ErrorCode int16 0+
  ProtocolType string 5+ nullable=5+ default=null ignorable
  ProtocolName string 5+ nullable=5+ default=null ignorable
  Assignment bytes 0+
"""

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        protocol_type: str | None = None,
        protocol_name: str | None = None,
        assignment: bytes = b"",
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.protocol_type = protocol_type
        self.protocol_name = protocol_name
        self.assignment = assignment
        self.unknown_tagged_fields = unknown_tagged_fields
