"""TransactionLogKey. Made by tools/make_messages.py from tables/messages.txt."""

from odradek.protocol.message import Message


class TransactionLogKey(Message):
    __slots__ = ("transactional_id",)

    API_KEY = 0
    VERSIONS = (0, 0)
    SCHEMA = """
TransactionLogKey coordinator-key module=transaction-coordinator key=0 versions=0 flexible=none
  TransactionalId string 0
"""

    def __init__(
        self,
        *,
        transactional_id: str = "",
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.transactional_id = transactional_id
        self.unknown_tagged_fields = unknown_tagged_fields
