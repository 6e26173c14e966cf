"""ListConfigResourcesRequest. Made by tools/make_messages.py from tables/messages.txt."""

from odradek.protocol.message import DEFAULT, Message


class ListConfigResourcesRequest(Message):
    __slots__ = ("resource_types",)

    API_KEY = 74
    VERSIONS = (0, 1)
    FLEXIBLE_FROM = 0
    SCHEMA = """
ListConfigResourcesRequest request module=clients key=74 versions=0-1 flexible=0+
  ResourceTypes []int8 1+
"""

    def __init__(
        self,
        *,
        resource_types: list[int] = DEFAULT,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.resource_types: list[int] = [] if resource_types is DEFAULT else resource_types
        self.unknown_tagged_fields = unknown_tagged_fields
