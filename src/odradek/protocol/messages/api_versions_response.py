"""ApiVersionsResponse. Made by tools/make_messages.py from tables/messages.txt."""

from odradek.protocol.message import DEFAULT, Message


class ApiVersion(Message):
    __slots__ = (
        "api_key",
        "max_version",
        "min_version",
    )

    def __init__(
        self,
        *,
        api_key: int = 0,
        min_version: int = 0,
        max_version: int = 0,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.api_key = api_key
        self.min_version = min_version
        self.max_version = max_version
        self.unknown_tagged_fields = unknown_tagged_fields


class SupportedFeatureKey(Message):
    __slots__ = (
        "max_version",
        "min_version",
        "name",
    )

    def __init__(
        self,
        *,
        name: str = "",
        min_version: int = 0,
        max_version: int = 0,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.name = name
        self.min_version = min_version
        self.max_version = max_version
        self.unknown_tagged_fields = unknown_tagged_fields


class FinalizedFeatureKey(Message):
    __slots__ = (
        "max_version_level",
        "min_version_level",
        "name",
    )

    def __init__(
        self,
        *,
        name: str = "",
        max_version_level: int = 0,
        min_version_level: int = 0,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.name = name
        self.max_version_level = max_version_level
        self.min_version_level = min_version_level
        self.unknown_tagged_fields = unknown_tagged_fields


class ApiVersionsResponse(Message):
    __slots__ = (
        "api_keys",
        "error_code",
        "finalized_features",
        "finalized_features_epoch",
        "supported_features",
        "throttle_time_ms",
        "zk_migration_ready",
    )

    API_KEY = 18
    VERSIONS = (0, 5)
    FLEXIBLE_FROM = 3
    SCHEMA = """
ApiVersionsResponse response module=clients key=18 versions=0-5 flexible=3+
  ErrorCode int16 0+
  ApiKeys []ApiVersion 0+
    ApiKey int16 0+ key
    MinVersion int16 0+
    MaxVersion int16 0+
  ThrottleTimeMs int32 1+ ignorable
  SupportedFeatures []SupportedFeatureKey 3+ tag=0 ignorable
    Name string 3+ key
    MinVersion int16 3+
    MaxVersion int16 3+
  FinalizedFeaturesEpoch int64 3+ default=-1 tag=1 ignorable
  FinalizedFeatures []FinalizedFeatureKey 3+ tag=2 ignorable
    Name string 3+ key
    MaxVersionLevel int16 3+
    MinVersionLevel int16 3+
  ZkMigrationReady bool 3+ tag=3 ignorable
"""

    def __init__(
        self,
        *,
        error_code: int = 0,
        api_keys: list[ApiVersion] = DEFAULT,
        throttle_time_ms: int = 0,
        supported_features: list[SupportedFeatureKey] = DEFAULT,
        finalized_features_epoch: int = -1,
        finalized_features: list[FinalizedFeatureKey] = DEFAULT,
        zk_migration_ready: bool = False,
        unknown_tagged_fields: tuple[tuple[int, bytes], ...] = (),
    ) -> None:
        self.error_code = error_code
        self.api_keys: list[ApiVersion] = [] if api_keys is DEFAULT else api_keys
        self.throttle_time_ms = throttle_time_ms
        self.supported_features: list[SupportedFeatureKey] = [] if supported_features is DEFAULT else supported_features
        self.finalized_features_epoch = finalized_features_epoch
        self.finalized_features: list[FinalizedFeatureKey] = [] if finalized_features is DEFAULT else finalized_features
        self.zk_migration_ready = zk_migration_ready
        self.unknown_tagged_fields = unknown_tagged_fields
