"""AddOffsetsToTxnResponse. Made by tools/make_messages.py from tables/messages.txt."""

from odradek.protocol.message import Message


class AddOffsetsToTxnResponse(Message):
    __slots__ = (
        "error_code",
        "throttle_time_ms",
    )

    API_KEY = 25
    VERSIONS = (0, 4)
    FLEXIBLE_FROM = 3
    SCHEMA = """
AddOffsetsToTxnResponse response module=clients key=25 versions=0-4 flexible=3+
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
