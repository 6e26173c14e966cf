"""ConsumerGroupDescribeRequest. Made by tools/make_messages.py from tables/messages.txt."""

from odradek.protocol.message import DEFAULT, Message


class ConsumerGroupDescribeRequest(Message):
    __slots__ = (
        "group_ids",
        "include_authorized_operations",
    )

    API_KEY = 69
    VERSIONS = (0, 1)
    FLEXIBLE_FROM = 0
    SCHEMA = """
ConsumerGroupDescribeRequest request module=clients key=69 versions=0-1 flexible=0+
  GroupIds []string 0+ entity=groupId
  IncludeAuthorizedOperations bool 0+
"""

    def __init__(
        self,
        *,
        group_ids: list[str] = DEFAULT,
        include_authorized_operations: bool = False,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.group_ids: list[str] = [] if group_ids is DEFAULT else group_ids
        self.include_authorized_operations = include_authorized_operations
        self.unknown_tagged_fields = unknown_tagged_fields
