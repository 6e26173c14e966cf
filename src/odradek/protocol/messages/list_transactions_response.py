"""ListTransactionsResponse. Made by tools/make_messages.py from tables/messages.txt."""

from odradek.protocol.message import DEFAULT, Message


class TransactionState(Message):
    __slots__ = (
        "producer_id",
        "transaction_state",
        "transactional_id",
    )

    def __init__(
        self,
        *,
        transactional_id: str = "",
        producer_id: int = 0,
        transaction_state: str = "",
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.transactional_id = transactional_id
        self.producer_id = producer_id
        self.transaction_state = transaction_state
        self.unknown_tagged_fields = unknown_tagged_fields


class ListTransactionsResponse(Message):
    __slots__ = (
        "error_code",
        "throttle_time_ms",
        "transaction_states",
        "unknown_state_filters",
    )

    API_KEY = 66
    VERSIONS = (0, 2)
    FLEXIBLE_FROM = 0
    SCHEMA = """
ListTransactionsResponse response module=clients key=66 versions=0-2 flexible=0+
  ThrottleTimeMs int32 0+
  ErrorCode int16 0+
  UnknownStateFilters []string 0+
  TransactionStates []TransactionState 0+
    TransactionalId string 0+ entity=transactionalId
    ProducerId int64 0+ entity=producerId
    TransactionState string 0+
"""

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        unknown_state_filters: list[str] = DEFAULT,
        transaction_states: list[TransactionState] = DEFAULT,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.unknown_state_filters: list[str] = [] if unknown_state_filters is DEFAULT else unknown_state_filters
        self.transaction_states: list[TransactionState] = [] if transaction_states is DEFAULT else transaction_states
        self.unknown_tagged_fields = unknown_tagged_fields
