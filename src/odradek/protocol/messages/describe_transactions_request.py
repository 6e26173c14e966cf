"""DescribeTransactionsRequest. Made by tools/make_messages.py from tables/messages.txt."""

from odradek.protocol.message import DEFAULT, Message


class DescribeTransactionsRequest(Message):
    __slots__ = ("transactional_ids",)

    API_KEY = 65
    VERSIONS = (0, 0)
    FLEXIBLE_FROM = 0
    SCHEMA = """
DescribeTransactionsRequest request module=clients key=65 versions=0 flexible=0+
  TransactionalIds []string 0+ entity=transactionalId
"""

    def __init__(
        self,
        *,
        transactional_ids: list[str] = DEFAULT,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.transactional_ids: list[str] = [] if transactional_ids is DEFAULT else transactional_ids
        self.unknown_tagged_fields = unknown_tagged_fields
