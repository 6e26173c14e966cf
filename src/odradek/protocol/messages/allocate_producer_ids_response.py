"""AllocateProducerIdsResponse. Made by tools/make_messages.py from tables/messages.txt."""

from odradek.protocol.message import Message


class AllocateProducerIdsResponse(Message):
    __slots__ = (
        "error_code",
        "producer_id_len",
        "producer_id_start",
        "throttle_time_ms",
    )

    API_KEY = 67
    VERSIONS = (0, 0)
    FLEXIBLE_FROM = 0
    SCHEMA = """
AllocateProducerIdsResponse response module=clients key=67 versions=0 flexible=0+
  ThrottleTimeMs int32 0+
  ErrorCode int16 0+
  ProducerIdStart int64 0+ entity=producerId
  ProducerIdLen int32 0+
"""

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        producer_id_start: int = 0,
        producer_id_len: int = 0,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.producer_id_start = producer_id_start
        self.producer_id_len = producer_id_len
        self.unknown_tagged_fields = unknown_tagged_fields
