"""DeleteGroupsResponse. Made by tools/make_messages.py from tables/messages.txt."""

from odradek.protocol.message import DEFAULT, Message


class DeletableGroupResult(Message):
    __slots__ = (
        "error_code",
        "error_message",
        "group_id",
    )

    def __init__(
        self,
        *,
        group_id: str = "",
        error_code: int = 0,
        error_message: str | None = None,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.group_id = group_id
        self.error_code = error_code
        self.error_message = error_message
        self.unknown_tagged_fields = unknown_tagged_fields


class DeleteGroupsResponse(Message):
    __slots__ = (
        "results",
        "throttle_time_ms",
    )

    API_KEY = 42
    VERSIONS = (0, 3)
    FLEXIBLE_FROM = 2
    SCHEMA = """
DeleteGroupsResponse response module=clients key=42 versions=0-3 flexible=2+
  ThrottleTimeMs int32 0+
  Results []DeletableGroupResult 0+
    GroupId string 0+ key entity=groupId
    ErrorCode int16 0+
    ErrorMessage string 3+ nullable=3+ default=null ignorable
"""

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        results: list[DeletableGroupResult] = DEFAULT,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.results: list[DeletableGroupResult] = [] if results is DEFAULT else results
        self.unknown_tagged_fields = unknown_tagged_fields
