"""LeaveGroupResponse. Made by tools/make_messages.py from tables/messages.txt."""

from odradek.protocol.message import DEFAULT, Message


class MemberResponse(Message):
    __slots__ = (
        "error_code",
        "group_instance_id",
        "member_id",
    )

    def __init__(
        self,
        *,
        member_id: str = "",
        group_instance_id: str | None = "",
        error_code: int = 0,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.member_id = member_id
        self.group_instance_id = group_instance_id
        self.error_code = error_code
        self.unknown_tagged_fields = unknown_tagged_fields


class LeaveGroupResponse(Message):
    __slots__ = (
        "error_code",
        "members",
        "throttle_time_ms",
    )

    API_KEY = 13
    VERSIONS = (0, 5)
    FLEXIBLE_FROM = 4
    SCHEMA = """
LeaveGroupResponse response module=clients key=13 versions=0-5 flexible=4+
  ThrottleTimeMs int32 1+ ignorable
  ErrorCode int16 0+
  Members []MemberResponse 3+
    MemberId string 3+
    GroupInstanceId string 3+ nullable=3+
    ErrorCode int16 3+
"""

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        members: list[MemberResponse] = DEFAULT,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.members: list[MemberResponse] = [] if members is DEFAULT else members
        self.unknown_tagged_fields = unknown_tagged_fields
