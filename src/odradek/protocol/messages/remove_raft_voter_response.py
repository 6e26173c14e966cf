"""RemoveRaftVoterResponse. Made by tools/make_messages.py from tables/messages.txt."""

from odradek.protocol.message import Message


class RemoveRaftVoterResponse(Message):
    __slots__ = (
        "error_code",
        "error_message",
        "throttle_time_ms",
    )

    API_KEY = 81
    VERSIONS = (0, 0)
    FLEXIBLE_FROM = 0
    SCHEMA = """
RemoveRaftVoterResponse response module=clients key=81 versions=0 flexible=0+
  ThrottleTimeMs int32 0+
  ErrorCode int16 0+
  ErrorMessage string 0+ nullable=0+ ignorable
"""

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        error_message: str | None = "",
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.error_message = error_message
        self.unknown_tagged_fields = unknown_tagged_fields
