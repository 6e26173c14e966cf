"""Settings as clients see them: values, where they come from, and what they fall back to."""

from typing import Any

import pytest

from odradek.metadata.configs.definitions import definitions
from odradek.protocol.api_keys import ListenerRole
from odradek.protocol.config_types import ConfigResourceType, ConfigSource
from odradek.protocol.error_codes import ErrorCode
from odradek.protocol.messages.describe_configs_request import DescribeConfigsRequest, DescribeConfigsResource
from odradek.protocol.messages.list_config_resources_request import ListConfigResourcesRequest
from support.builders.api import ask, bench_services, session
from support.builders.controller import Bench

TOPIC, BROKER, GROUP = ConfigResourceType.TOPIC, ConfigResourceType.BROKER, ConfigResourceType.GROUP
CLIENT_METRICS, BROKER_LOGGER = ConfigResourceType.CLIENT_METRICS, ConfigResourceType.BROKER_LOGGER


def cluster() -> Bench:
    bench = Bench()
    bench.add_broker(1)
    bench.create("t", [[1]], configs={"retention.ms": "5000"})
    return bench


def describe(
    bench: Bench, kind: int, name: str, *keys: str, version: int | None = None, static: dict[str, str] | None = None
) -> Any:
    asking = session(bench_services(bench, static_configs=static or {}), ListenerRole.BROKER)
    resource = DescribeConfigsResource(resource_type=kind, resource_name=name, configuration_keys=list(keys) or None)
    request = DescribeConfigsRequest(resources=[resource], include_synonyms=True)
    (result,) = ask(asking, request, version).results
    return result


def one(bench: Bench, kind: int, name: str, key: str, **options: Any) -> tuple[Any, int, list[tuple[str, Any, int]]]:
    """Value, source and synonyms of one setting."""
    (config,) = describe(bench, kind, name, key, **options).configs
    synonyms = [(synonym.name, synonym.value, synonym.source) for synonym in config.synonyms]
    return config.value, config.config_source, synonyms


@pytest.mark.parametrize("version", range(1, 5))
def test_a_topic_has_all_settings_of_topics(version: int) -> None:
    result = describe(cluster(), TOPIC, "t", version=version)
    assert (result.error_code, result.resource_type, result.resource_name) == (0, TOPIC, "t")
    assert {config.name for config in result.configs} == set(definitions(TOPIC))
    assert not any(config.read_only or config.is_sensitive for config in result.configs)
    types = {config.name: config.config_type for config in result.configs}
    expected = {"preallocate": 1, "compression.type": 2, "flush.ms": 5, "cleanup.policy": 7}
    assert {name: types[name] for name in expected} == (expected if version >= 3 else dict.fromkeys(expected, 0))


def test_what_is_set_for_the_topic_counts_most() -> None:
    value, source, synonyms = one(cluster(), TOPIC, "t", "retention.ms", static={"log.retention.ms": "9000"})
    assert (value, source) == ("5000", ConfigSource.DYNAMIC_TOPIC_CONFIG)
    assert synonyms == [
        ("retention.ms", "5000", ConfigSource.DYNAMIC_TOPIC_CONFIG),
        ("log.retention.ms", "9000", ConfigSource.STATIC_BROKER_CONFIG),
        ("log.retention.hours", "168", ConfigSource.DEFAULT_CONFIG),
    ]


def test_the_layers_below_the_topic() -> None:
    bench = cluster()
    key, broker_key, static = "max.message.bytes", "message.max.bytes", {"message.max.bytes": "3000"}
    default = definitions(TOPIC)[key].default
    assert one(bench, TOPIC, "t", key) == (
        default,
        ConfigSource.DEFAULT_CONFIG,
        [(broker_key, default, ConfigSource.DEFAULT_CONFIG)],
    )
    assert one(bench, TOPIC, "t", key, static=static)[:2] == ("3000", ConfigSource.STATIC_BROKER_CONFIG)
    bench.set_config(BROKER, "", broker_key, "2000")
    assert one(bench, TOPIC, "t", key, static=static)[:2] == ("2000", ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG)
    bench.set_config(BROKER, "1", broker_key, "1000")
    assert one(bench, TOPIC, "t", key, static=static) == (
        "1000",
        ConfigSource.DYNAMIC_BROKER_CONFIG,
        [
            (broker_key, "1000", ConfigSource.DYNAMIC_BROKER_CONFIG),
            (broker_key, "2000", ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG),
            (broker_key, "3000", ConfigSource.STATIC_BROKER_CONFIG),
            (broker_key, default, ConfigSource.DEFAULT_CONFIG),
        ],
    )


def test_only_what_is_asked_for_is_told_once() -> None:
    result = describe(cluster(), TOPIC, "t", "segment.ms", "none.such", "segment.ms", "flush.ms")
    assert [config.name for config in result.configs] == ["segment.ms", "flush.ms"]


