"""StreamsGroupDescribeRequest. Made by tools/make_messages.py from tables/messages.txt."""

from odradek.protocol.message import DEFAULT, Message


class StreamsGroupDescribeRequest(Message):
    __slots__ = (
        "group_ids",
        "include_authorized_operations",
        "include_topology_description",
    )

    API_KEY = 89
    VERSIONS = (0, 1)
    FLEXIBLE_FROM = 0
    SCHEMA = """
StreamsGroupDescribeRequest request module=clients key=89 versions=0-1 flexible=0+
  GroupIds []string 0+ entity=groupId
  IncludeAuthorizedOperations bool 0+
  IncludeTopologyDescription bool 1+
"""

    def __init__(
        self,
        *,
        group_ids: list[str] = DEFAULT,
        include_authorized_operations: bool = False,
        include_topology_description: bool = False,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.group_ids: list[str] = [] if group_ids is DEFAULT else group_ids
        self.include_authorized_operations = include_authorized_operations
        self.include_topology_description = include_topology_description
        self.unknown_tagged_fields = unknown_tagged_fields
