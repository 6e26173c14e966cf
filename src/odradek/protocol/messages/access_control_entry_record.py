"""AccessControlEntryRecord. Made by tools/make_messages.py from tables/messages.txt."""

from odradek.common.ids import ZERO_UUID
from odradek.protocol.message import Message


class AccessControlEntryRecord(Message):
    __slots__ = (
        "host",
        "id",
        "operation",
        "pattern_type",
        "permission_type",
        "principal",
        "resource_name",
        "resource_type",
    )

    API_KEY = 18
    VERSIONS = (0, 0)
    FLEXIBLE_FROM = 0
    SCHEMA = """
AccessControlEntryRecord metadata module=metadata key=18 versions=0 flexible=0+
  Id uuid 0+
  ResourceType int8 0+
  ResourceName string 0+
  PatternType int8 0+
  Principal string 0+
  Host string 0+
  Operation int8 0+
  PermissionType int8 0+
"""

    def __init__(
        self,
        *,
        id: bytes = ZERO_UUID,
        resource_type: int = 0,
        resource_name: str = "",
        pattern_type: int = 0,
        principal: str = "",
        host: str = "",
        operation: int = 0,
        permission_type: int = 0,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.id = id
        self.resource_type = resource_type
        self.resource_name = resource_name
        self.pattern_type = pattern_type
        self.principal = principal
        self.host = host
        self.operation = operation
        self.permission_type = permission_type
        self.unknown_tagged_fields = unknown_tagged_fields
