"""ListTransactionsRequest. Made by tools/make_messages.py from tables/messages.txt."""

from odradek.protocol.message import DEFAULT, Message


class ListTransactionsRequest(Message):
    __slots__ = (
        "duration_filter",
        "producer_id_filters",
        "state_filters",
        "transactional_id_pattern",
    )

    API_KEY = 66
    VERSIONS = (0, 2)
    FLEXIBLE_FROM = 0
    SCHEMA = """
ListTransactionsRequest request module=clients key=66 versions=0-2 flexible=0+
  StateFilters []string 0+
  ProducerIdFilters []int64 0+ entity=producerId
  DurationFilter int64 1+ default=-1
  TransactionalIdPattern string 2+ nullable=2+ default=null
"""

    def __init__(
        self,
        *,
        state_filters: list[str] = DEFAULT,
        producer_id_filters: list[int] = DEFAULT,
        duration_filter: int = -1,
        transactional_id_pattern: str | None = None,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.state_filters: list[str] = [] if state_filters is DEFAULT else state_filters
        self.producer_id_filters: list[int] = [] if producer_id_filters is DEFAULT else producer_id_filters
        self.duration_filter = duration_filter
        self.transactional_id_pattern = transactional_id_pattern
        self.unknown_tagged_fields = unknown_tagged_fields
