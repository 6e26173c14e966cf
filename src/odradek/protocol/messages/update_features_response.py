"""UpdateFeaturesResponse. Made by tools/make_messages.py from tables/messages.txt."""

from odradek.protocol.message import DEFAULT, Message


class UpdatableFeatureResult(Message):
    __slots__ = (
        "error_code",
        "error_message",
        "feature",
    )

    def __init__(
        self,
        *,
        feature: str = "",
        error_code: int = 0,
        error_message: str | None = "",
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.feature = feature
        self.error_code = error_code
        self.error_message = error_message
        self.unknown_tagged_fields = unknown_tagged_fields


class UpdateFeaturesResponse(Message):
    __slots__ = (
        "error_code",
        "error_message",
        "results",
        "throttle_time_ms",
    )

    API_KEY = 57
    VERSIONS = (0, 2)
    FLEXIBLE_FROM = 0
    SCHEMA = """
UpdateFeaturesResponse response module=clients key=57 versions=0-2 flexible=0+
  ThrottleTimeMs int32 0+
  ErrorCode int16 0+
  ErrorMessage string 0+ nullable=0+
  Results []UpdatableFeatureResult 0-1 ignorable
    Feature string 0+ key
    ErrorCode int16 0+
    ErrorMessage string 0+ nullable=0+
"""

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        error_message: str | None = "",
        results: list[UpdatableFeatureResult] = DEFAULT,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.error_message = error_message
        self.results: list[UpdatableFeatureResult] = [] if results is DEFAULT else results
        self.unknown_tagged_fields = unknown_tagged_fields
