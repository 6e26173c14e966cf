"""BrokerHeartbeatResponse. Made by tools/make_messages.py from tables/messages.txt."""

from odradek.protocol.message import Message


class BrokerHeartbeatResponse(Message):
    __slots__ = (
        "error_code",
        "is_caught_up",
        "is_fenced",
        "should_shut_down",
        "throttle_time_ms",
    )

    API_KEY = 63
    VERSIONS = (0, 2)
    FLEXIBLE_FROM = 0
    SCHEMA = """
BrokerHeartbeatResponse response module=clients key=63 versions=0-2 flexible=0+
  ThrottleTimeMs int32 0+
  ErrorCode int16 0+
  IsCaughtUp bool 0+
  IsFenced bool 0+ default=true
  ShouldShutDown bool 0+
"""

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        is_caught_up: bool = False,
        is_fenced: bool = True,
        should_shut_down: bool = False,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.is_caught_up = is_caught_up
        self.is_fenced = is_fenced
        self.should_shut_down = should_shut_down
        self.unknown_tagged_fields = unknown_tagged_fields
