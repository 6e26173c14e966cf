"""DescribeClientQuotasResponse. Made by tools/make_messages.py from tables/messages.txt."""

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


class ValueData(Message):
    __slots__ = (
        "key",
        "value",
    )

    def __init__(
        self,
        *,
        key: str = "",
        value: float = 0.0,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.key = key
        self.value = value
        self.unknown_tagged_fields = unknown_tagged_fields


class EntryData(Message):
    __slots__ = (
        "entity",
        "values",
    )

    def __init__(
        self,
        *,
        entity: list[EntityData] = DEFAULT,
        values: list[ValueData] = DEFAULT,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.entity: list[EntityData] = [] if entity is DEFAULT else entity
        self.values: list[ValueData] = [] if values is DEFAULT else values
        self.unknown_tagged_fields = unknown_tagged_fields


class DescribeClientQuotasResponse(Message):
    __slots__ = (
        "entries",
        "error_code",
        "error_message",
        "throttle_time_ms",
    )

    API_KEY = 48
    VERSIONS = (0, 1)
    FLEXIBLE_FROM = 1
    SCHEMA = """
DescribeClientQuotasResponse response module=clients key=48 versions=0-1 flexible=1+
  ThrottleTimeMs int32 0+
  ErrorCode int16 0+
  ErrorMessage string 0+ nullable=0+
  Entries []EntryData 0+ nullable=0+
    Entity []EntityData 0+
      EntityType string 0+
      EntityName string 0+ nullable=0+
    Values []ValueData 0+
      Key string 0+
      Value float64 0+
"""

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        error_message: str | None = "",
        entries: list[EntryData] | None = DEFAULT,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.error_message = error_message
        self.entries: list[EntryData] | None = [] if entries is DEFAULT else entries
        self.unknown_tagged_fields = unknown_tagged_fields
