"""The settings of one log: Kafka's topic-level configuration, typed.

A field is Kafka's name with underscores, a default is Kafka's default. `LogConfig(...)` takes values as they are (a
test may want segments of 200 bytes); `LogConfig.parse` is for what people and requests hand in: strings by Kafka's
names, checked against `SETTINGS`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace

from odradek.common.failures import ApiError

INT_MAX = 2**31 - 1
INT_MIN = -(2**31)
LONG_MAX = 2**63 - 1
LONG_MIN = -(2**63)

_DAY_MS = 24 * 60 * 60 * 1000
_WEEK_MS = 7 * _DAY_MS

#: Value of `local.retention.*` that means: as `retention.*`.
AS_RETENTION = -2


class InvalidConfig(ApiError):
    """A topic setting that is unknown, malformed or out of its range."""

    code = 40  # INVALID_CONFIG


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
            setting = SETTINGS.get(name)
            if setting is None:
                raise InvalidConfig(f"Unknown topic config name: {name}. Known names: {', '.join(SETTINGS)}.")
            parsed[setting.field_name] = setting.parse(text)
        config = replace(defaults or LogConfig(), **parsed)  # type: ignore[arg-type]
        _check_together(config)
        return config

    def to_strings(self) -> dict[str, str]:
        """Every setting by Kafka's name, as Kafka prints it."""
        return {name: _print(getattr(self, setting.field_name)) for name, setting in SETTINGS.items()}

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


@dataclass(frozen=True, slots=True)
class Setting:
    """One row of the table: what a text must look like to become the value of a field."""

    name: str
    kind: str
    low: float = LONG_MIN
    high: float = LONG_MAX
    also: int | None = None
    choices: tuple[str, ...] = ()
    pattern: str = ""
    allowed: str = ""

    @property
    def field_name(self) -> str:
        return self.name.replace(".", "_")

    def parse(self, text: str) -> object:
        value = _READERS[self.kind](self, text.strip())
        if value is None:
            raise InvalidConfig(f'Invalid value "{text}" for {self.name}: it must be {self.describe()}.')
        return value

    def describe(self) -> str:
        if self.allowed:
            return self.allowed
        if self.kind == "boolean":
            return "true or false"
        if self.kind == "list":
            return "a list, separated by commas, of " + " and ".join(self.choices)
        if self.choices:
            return "one of " + ", ".join(self.choices)
        kind = {"int": "a whole number", "long": "a whole number", "double": "a number"}[self.kind]
        low, high = self._range()
        also = f", or {self.also}" if self.also is not None else ""
        return f"{kind} from {low} to {high}{also}"

    def within(self, value: float) -> bool:
        low, high = self._range()
        return low <= value <= high or value == self.also

    def _range(self) -> tuple[float, float]:
        if self.kind == "int":
            return max(self.low, INT_MIN), min(self.high, INT_MAX)
        return self.low, self.high


def _read_whole(setting: Setting, text: str) -> int | None:
    if not re.fullmatch(r"[+-]?[0-9]+", text, re.ASCII):
        return None
    value = int(text)
    return value if setting.within(value) else None


def _read_double(setting: Setting, text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if setting.within(value) else None


def _read_boolean(_setting: Setting, text: str) -> bool | None:
    return {"true": True, "false": False}.get(text.lower())


def _read_string(setting: Setting, text: str) -> str | None:
    return text if text in setting.choices else None


def _read_list(setting: Setting, text: str) -> tuple[str, ...] | None:
    items = tuple(item.strip() for item in text.split(",")) if text else ()
    if setting.choices:
        items = tuple(dict.fromkeys(items))  # what is said twice is taken once
        ok = all(item in setting.choices for item in items)
    else:
        ok = all(re.fullmatch(setting.pattern, item) for item in items) or items == ("*",)
    return items if ok else None


_READERS = {
    "int": _read_whole,
    "long": _read_whole,
    "double": _read_double,
    "boolean": _read_boolean,
    "string": _read_string,
    "list": _read_list,
}

_THROTTLED_PATTERN = r"[0-9]+:[0-9]+"
_THROTTLED_ALLOWED = "partition:broker pairs separated by commas, or *"


def _table(rows: Iterable[Setting]) -> dict[str, Setting]:
    return {row.name: row for row in rows}


#: Every topic setting of Kafka 4.3 with its type and its valid values.
SETTINGS: Mapping[str, Setting] = _table(
    (
        Setting("cleanup.policy", "list", choices=("compact", "delete")),
        Setting("compression.type", "string", choices=("uncompressed", "zstd", "lz4", "snappy", "gzip", "producer")),
        Setting("compression.gzip.level", "int", 1, 9, also=-1),
        Setting("compression.lz4.level", "int", 1, 17),
        Setting("compression.zstd.level", "int", -131072, 22),
        Setting("delete.retention.ms", "long", 0),
        Setting("file.delete.delay.ms", "long", 0),
        Setting("flush.messages", "long", 1),
        Setting("flush.ms", "long", 0),
        Setting(
            "follower.replication.throttled.replicas", "list", pattern=_THROTTLED_PATTERN, allowed=_THROTTLED_ALLOWED
        ),
        Setting("index.interval.bytes", "int", 0),
        Setting(
            "leader.replication.throttled.replicas", "list", pattern=_THROTTLED_PATTERN, allowed=_THROTTLED_ALLOWED
        ),
        Setting("local.retention.bytes", "long", AS_RETENTION),
        Setting("local.retention.ms", "long", AS_RETENTION),
        Setting("max.compaction.lag.ms", "long", 1),
        Setting("max.message.bytes", "int", 0),
        Setting("message.timestamp.after.max.ms", "long", 0),
        Setting("message.timestamp.before.max.ms", "long", 0),
        Setting("message.timestamp.type", "string", choices=("CreateTime", "LogAppendTime")),
        Setting("min.cleanable.dirty.ratio", "double", 0, 1),
        Setting("min.compaction.lag.ms", "long", 0),
        Setting("min.insync.replicas", "int", 1),
        Setting("preallocate", "boolean"),
        Setting("remote.log.copy.disable", "boolean"),
        Setting("remote.log.delete.on.disable", "boolean"),
        Setting("remote.storage.enable", "boolean"),
        Setting("retention.bytes", "long"),
        Setting("retention.ms", "long", -1),
        Setting("segment.bytes", "int", 1024 * 1024),
        Setting("segment.index.bytes", "int", 4),
        Setting("segment.jitter.ms", "long", 0),
        Setting("segment.ms", "long", 1),
        Setting("unclean.leader.election.enable", "boolean"),
    )
)


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


def _print(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, tuple):
        return ",".join(value)
    return str(value)


#: A field that is no setting, or a setting that is no field, would be a slip in the table above.
assert {f.name for f in fields(LogConfig) if f.init} == {s.field_name for s in SETTINGS.values()}
