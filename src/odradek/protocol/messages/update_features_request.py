"""UpdateFeaturesRequest. Made by tools/make_messages.py from tables/messages.txt."""

from odradek.protocol.message import DEFAULT, Message


class FeatureUpdateKey(Message):
    __slots__ = (
        "allow_downgrade",
        "feature",
        "max_version_level",
        "upgrade_type",
    )

    def __init__(
        self,
        *,
        feature: str = "",
        max_version_level: int = 0,
        allow_downgrade: bool = False,
        upgrade_type: int = 1,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.feature = feature
        self.max_version_level = max_version_level
        self.allow_downgrade = allow_downgrade
        self.upgrade_type = upgrade_type
        self.unknown_tagged_fields = unknown_tagged_fields


class UpdateFeaturesRequest(Message):
    __slots__ = (
        "feature_updates",
        "timeout_ms",
        "validate_only",
    )

    API_KEY = 57
    VERSIONS = (0, 2)
    FLEXIBLE_FROM = 0
    SCHEMA = """
UpdateFeaturesRequest request module=clients key=57 versions=0-2 flexible=0+
  timeoutMs int32 0+ default=60000
  FeatureUpdates []FeatureUpdateKey 0+
    Feature string 0+ key
    MaxVersionLevel int16 0+
    AllowDowngrade bool 0
    UpgradeType int8 1+ default=1
  ValidateOnly bool 1+
"""

    def __init__(
        self,
        *,
        timeout_ms: int = 60000,
        feature_updates: list[FeatureUpdateKey] = DEFAULT,
        validate_only: bool = False,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.timeout_ms = timeout_ms
        self.feature_updates: list[FeatureUpdateKey] = [] if feature_updates is DEFAULT else feature_updates
        self.validate_only = validate_only
        self.unknown_tagged_fields = unknown_tagged_fields
