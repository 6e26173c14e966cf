"""ListGroupsRequest. Made by tools/make_messages.py from tables/messages.txt."""

from odradek.protocol.message import DEFAULT, Message


class ListGroupsRequest(Message):
    __slots__ = (
        "states_filter",
        "types_filter",
    )

    API_KEY = 16
    VERSIONS = (0, 5)
    FLEXIBLE_FROM = 3
    SCHEMA = """
ListGroupsRequest request module=clients key=16 versions=0-5 flexible=3+
  StatesFilter []string 4+
  TypesFilter []string 5+
"""

    def __init__(
        self,
        *,
        states_filter: list[str] = DEFAULT,
        types_filter: list[str] = DEFAULT,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.states_filter: list[str] = [] if states_filter is DEFAULT else states_filter
        self.types_filter: list[str] = [] if types_filter is DEFAULT else types_filter
        self.unknown_tagged_fields = unknown_tagged_fields
