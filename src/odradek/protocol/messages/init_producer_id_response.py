"""InitProducerIdResponse. Made by tools/make_messages.py from tables/messages.txt."""

from odradek.protocol.message import Message


class InitProducerIdResponse(Message):
    __slots__ = (
        "error_code",
        "ongoing_txn_producer_epoch",
        "ongoing_txn_producer_id",
        "producer_epoch",
        "producer_id",
        "throttle_time_ms",
    )

    API_KEY = 22
    VERSIONS = (0, 6)
    FLEXIBLE_FROM = 2
    SCHEMA = """
InitProducerIdResponse response module=clients key=22 versions=0-6 flexible=2+
  ThrottleTimeMs int32 0+ ignorable
  ErrorCode int16 0+
  ProducerId int64 0+ default=-1 entity=producerId
  ProducerEpoch int16 0+
  OngoingTxnProducerId int64 6+ default=-1 entity=producerId
  OngoingTxnProducerEpoch int16 6+ default=-1
"""

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        producer_id: int = -1,
        producer_epoch: int = 0,
        ongoing_txn_producer_id: int = -1,
        ongoing_txn_producer_epoch: int = -1,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.producer_id = producer_id
        self.producer_epoch = producer_epoch
        self.ongoing_txn_producer_id = ongoing_txn_producer_id
        self.ongoing_txn_producer_epoch = ongoing_txn_producer_epoch
        self.unknown_tagged_fields = unknown_tagged_fields
