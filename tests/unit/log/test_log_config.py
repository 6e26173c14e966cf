"""Topic settings: Kafka's names, defaults and limits."""

import pytest

from odradek.log.log_config import SETTINGS, InvalidConfig, LogConfig

#: Name, a value that is allowed, one that is not, and what the refusal must say.
CASES = [
    ("cleanup.policy", "compact,delete", "compress", "compact and delete"),
    ("cleanup.policy", "", "delete,,", "compact and delete"),
    ("cleanup.policy", "delete,delete", "delete,burn", "compact and delete"),
    ("compression.type", "zstd", "brotli", "uncompressed, zstd, lz4, snappy, gzip, producer"),
    ("compression.gzip.level", "-1", "0", "from 1 to 9, or -1"),
    ("compression.lz4.level", "17", "18", "from 1 to 17"),
    ("compression.zstd.level", "-131072", "23", "from -131072 to 22"),
    ("segment.bytes", "1048576", "1048575", "from 1048576 to 2147483647"),
    ("segment.bytes", " 2147483647 ", "2147483648", "from 1048576 to 2147483647"),
    ("segment.ms", "1", "0", "from 1 to 9223372036854775807"),
    ("retention.ms", "-1", "-2", "from -1 to"),
    ("retention.bytes", "-9", "1e9", "a whole number"),
    ("min.cleanable.dirty.ratio", "0.25", "1.5", "a number from 0 to 1"),
    ("min.cleanable.dirty.ratio", "1", "half", "a number from 0 to 1"),
    ("preallocate", "TRUE", "yes", "true or false"),
    ("message.timestamp.type", "LogAppendTime", "logappendtime", "CreateTime, LogAppendTime"),
    ("leader.replication.throttled.replicas", "0:1,1:2", "0:1,2", "partition:broker"),
    ("follower.replication.throttled.replicas", "*", "*,*", "partition:broker"),
    ("min.insync.replicas", "+2", "2_000", "a whole number from 1"),
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
    assert len(strings) == len(SETTINGS) == 33


def test_what_is_printed_is_read_back() -> None:
    config = LogConfig.parse({"cleanup.policy": "compact,delete", "segment.ms": "5", "preallocate": "true"})
    assert LogConfig.parse(config.to_strings()) == config


@pytest.mark.parametrize(("name", "good", "bad", "says"), CASES)
def test_values_are_checked(name: str, good: str, bad: str, says: str) -> None:
    LogConfig.parse({name: good})
    with pytest.raises(InvalidConfig) as refused:
        LogConfig.parse({name: bad})
    assert name in refused.value.message and f'"{bad}"' in refused.value.message and says in refused.value.message
    assert refused.value.code == 40


def test_an_unknown_name_is_refused_with_the_known_ones() -> None:
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
