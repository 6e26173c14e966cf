"""EndTxnResponse. Made by tools/make_messages.py from tables/messages.txt."""

from odradek.protocol.message import Message


class EndTxnResponse(Message):
    __slots__ = (
        "error_code",
        "producer_epoch",
        "producer_id",
        "throttle_time_ms",
    )

    API_KEY = 26
    VERSIONS = (0, 5)
    FLEXIBLE_FROM = 3
    SCHEMA = """
EndTxnResponse response module=clients key=26 versions=0-5 flexible=3+
  ThrottleTimeMs int32 0+
  ErrorCode int16 0+
  ProducerId int64 5+ default=-1 ignorable entity=producerId
  ProducerEpoch int16 5+ default=-1 ignorable
"""

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        producer_id: int = -1,
        producer_epoch: int = -1,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.producer_id = producer_id
        self.producer_epoch = producer_epoch
        self.unknown_tagged_fields = unknown_tagged_fields
