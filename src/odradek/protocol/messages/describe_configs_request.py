"""DescribeConfigsRequest. Made by tools/make_messages.py from tables/messages.txt."""

from odradek.protocol.message import DEFAULT, Message


class DescribeConfigsResource(Message):
    __slots__ = (
        "configuration_keys",
        "resource_name",
        "resource_type",
    )

    def __init__(
        self,
        *,
        resource_type: int = 0,
        resource_name: str = "",
        configuration_keys: list[str] | None = DEFAULT,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.resource_type = resource_type
        self.resource_name = resource_name
        self.configuration_keys: list[str] | None = [] if configuration_keys is DEFAULT else configuration_keys
        self.unknown_tagged_fields = unknown_tagged_fields


class DescribeConfigsRequest(Message):
    __slots__ = (
        "include_documentation",
        "include_synonyms",
        "resources",
    )

    API_KEY = 32
    VERSIONS = (1, 4)
    FLEXIBLE_FROM = 4
    SCHEMA = """
DescribeConfigsRequest request module=clients key=32 versions=1-4 flexible=4+
  Resources []DescribeConfigsResource 0+
    ResourceType int8 0+
    ResourceName string 0+
    ConfigurationKeys []string 0+ nullable=0+
  IncludeSynonyms bool 1+
  IncludeDocumentation bool 3+
"""

    def __init__(
        self,
        *,
        resources: list[DescribeConfigsResource] = DEFAULT,
        include_synonyms: bool = False,
        include_documentation: bool = False,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.resources: list[DescribeConfigsResource] = [] if resources is DEFAULT else resources
        self.include_synonyms = include_synonyms
        self.include_documentation = include_documentation
        self.unknown_tagged_fields = unknown_tagged_fields
