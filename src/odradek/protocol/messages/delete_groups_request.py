"""DeleteGroupsRequest. Made by tools/make_messages.py from tables/messages.txt."""

from odradek.protocol.message import DEFAULT, Message


class DeleteGroupsRequest(Message):
    __slots__ = ("groups_names",)

    API_KEY = 42
    VERSIONS = (0, 3)
    FLEXIBLE_FROM = 2
    SCHEMA = """
DeleteGroupsRequest request module=clients key=42 versions=0-3 flexible=2+
  GroupsNames []string 0+ entity=groupId
"""

    def __init__(
        self,
        *,
        groups_names: list[str] = DEFAULT,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.groups_names: list[str] = [] if groups_names is DEFAULT else groups_names
        self.unknown_tagged_fields = unknown_tagged_fields
