"""AlterConfigsRequest. Made by tools/make_messages.py from tables/messages.txt."""

from odradek.protocol.message import DEFAULT, Message


class AlterableConfig(Message):
    __slots__ = (
        "name",
        "value",
    )

    def __init__(
        self,
        *,
        name: str = "",
        value: str | None = "",
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.name = name
        self.value = value
        self.unknown_tagged_fields = unknown_tagged_fields


class AlterConfigsResource(Message):
    __slots__ = (
        "configs",
        "resource_name",
        "resource_type",
    )

    def __init__(
        self,
        *,
        resource_type: int = 0,
        resource_name: str = "",
        configs: list[AlterableConfig] = DEFAULT,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.resource_type = resource_type
        self.resource_name = resource_name
        self.configs: list[AlterableConfig] = [] if configs is DEFAULT else configs
        self.unknown_tagged_fields = unknown_tagged_fields


class AlterConfigsRequest(Message):
    __slots__ = (
        "resources",
        "validate_only",
    )

    API_KEY = 33
    VERSIONS = (0, 2)
    FLEXIBLE_FROM = 2
    SCHEMA = """
AlterConfigsRequest request module=clients key=33 versions=0-2 flexible=2+
  Resources []AlterConfigsResource 0+
    ResourceType int8 0+ key
    ResourceName string 0+ key
    Configs []AlterableConfig 0+
      Name string 0+ key
      Value string 0+ nullable=0+
  ValidateOnly bool 0+
"""

    def __init__(
        self,
        *,
        resources: list[AlterConfigsResource] = DEFAULT,
        validate_only: bool = False,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.resources: list[AlterConfigsResource] = [] if resources is DEFAULT else resources
        self.validate_only = validate_only
        self.unknown_tagged_fields = unknown_tagged_fields
