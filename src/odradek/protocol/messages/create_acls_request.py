"""CreateAclsRequest. Made by tools/make_messages.py from tables/messages.txt."""

from odradek.protocol.message import DEFAULT, Message


class AclCreation(Message):
    __slots__ = (
        "host",
        "operation",
        "permission_type",
        "principal",
        "resource_name",
        "resource_pattern_type",
        "resource_type",
    )

    def __init__(
        self,
        *,
        resource_type: int = 0,
        resource_name: str = "",
        resource_pattern_type: int = 3,
        principal: str = "",
        host: str = "",
        operation: int = 0,
        permission_type: int = 0,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.resource_type = resource_type
        self.resource_name = resource_name
        self.resource_pattern_type = resource_pattern_type
        self.principal = principal
        self.host = host
        self.operation = operation
        self.permission_type = permission_type
        self.unknown_tagged_fields = unknown_tagged_fields


class CreateAclsRequest(Message):
    __slots__ = ("creations",)

    API_KEY = 30
    VERSIONS = (1, 3)
    FLEXIBLE_FROM = 2
    SCHEMA = """
CreateAclsRequest request module=clients key=30 versions=1-3 flexible=2+
  Creations []AclCreation 0+
    ResourceType int8 0+
    ResourceName string 0+
    ResourcePatternType int8 1+ default=3
    Principal string 0+
    Host string 0+
    Operation int8 0+
    PermissionType int8 0+
"""

    def __init__(
        self,
        *,
        creations: list[AclCreation] = DEFAULT,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.creations: list[AclCreation] = [] if creations is DEFAULT else creations
        self.unknown_tagged_fields = unknown_tagged_fields
