"""AlterClientQuotasResponse. Made by tools/make_messages.py from tables/messages.txt."""

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


class EntryData(Message):
    __slots__ = (
        "entity",
        "error_code",
        "error_message",
    )

    def __init__(
        self,
        *,
        error_code: int = 0,
        error_message: str | None = "",
        entity: list[EntityData] = DEFAULT,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.error_code = error_code
        self.error_message = error_message
        self.entity: list[EntityData] = [] if entity is DEFAULT else entity
        self.unknown_tagged_fields = unknown_tagged_fields


class AlterClientQuotasResponse(Message):
    __slots__ = (
        "entries",
        "throttle_time_ms",
    )

    API_KEY = 49
    VERSIONS = (0, 1)
    FLEXIBLE_FROM = 1
    SCHEMA = """
AlterClientQuotasResponse response module=clients key=49 versions=0-1 flexible=1+
  ThrottleTimeMs int32 0+
  Entries []EntryData 0+
    ErrorCode int16 0+
    ErrorMessage string 0+ nullable=0+
    Entity []EntityData 0+
      EntityType string 0+
      EntityName string 0+ nullable=0+
"""

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        entries: list[EntryData] = DEFAULT,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.entries: list[EntryData] = [] if entries is DEFAULT else entries
        self.unknown_tagged_fields = unknown_tagged_fields