def test_topics_that_are_not_there() -> None:
    for name, code in (("none", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION), ("no good", ErrorCode.INVALID_TOPIC_EXCEPTION)):
        result = describe(cluster(), TOPIC, name)
        assert (result.error_code, result.resource_name, result.configs) == (code, name, [])


def test_this_broker() -> None:
    static = {"node.id": "1", "ssl.key.password": "secret", "my.own.setting": "x", "num.io.threads": "4"}
    bench = cluster()
    bench.set_config(BROKER, "1", "log.cleaner.threads", "2")
    result = describe(bench, BROKER, "1", static=static)
    found = {config.name: config for config in result.configs}
    assert set(found) == {*definitions(BROKER), "my.own.setting"}
    assert (found["num.io.threads"].value, found["num.io.threads"].config_source) == (
        "4",
        ConfigSource.STATIC_BROKER_CONFIG,
    )
    assert (found["log.cleaner.threads"].value, found["log.cleaner.threads"].config_source) == (
        "2",
        ConfigSource.DYNAMIC_BROKER_CONFIG,
    )
    assert found["node.id"].read_only
    assert not found["log.cleaner.threads"].read_only
    for secret in ("ssl.key.password", "my.own.setting"):
        assert found[secret].is_sensitive
        assert found[secret].value is None
        assert all(synonym.value is None for synonym in found[secret].synonyms)


def test_retention_falls_back_from_milliseconds_to_hours() -> None:
    bench = cluster()
    static = {"log.retention.hours": "2"}
    bench.create("u", [[1]])
    assert one(bench, TOPIC, "u", "retention.ms", static=static)[0] == "7200000"
    names = [name for name, *_ in one(bench, BROKER, "1", "log.retention.hours", static=static)[2]]
    assert names == ["log.retention.hours", "log.retention.hours"]


def test_all_brokers() -> None:
    bench = cluster()
    # A new cluster sets this one itself, for the sake of eligible leaders.
    assert [config.name for config in describe(bench, BROKER, "").configs] == ["min.insync.replicas"]
    bench.set_config(BROKER, "", "log.cleaner.threads", "3")
    bench.set_config(BROKER, "1", "log.cleaner.threads", "2")
    assert one(bench, BROKER, "", "log.cleaner.threads") == (
        "3",
        ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG,
        [("log.cleaner.threads", "3", ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG)],
    )


def test_groups_and_client_metrics() -> None:
    bench = cluster()
    bench.set_config(GROUP, "g", "consumer.session.timeout.ms", "50000")
    bench.set_config(CLIENT_METRICS, "m", "interval.ms", "1000")
    value, source, synonyms = one(bench, GROUP, "g", "consumer.session.timeout.ms")
    assert (value, source) == ("50000", ConfigSource.DYNAMIC_GROUP_CONFIG)
    assert synonyms[1:] == [("group.consumer.session.timeout.ms", "45000", ConfigSource.DEFAULT_CONFIG)]
    assert one(bench, GROUP, "other", "share.isolation.level")[:2] == ("read_uncommitted", ConfigSource.DEFAULT_CONFIG)
    assert one(bench, CLIENT_METRICS, "m", "interval.ms")[:2] == ("1000", ConfigSource.DYNAMIC_CLIENT_METRICS_CONFIG)
    assert one(bench, CLIENT_METRICS, "m", "metrics")[:2] == ("", ConfigSource.DEFAULT_CONFIG)


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        (BROKER, "2"),
        (BROKER, "one"),
        (GROUP, ""),
        (CLIENT_METRICS, ""),
        (BROKER_LOGGER, "2"),
        (BROKER_LOGGER, ""),
        (77, ""),
    ],
)
def test_what_this_broker_cannot_tell(kind: int, name: str) -> None:
    result = describe(cluster(), kind, name)
    assert result.error_code == ErrorCode.INVALID_REQUEST
    assert result.error_message


def test_what_has_settings_can_be_listed() -> None:
    bench = cluster()
    bench.set_config(GROUP, "g", "consumer.session.timeout.ms", "50000")
    bench.set_config(CLIENT_METRICS, "m", "interval.ms", "1000")
    asking = session(bench_services(bench), ListenerRole.BROKER)
    asking.listener_name = "PLAINTEXT"

    def listed(*kinds: int, version: int = 1) -> list[tuple[int, str]]:
        response = ask(asking, ListConfigResourcesRequest(resource_types=list(kinds)), version)
        assert response.error_code == 0
        return [(one.resource_type, one.resource_name) for one in response.config_resources]

    assert listed() == [(GROUP, "g"), (CLIENT_METRICS, "m"), (BROKER_LOGGER, "1"), (BROKER, "1"), (TOPIC, "t")]
    assert listed(TOPIC, GROUP) == [(GROUP, "g"), (TOPIC, "t")]
    assert listed(version=0) == [(CLIENT_METRICS, "m")]
    unknown = ask(asking, ListConfigResourcesRequest(resource_types=[3]), 1)
    assert unknown.error_code == ErrorCode.UNSUPPORTED_VERSION
