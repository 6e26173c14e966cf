"""ListGroupsResponse. Made by tools/make_messages.py from tables/messages.txt."""

from odradek.protocol.message import DEFAULT, Message


class ListedGroup(Message):
    __slots__ = (
        "group_id",
        "group_state",
        "group_type",
        "protocol_type",
    )

    def __init__(
        self,
        *,
        group_id: str = "",
        protocol_type: str = "",
        group_state: str = "",
        group_type: str = "",
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.group_id = group_id
        self.protocol_type = protocol_type
        self.group_state = group_state
        self.group_type = group_type
        self.unknown_tagged_fields = unknown_tagged_fields


class ListGroupsResponse(Message):
    __slots__ = (
        "error_code",
        "groups",
        "throttle_time_ms",
    )

    API_KEY = 16
    VERSIONS = (0, 5)
    FLEXIBLE_FROM = 3
    SCHEMA = """
ListGroupsResponse response module=clients key=16 versions=0-5 flexible=3+
  ThrottleTimeMs int32 1+ ignorable
  ErrorCode int16 0+
  Groups []ListedGroup 0+
    GroupId string 0+ entity=groupId
    ProtocolType string 0+
    GroupState string 4+ ignorable
    GroupType string 5+ ignorable
"""

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        groups: list[ListedGroup] = DEFAULT,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.groups: list[ListedGroup] = [] if groups is DEFAULT else groups
        self.unknown_tagged_fields = unknown_tagged_fields
