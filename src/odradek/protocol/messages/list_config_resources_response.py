"""ListConfigResourcesResponse. Made by tools/make_messages.py from tables/messages.txt."""

from odradek.protocol.message import DEFAULT, Message


class ConfigResource(Message):
    __slots__ = (
        "resource_name",
        "resource_type",
    )

    def __init__(
        self,
        *,
        resource_name: str = "",
        resource_type: int = 16,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.resource_name = resource_name
        self.resource_type = resource_type
        self.unknown_tagged_fields = unknown_tagged_fields


class ListConfigResourcesResponse(Message):
    __slots__ = (
        "config_resources",
        "error_code",
        "throttle_time_ms",
    )

    API_KEY = 74
    VERSIONS = (0, 1)
    FLEXIBLE_FROM = 0
    SCHEMA = """
ListConfigResourcesResponse response module=clients key=74 versions=0-1 flexible=0+
  ThrottleTimeMs int32 0+
  ErrorCode int16 0+
  ConfigResources []ConfigResource 0+
    ResourceName string 0+
    ResourceType int8 1+ default=16 ignorable
"""

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        config_resources: list[ConfigResource] = DEFAULT,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.config_resources: list[ConfigResource] = [] if config_resources is DEFAULT else config_resources
        self.unknown_tagged_fields = unknown_tagged_fields
