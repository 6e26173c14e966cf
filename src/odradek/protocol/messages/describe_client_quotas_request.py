"""DescribeClientQuotasRequest. Made by tools/make_messages.py from tables/messages.txt."""

from odradek.protocol.message import DEFAULT, Message


class ComponentData(Message):
    __slots__ = (
        "entity_type",
        "match",
        "match_type",
    )

    def __init__(
        self,
        *,
        entity_type: str = "",
        match_type: int = 0,
        match: str | None = "",
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.entity_type = entity_type
        self.match_type = match_type
        self.match = match
        self.unknown_tagged_fields = unknown_tagged_fields


class DescribeClientQuotasRequest(Message):
    __slots__ = (
        "components",
        "strict",
    )

    API_KEY = 48
    VERSIONS = (0, 1)
    FLEXIBLE_FROM = 1
    SCHEMA = """
DescribeClientQuotasRequest request module=clients key=48 versions=0-1 flexible=1+
  Components []ComponentData 0+
    EntityType string 0+
    MatchType int8 0+
    Match string 0+ nullable=0+
  Strict bool 0+
"""

    def __init__(
        self,
        *,
        components: list[ComponentData] = DEFAULT,
        strict: bool = False,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.components: list[ComponentData] = [] if components is DEFAULT else components
        self.strict = strict
        self.unknown_tagged_fields = unknown_tagged_fields
