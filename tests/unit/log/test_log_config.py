"""Topic settings: Kafka's names, defaults and limits."""

import pytest

from odradek.common.config_definition import InvalidConfig
from odradek.common.tables.topic_settings import TOPIC_SETTINGS
from odradek.log.log_config import LogConfig

#: Name, a value that is allowed, one that is not, and what the error must say.
CASES = [
    ("cleanup.policy", "compact,delete", "compress", "String must be one of: compact, delete"),
    ("cleanup.policy", "", "delete,,", "String must be one of: compact, delete"),
    ("cleanup.policy", "delete,delete", "delete,burn", "String must be one of: compact, delete"),
    ("compression.type", "zstd", "brotli", "String must be one of: uncompressed, zstd, lz4, snappy, gzip, producer"),
    ("compression.gzip.level", "-1", "0", "Value must be between 1 and 9 or equal to -1"),
    ("compression.lz4.level", "17", "18", "Value must be no more than 17"),
    ("compression.zstd.level", "-131072", "23", "Value must be no more than 22"),
    ("segment.bytes", "1048576", "1048575", "Value must be at least 1048576"),
    ("segment.bytes", " 2147483647 ", "2147483648", "Not a number of type INT"),
    ("segment.ms", "1", "0", "Value must be at least 1"),
    ("retention.ms", "-1", "-2", "Value must be at least -1"),
    ("retention.bytes", "-9", "1e9", "Not a number of type LONG"),
    ("min.cleanable.dirty.ratio", "0.25", "1.5", "Value must be no more than 1"),
    ("min.cleanable.dirty.ratio", "1", "half", "Not a number"),
    ("preallocate", "TRUE", "yes", "either true or false"),
    ("message.timestamp.type", "LogAppendTime", "logappendtime", "String must be one of: CreateTime, LogAppendTime"),
    ("leader.replication.throttled.replicas", "0:1,1:2", "0:1, 2", "a list of replicas in the following format"),
    ("follower.replication.throttled.replicas", "*", "*, *", "must be the literal '*' or a list of replicas"),
    ("min.insync.replicas", "+2", "2_000", "Not a number of type INT"),
]


def test_defaults_are_kafkas() -> None:
    """As in the table of Kafka 4.3's topic configuration."""
    strings = LogConfig().to_strings()
    assert strings["segment.bytes"] == "1073741824"
    assert strings["max.message.bytes"] == "1048588"
    assert strings["cleanup.policy"] == "delete"
    assert strings["retention.ms"] == "604800000"
    assert strings["flush.messages"] == "9223372036854775807"
    assert strings["preallocate"] == "false"
    assert strings["min.cleanable.dirty.ratio"] == "0.5"
    assert len(strings) == len(TOPIC_SETTINGS) == 33


def test_formatted_settings_are_parsed_again() -> None:
    config = LogConfig.parse({"cleanup.policy": "compact,delete", "segment.ms": "5", "preallocate": "true"})
    assert LogConfig.parse(config.to_strings()) == config


@pytest.mark.parametrize(("name", "good", "bad", "says"), CASES)
def test_values_are_checked(name: str, good: str, bad: str, says: str) -> None:
    LogConfig.parse({name: good})
    with pytest.raises(InvalidConfig) as raised:
        LogConfig.parse({name: bad})
    prefix = f"Invalid value [{bad}]" if "throttled" in name else f"Invalid value {bad}"
    assert raised.value.message.startswith(f"{prefix} for configuration {name}: ")
    assert says in raised.value.message
    assert raised.value.code == 40


def test_the_error_for_an_unknown_name_lists_the_valid_ones() -> None:
    with pytest.raises(InvalidConfig, match=r"segment.size.*segment\.bytes"):
        LogConfig.parse({"segment.size": "1"})


def test_settings_that_exclude_each_other() -> None:
    with pytest.raises(InvalidConfig, match=r"min.compaction.lag.ms \(10\).*max.compaction.lag.ms \(5\)"):
        LogConfig.parse({"min.compaction.lag.ms": "10", "max.compaction.lag.ms": "5"})
    with pytest.raises(InvalidConfig, match=r"remote.storage.enable.*must be false"):
        LogConfig.parse({"remote.storage.enable": "true"})


def test_overrides_stand_over_the_brokers_defaults() -> None:
    broker = LogConfig(retention_ms=5, segment_ms=7)
    config = LogConfig.parse({"retention.ms": "6"}, broker)
    assert (config.retention_ms, config.segment_ms) == (6, 7)


def test_a_compacted_log_rolls_before_its_lag_is_over() -> None:
    assert LogConfig(segment_ms=100, max_compaction_lag_ms=10).max_segment_ms == 100
    assert LogConfig(segment_ms=100, max_compaction_lag_ms=10, cleanup_policy=("compact",)).max_segment_ms == 10
