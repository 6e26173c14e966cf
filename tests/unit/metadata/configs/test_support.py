"""Every setting is classified: it has an effect, has none with a reason, or is rejected with a reason."""

from collections.abc import Mapping

import pytest

from odradek.common.config_definition import ConfigDefinition, read_table
from odradek.common.config_support import Level, SupportTable
from odradek.common.tables.topic_settings import TOPIC_SETTINGS
from odradek.metadata.configs import support as config_support
from odradek.metadata.configs import tables

KINDS = ("BROKER", "BROKER_DYNAMIC_ONLY", "TOPIC", "GROUP", "CLIENT_METRICS")


def table_of(kind: str) -> SupportTable:
    table = getattr(config_support, kind)
    assert isinstance(table, SupportTable)
    return table


def definitions_of(kind: str) -> Mapping[str, ConfigDefinition]:
    return TOPIC_SETTINGS if kind == "TOPIC" else read_table(getattr(tables, kind))


@pytest.mark.parametrize("kind", KINDS)
def test_every_setting_is_classified(kind: str) -> None:
    settings = definitions_of(kind)
    assert [name for name in settings if table_of(kind).find(name) is None] == []


@pytest.mark.parametrize("kind", KINDS)
def test_no_setting_is_classified_that_does_not_exist(kind: str) -> None:
    settings = definitions_of(kind)
    assert [name for name in table_of(kind).names if name not in settings] == []


@pytest.mark.parametrize("kind", KINDS)
def test_a_setting_without_an_effect_has_a_reason(kind: str) -> None:
    for name in definitions_of(kind):
        support = table_of(kind).find(name)
        assert support is not None
        assert (support.level is Level.EFFECTIVE) == (not support.reason), name


def test_removed_settings_are_not_in_the_table_of_today() -> None:
    settings = read_table(tables.BROKER)
    assert [name for name in config_support.REMOVED if name in settings] == []
    assert all(support.reason for support in config_support.REMOVED.values())


@pytest.mark.parametrize(
    ("name", "level"),
    [
        ("listener.name.internal.ssl.keystore.location", Level.REJECTED),
        ("listener.name.internal.max.connections", Level.NO_EFFECT),
        ("rsm.config.bucket", Level.NO_EFFECT),
        ("zookeeper.connect", Level.NO_EFFECT),
        ("delegation.token.master.key", Level.REJECTED),
        ("leader.replication.throttled.rate", Level.EFFECTIVE),
        ("sasl.anything.new", Level.REJECTED),
    ],
)
def test_names_with_a_prefix_and_names_of_older_versions(name: str, level: Level) -> None:
    support = config_support.broker_support(name)
    assert support is not None and support.level is level


def test_an_unknown_name_is_not_classified() -> None:
    assert config_support.broker_support("num.partition") is None


def test_one_name_cannot_be_classified_twice() -> None:
    with pytest.raises(ValueError, match="a is classified twice"):
        SupportTable([(config_support.LISTENER, "a b"), (config_support.LISTENER, "a")])
