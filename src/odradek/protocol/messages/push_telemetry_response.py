"""PushTelemetryResponse. Made by tools/make_messages.py from tables/messages.txt."""

from odradek.protocol.message import Message


class PushTelemetryResponse(Message):
    __slots__ = (
        "error_code",
        "throttle_time_ms",
    )

    API_KEY = 72
    VERSIONS = (0, 0)
    FLEXIBLE_FROM = 0
    SCHEMA = """
PushTelemetryResponse response module=clients key=72 versions=0 flexible=0+
  ThrottleTimeMs int32 0+
  ErrorCode int16 0+
"""

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.unknown_tagged_fields = unknown_tagged_fields
