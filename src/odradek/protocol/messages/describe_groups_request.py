"""DescribeGroupsRequest. Made by tools/make_messages.py from tables/messages.txt."""

from odradek.protocol.message import DEFAULT, Message


class DescribeGroupsRequest(Message):
    __slots__ = (
        "groups",
        "include_authorized_operations",
    )

    API_KEY = 15
    VERSIONS = (0, 6)
    FLEXIBLE_FROM = 5
    SCHEMA = """
DescribeGroupsRequest request module=clients key=15 versions=0-6 flexible=5+
  Groups []string 0+ entity=groupId
  IncludeAuthorizedOperations bool 3+
"""

    def __init__(
        self,
        *,
        groups: list[str] = DEFAULT,
        include_authorized_operations: bool = False,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.groups: list[str] = [] if groups is DEFAULT else groups
        self.include_authorized_operations = include_authorized_operations
        self.unknown_tagged_fields = unknown_tagged_fields
