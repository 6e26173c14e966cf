"""DescribeAclsResponse. Made by tools/make_messages.py from tables/messages.txt."""

from odradek.protocol.message import DEFAULT, Message


class AclDescription(Message):
    __slots__ = (
        "host",
        "operation",
        "permission_type",
        "principal",
    )

    def __init__(
        self,
        *,
        principal: str = "",
        host: str = "",
        operation: int = 0,
        permission_type: int = 0,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.principal = principal
        self.host = host
        self.operation = operation
        self.permission_type = permission_type
        self.unknown_tagged_fields = unknown_tagged_fields


class DescribeAclsResource(Message):
    __slots__ = (
        "acls",
        "pattern_type",
        "resource_name",
        "resource_type",
    )

    def __init__(
        self,
        *,
        resource_type: int = 0,
        resource_name: str = "",
        pattern_type: int = 3,
        acls: list[AclDescription] = DEFAULT,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.resource_type = resource_type
        self.resource_name = resource_name
        self.pattern_type = pattern_type
        self.acls: list[AclDescription] = [] if acls is DEFAULT else acls
        self.unknown_tagged_fields = unknown_tagged_fields


class DescribeAclsResponse(Message):
    __slots__ = (
        "error_code",
        "error_message",
        "resources",
        "throttle_time_ms",
    )

    API_KEY = 29
    VERSIONS = (1, 3)
    FLEXIBLE_FROM = 2
    SCHEMA = """
DescribeAclsResponse response module=clients key=29 versions=1-3 flexible=2+
  ThrottleTimeMs int32 0+
  ErrorCode int16 0+
  ErrorMessage string 0+ nullable=0+
  Resources []DescribeAclsResource 0+
    ResourceType int8 0+
    ResourceName string 0+
    PatternType int8 1+ default=3
    Acls []AclDescription 0+
      Principal string 0+
      Host string 0+
      Operation int8 0+
      PermissionType int8 0+
"""

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        error_message: str | None = "",
        resources: list[DescribeAclsResource] = DEFAULT,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.error_message = error_message
        self.resources: list[DescribeAclsResource] = [] if resources is DEFAULT else resources
        self.unknown_tagged_fields = unknown_tagged_fields
