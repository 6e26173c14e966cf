"""ExpireDelegationTokenResponse. Made by tools/make_messages.py from tables/messages.txt."""

from odradek.protocol.message import Message


class ExpireDelegationTokenResponse(Message):
    __slots__ = (
        "error_code",
        "expiry_timestamp_ms",
        "throttle_time_ms",
    )

    API_KEY = 40
    VERSIONS = (1, 2)
    FLEXIBLE_FROM = 2
    SCHEMA = """
ExpireDelegationTokenResponse response module=clients key=40 versions=1-2 flexible=2+
  ErrorCode int16 0+
  ExpiryTimestampMs int64 0+
  ThrottleTimeMs int32 0+
"""

    def __init__(
        self,
        *,
        error_code: int = 0,
        expiry_timestamp_ms: int = 0,
        throttle_time_ms: int = 0,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.error_code = error_code
        self.expiry_timestamp_ms = expiry_timestamp_ms
        self.throttle_time_ms = throttle_time_ms
        self.unknown_tagged_fields = unknown_tagged_fields
