"""The settings of one log: Kafka's topic-level configuration, typed.

A field is Kafka's name with underscores, a default is Kafka's default. `LogConfig(...)` takes values as they are (a
test may want segments of 200 bytes); `LogConfig.parse` is for what people and requests hand in: strings by Kafka's
names, checked against the table of topic settings.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace

from odradek.common.config_definition import ConfigDefinition, InvalidConfig
from odradek.common.tables.topic_settings import TOPIC_SETTINGS

LONG_MAX = 2**63 - 1

_DAY_MS = 24 * 60 * 60 * 1000
_WEEK_MS = 7 * _DAY_MS

#: Value of `local.retention.*` that means: as `retention.*`.
AS_RETENTION = -2


@dataclass(frozen=True, slots=True)
class LogConfig:
    cleanup_policy: tuple[str, ...] = ("delete",)
    compression_type: str = "producer"
    compression_gzip_level: int = -1
    compression_lz4_level: int = 9
    compression_zstd_level: int = 3
    delete_retention_ms: int = _DAY_MS
    file_delete_delay_ms: int = 60_000
    flush_messages: int = LONG_MAX
    flush_ms: int = LONG_MAX
    follower_replication_throttled_replicas: tuple[str, ...] = ()
    index_interval_bytes: int = 4096
    leader_replication_throttled_replicas: tuple[str, ...] = ()
    local_retention_bytes: int = AS_RETENTION
    local_retention_ms: int = AS_RETENTION
    max_compaction_lag_ms: int = LONG_MAX
    max_message_bytes: int = 1024 * 1024 + 12
    message_timestamp_after_max_ms: int = 60 * 60 * 1000
    message_timestamp_before_max_ms: int = LONG_MAX
    message_timestamp_type: str = "CreateTime"
    min_cleanable_dirty_ratio: float = 0.5
    min_compaction_lag_ms: int = 0
    min_insync_replicas: int = 1
    preallocate: bool = False
    remote_log_copy_disable: bool = False
    remote_log_delete_on_disable: bool = False
    remote_storage_enable: bool = False
    retention_bytes: int = -1
    retention_ms: int = _WEEK_MS
    segment_bytes: int = 1024 * 1024 * 1024
    segment_index_bytes: int = 10 * 1024 * 1024
    segment_jitter_ms: int = 0
    segment_ms: int = _WEEK_MS
    unclean_leader_election_enable: bool = False
    compact: bool = field(init=False, repr=False)
    delete: bool = field(init=False, repr=False)
    log_append_time: bool = field(init=False, repr=False)

    def __post_init__(self) -> None:
        # Asked on every append, so answered once.
        object.__setattr__(self, "compact", "compact" in self.cleanup_policy)
        object.__setattr__(self, "delete", "delete" in self.cleanup_policy)
        object.__setattr__(self, "log_append_time", self.message_timestamp_type == "LogAppendTime")

    @staticmethod
    def parse(values: Mapping[str, str], defaults: LogConfig | None = None) -> LogConfig:
        """Settings by Kafka's names over `defaults` (the broker's); raises `InvalidConfig`."""
        parsed: dict[str, object] = {}
        for name, text in values.items():
            definition = TOPIC_SETTINGS.get(name)
            if definition is None:
                raise InvalidConfig(f"Unknown topic config name: {name}. Known names: {', '.join(TOPIC_SETTINGS)}.")
            parsed[_field_name(name)] = _parse(definition, text)
        config = replace(defaults or LogConfig(), **parsed)  # type: ignore[arg-type]
        _check_together(config)
        return config

    def to_strings(self) -> dict[str, str]:
        """Every setting by Kafka's name, as Kafka prints it."""
        return {name: _format(getattr(self, _field_name(name))) for name in TOPIC_SETTINGS}

    @property
    def max_segment_ms(self) -> int:
        """Age at which a segment is rolled: a compacted log must not keep records from the cleaner for longer."""
        if self.compact and self.max_compaction_lag_ms > 0:
            return min(self.max_compaction_lag_ms, self.segment_ms)
        return self.segment_ms


class CurrentConfig:
    """The settings that a log has now; the parts of the log share it and read `value` when they need it."""

    __slots__ = ("value",)

    def __init__(self, value: LogConfig) -> None:
        self.value = value

    def update(self, value: LogConfig) -> None:
        """Use other settings from now on."""
        self.value = value


def _parse(definition: ConfigDefinition, text: str) -> object:
    """Return the value of a field. Raises InvalidConfig."""
    definition.check(text)
    return _PARSERS[definition.type](text.strip())


def _parse_list(text: str) -> tuple[str, ...]:
    """Return the items in their order, each of them once."""
    return tuple(dict.fromkeys(item.strip() for item in text.split(","))) if text else ()


_PARSERS: Mapping[str, Callable[[str], object]] = {
    "int": int,
    "long": int,
    "double": float,
    "boolean": lambda text: text.lower() == "true",
    "string": str,
    "list": _parse_list,
}


def _field_name(name: str) -> str:
    return name.replace(".", "_")


def _check_together(config: LogConfig) -> None:
    """Check settings that are valid alone but not together."""
    if config.min_compaction_lag_ms > config.max_compaction_lag_ms:
        raise InvalidConfig(
            f"Conflicting topic configs: min.compaction.lag.ms ({config.min_compaction_lag_ms}) must not be larger "
            f"than max.compaction.lag.ms ({config.max_compaction_lag_ms})."
        )
    if config.remote_storage_enable:
        raise InvalidConfig(
            "Invalid value true for remote.storage.enable: tiered storage is disabled in this broker, "
            "so it must be false."
        )


def _format(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, tuple):
        return ",".join(value)
    return str(value)


#: Each field is a setting of the table, and each setting a field.
assert {config_field.name for config_field in fields(LogConfig) if config_field.init} == set(
    map(_field_name, TOPIC_SETTINGS)
)
