"""AlterClientQuotasRequest. Made by tools/make_messages.py from tables/messages.txt."""

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


class OpData(Message):
    __slots__ = (
        "key",
        "remove",
        "value",
    )

    def __init__(
        self,
        *,
        key: str = "",
        value: float = 0.0,
        remove: bool = False,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.key = key
        self.value = value
        self.remove = remove
        self.unknown_tagged_fields = unknown_tagged_fields


class EntryData(Message):
    __slots__ = (
        "entity",
        "ops",
    )

    def __init__(
        self,
        *,
        entity: list[EntityData] = DEFAULT,
        ops: list[OpData] = DEFAULT,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.entity: list[EntityData] = [] if entity is DEFAULT else entity
        self.ops: list[OpData] = [] if ops is DEFAULT else ops
        self.unknown_tagged_fields = unknown_tagged_fields


class AlterClientQuotasRequest(Message):
    __slots__ = (
        "entries",
        "validate_only",
    )

    API_KEY = 49
    VERSIONS = (0, 1)
    FLEXIBLE_FROM = 1
    SCHEMA = """
AlterClientQuotasRequest request module=clients key=49 versions=0-1 flexible=1+
  Entries []EntryData 0+
    Entity []EntityData 0+
      EntityType string 0+
      EntityName string 0+ nullable=0+
    Ops []OpData 0+
      Key string 0+
      Value float64 0+
      Remove bool 0+
  ValidateOnly bool 0+
"""

    def __init__(
        self,
        *,
        entries: list[EntryData] = DEFAULT,
        validate_only: bool = False,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.entries: list[EntryData] = [] if entries is DEFAULT else entries
        self.validate_only = validate_only
        self.unknown_tagged_fields = unknown_tagged_fields
