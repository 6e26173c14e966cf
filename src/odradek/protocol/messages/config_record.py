"""ConfigRecord. Made by tools/make_messages.py from tables/messages.txt."""

from odradek.protocol.message import Message


class ConfigRecord(Message):
    __slots__ = (
        "name",
        "resource_name",
        "resource_type",
        "value",
    )

    API_KEY = 4
    VERSIONS = (0, 0)
    FLEXIBLE_FROM = 0
    SCHEMA = """
ConfigRecord metadata module=metadata key=4 versions=0 flexible=0+
  ResourceType int8 0+
  ResourceName string 0+
  Name string 0+
  Value string 0+ nullable=0+
"""

    def __init__(
        self,
        *,
        resource_type: int = 0,
        resource_name: str = "",
        name: str = "",
        value: str | None = "",
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.resource_type = resource_type
        self.resource_name = resource_name
        self.name = name
        self.value = value
        self.unknown_tagged_fields = unknown_tagged_fields
