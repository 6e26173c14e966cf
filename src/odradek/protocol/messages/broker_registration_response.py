"""BrokerRegistrationResponse. Made by tools/make_messages.py from tables/messages.txt."""

from odradek.protocol.message import Message


class BrokerRegistrationResponse(Message):
    __slots__ = (
        "broker_epoch",
        "error_code",
        "throttle_time_ms",
    )

    API_KEY = 62
    VERSIONS = (0, 4)
    FLEXIBLE_FROM = 0
    SCHEMA = """
BrokerRegistrationResponse response module=clients key=62 versions=0-4 flexible=0+
  ThrottleTimeMs int32 0+
  ErrorCode int16 0+
  BrokerEpoch int64 0+ default=-1
"""

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        broker_epoch: int = -1,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.broker_epoch = broker_epoch
        self.unknown_tagged_fields = unknown_tagged_fields
