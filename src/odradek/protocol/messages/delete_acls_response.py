"""DeleteAclsResponse. Made by tools/make_messages.py from tables/messages.txt."""

from odradek.protocol.message import DEFAULT, Message


class DeleteAclsMatchingAcl(Message):
    __slots__ = (
        "error_code",
        "error_message",
        "host",
        "operation",
        "pattern_type",
        "permission_type",
        "principal",
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
        pattern_type: int = 3,
        principal: str = "",
        host: str = "",
        operation: int = 0,
        permission_type: int = 0,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.error_code = error_code
        self.error_message = error_message
        self.resource_type = resource_type
        self.resource_name = resource_name
        self.pattern_type = pattern_type
        self.principal = principal
        self.host = host
        self.operation = operation
        self.permission_type = permission_type
        self.unknown_tagged_fields = unknown_tagged_fields


class DeleteAclsFilterResult(Message):
    __slots__ = (
        "error_code",
        "error_message",
        "matching_acls",
    )

    def __init__(
        self,
        *,
        error_code: int = 0,
        error_message: str | None = "",
        matching_acls: list[DeleteAclsMatchingAcl] = DEFAULT,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.error_code = error_code
        self.error_message = error_message
        self.matching_acls: list[DeleteAclsMatchingAcl] = [] if matching_acls is DEFAULT else matching_acls
        self.unknown_tagged_fields = unknown_tagged_fields


class DeleteAclsResponse(Message):
    __slots__ = (
        "filter_results",
        "throttle_time_ms",
    )

    API_KEY = 31
    VERSIONS = (1, 3)
    FLEXIBLE_FROM = 2
    SCHEMA = """
DeleteAclsResponse response module=clients key=31 versions=1-3 flexible=2+
  ThrottleTimeMs int32 0+
  FilterResults []DeleteAclsFilterResult 0+
    ErrorCode int16 0+
    ErrorMessage string 0+ nullable=0+
    MatchingAcls []DeleteAclsMatchingAcl 0+
      ErrorCode int16 0+
      ErrorMessage string 0+ nullable=0+
      ResourceType int8 0+
      ResourceName string 0+
      PatternType int8 1+ default=3
      Principal string 0+
      Host string 0+
      Operation int8 0+
      PermissionType int8 0+
"""

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        filter_results: list[DeleteAclsFilterResult] = DEFAULT,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.filter_results: list[DeleteAclsFilterResult] = [] if filter_results is DEFAULT else filter_results
        self.unknown_tagged_fields = unknown_tagged_fields
