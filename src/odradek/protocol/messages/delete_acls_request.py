"""DeleteAclsRequest. Made by tools/make_messages.py from tables/messages.txt."""

from odradek.protocol.message import DEFAULT, Message


class DeleteAclsFilter(Message):
    __slots__ = (
        "host_filter",
        "operation",
        "pattern_type_filter",
        "permission_type",
        "principal_filter",
        "resource_name_filter",
        "resource_type_filter",
    )

    def __init__(
        self,
        *,
        resource_type_filter: int = 0,
        resource_name_filter: str | None = "",
        pattern_type_filter: int = 3,
        principal_filter: str | None = "",
        host_filter: str | None = "",
        operation: int = 0,
        permission_type: int = 0,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.resource_type_filter = resource_type_filter
        self.resource_name_filter = resource_name_filter
        self.pattern_type_filter = pattern_type_filter
        self.principal_filter = principal_filter
        self.host_filter = host_filter
        self.operation = operation
        self.permission_type = permission_type
        self.unknown_tagged_fields = unknown_tagged_fields


class DeleteAclsRequest(Message):
    __slots__ = ("filters",)

    API_KEY = 31
    VERSIONS = (1, 3)
    FLEXIBLE_FROM = 2
    SCHEMA = """
DeleteAclsRequest request module=clients key=31 versions=1-3 flexible=2+
  Filters []DeleteAclsFilter 0+
    ResourceTypeFilter int8 0+
    ResourceNameFilter string 0+ nullable=0+
    PatternTypeFilter int8 1+ default=3
    PrincipalFilter string 0+ nullable=0+
    HostFilter string 0+ nullable=0+
    Operation int8 0+
    PermissionType int8 0+
"""

    def __init__(
        self,
        *,
        filters: list[DeleteAclsFilter] = DEFAULT,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.filters: list[DeleteAclsFilter] = [] if filters is DEFAULT else filters
        self.unknown_tagged_fields = unknown_tagged_fields
