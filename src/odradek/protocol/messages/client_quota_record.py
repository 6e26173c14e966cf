"""ClientQuotaRecord. Made by tools/make_messages.py from tables/messages.txt."""

from odradek.protocol.message import DEFAULT, Message


class EntityData(Message):
    __slots__ = (
        "entity_name",
        "entity_type",
    )

    def __init__(
        self,
        *,
        entity_type: str = "",
        entity_name: str | None = "",
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.entity_type = entity_type
        self.entity_name = entity_name
        self.unknown_tagged_fields = unknown_tagged_fields


class ClientQuotaRecord(Message):
    __slots__ = (
        "entity",
        "key",
        "remove",
        "value",
    )

    API_KEY = 14
    VERSIONS = (0, 0)
    FLEXIBLE_FROM = 0
    SCHEMA = """
ClientQuotaRecord metadata module=metadata key=14 versions=0 flexible=0+
  Entity []EntityData 0+
    EntityType string 0+
    EntityName string 0+ nullable=0+
  Key string 0+
  Value float64 0+
  Remove bool 0+
"""

    def __init__(
        self,
        *,
        entity: list[EntityData] = DEFAULT,
        key: str = "",
        value: float = 0.0,
        remove: bool = False,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.entity: list[EntityData] = [] if entity is DEFAULT else entity
        self.key = key
        self.value = value
        self.remove = remove
        self.unknown_tagged_fields = unknown_tagged_fields
