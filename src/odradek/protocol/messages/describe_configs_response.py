"""DescribeConfigsResponse. Made by tools/make_messages.py from tables/messages.txt."""

from odradek.protocol.message import DEFAULT, Message


class DescribeConfigsSynonym(Message):
    __slots__ = (
        "name",
        "source",
        "value",
    )

    def __init__(
        self,
        *,
        name: str = "",
        value: str | None = "",
        source: int = 0,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.name = name
        self.value = value
        self.source = source
        self.unknown_tagged_fields = unknown_tagged_fields


class DescribeConfigsResourceResult(Message):
    __slots__ = (
        "config_source",
        "config_type",
        "documentation",
        "is_sensitive",
        "name",
        "read_only",
        "synonyms",
        "value",
    )

    def __init__(
        self,
        *,
        name: str = "",
        value: str | None = "",
        read_only: bool = False,
        config_source: int = -1,
        is_sensitive: bool = False,
        synonyms: list[DescribeConfigsSynonym] = DEFAULT,
        config_type: int = 0,
        documentation: str | None = "",
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.name = name
        self.value = value
        self.read_only = read_only
        self.config_source = config_source
        self.is_sensitive = is_sensitive
        self.synonyms: list[DescribeConfigsSynonym] = [] if synonyms is DEFAULT else synonyms
        self.config_type = config_type
        self.documentation = documentation
        self.unknown_tagged_fields = unknown_tagged_fields


class DescribeConfigsResult(Message):
    __slots__ = (
        "configs",
        "error_code",
        "error_message",
        "resource_name",
        "resource_type",
    )

    def __init__(
        self,
        *,
        error_code: int = 0,
        error_message: str | None = "",
        resource_type: int = 0,
        resource_name: str = "",
        configs: list[DescribeConfigsResourceResult] = DEFAULT,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.error_code = error_code
        self.error_message = error_message
        self.resource_type = resource_type
        self.resource_name = resource_name
        self.configs: list[DescribeConfigsResourceResult] = [] if configs is DEFAULT else configs
        self.unknown_tagged_fields = unknown_tagged_fields


class DescribeConfigsResponse(Message):
    __slots__ = (
        "results",
        "throttle_time_ms",
    )

    API_KEY = 32
    VERSIONS = (1, 4)
    FLEXIBLE_FROM = 4
    SCHEMA = """
DescribeConfigsResponse response module=clients key=32 versions=1-4 flexible=4+
  ThrottleTimeMs int32 0+
  Results []DescribeConfigsResult 0+
    ErrorCode int16 0+
    ErrorMessage string 0+ nullable=0+
    ResourceType int8 0+
    ResourceName string 0+
    Configs []DescribeConfigsResourceResult 0+
      Name string 0+
      Value string 0+ nullable=0+
      ReadOnly bool 0+
      ConfigSource int8 1+ default=-1 ignorable
      IsSensitive bool 0+
      Synonyms []DescribeConfigsSynonym 1+ ignorable
        Name string 1+
        Value string 1+ nullable=0+
        Source int8 1+
      ConfigType int8 3+ ignorable
      Documentation string 3+ nullable=0+ ignorable
"""

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        results: list[DescribeConfigsResult] = DEFAULT,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.results: list[DescribeConfigsResult] = [] if results is DEFAULT else results
        self.unknown_tagged_fields = unknown_tagged_fields
