"""Settings that change while a node runs: what holds, who is told, and what is refused.

What is refused is compared with Apache Kafka's own words in tests/system/test_config_answers.py.
"""

import pytest

from odradek.common.failures import ApiError
from odradek.protocol.error_codes import ErrorCode
from odradek.server.config.settings import Settings
from support.builders.dynamic import ALL, OTHER, OWN, World


def test_the_nearest_counts() -> None:
    world = World(message_max_bytes="1")
    assert world.settings.whole("message.max.bytes") == 1
    world.set(ALL, "message.max.bytes", "2")
    assert world.settings.whole("message.max.bytes") == 2
    world.set(OWN, "message.max.bytes", "3")
    world.set(OTHER, "message.max.bytes", "4")
    assert world.settings.whole("message.max.bytes") == 3
    world.set(OWN, "message.max.bytes", None)
    world.set(ALL, "message.max.bytes", None)
    assert world.settings.whole("message.max.bytes") == 1


def test_a_setting_under_another_name_counts_no_more() -> None:
    world = World(log_retention_hours="1")
    world.set(ALL, "log.retention.ms", "5")
    assert world.settings.given == {"log.retention.ms": "5"}


def test_who_subscribes_is_told_at_once_and_of_changes() -> None:
    world = World(log_cleaner_threads="2")
    told: list[int] = []
    world.dynamic.subscribe(
        ("log.cleaner.threads",), lambda settings: told.append(settings.whole("log.cleaner.threads"))
    )
    world.set(OWN, "log.cleaner.threads", "3")
    world.set(OWN, "message.max.bytes", "5")
    world.set(OWN, "log.cleaner.threads", "3")
    world.set(OWN, "log.cleaner.threads", None)
    assert told == [2, 3, 2]


@pytest.mark.parametrize("error", [ApiError("no", ErrorCode.INVALID_CONFIG), ValueError("unexpected")])
def test_who_cannot_follow_does_not_keep_the_others_from_it(error: Exception) -> None:
    world = World()
    told: list[int] = []

    def refuse(settings: Settings) -> None:
        raise error

    world.dynamic.subscribe(("message.max.bytes",), refuse)
    world.dynamic.subscribe(("message.max.bytes",), lambda settings: told.append(settings.whole("message.max.bytes")))
    world.set(ALL, "message.max.bytes", "7")
    assert told[-1] == 7


@pytest.mark.parametrize(
    ("broker", "name", "value"),
    [
        (OWN, "node.id", "7"),
        (OWN, "message.max.bytes", "many"),
        (OWN, "ssl.keystore.location", "/nowhere"),
        (ALL, "listener.name.plaintext.ssl.keystore.location", "/nowhere"),
        (ALL, "cordoned.log.dirs", "*"),
    ],
)
def test_what_cannot_be_heeded_is_left_out(broker: str, name: str, value: str) -> None:
    """A controller takes it from whoever asks it directly."""
    world = World()
    world.set(broker, name, value)
    assert name not in world.settings.given


def test_settings_that_do_not_go_together_change_nothing() -> None:
    world = World()
    world.set(OWN, "log.cleaner.threads", "2")
    world.set(OWN, "log.cleaner.threads", "0")
    assert world.settings.whole("log.cleaner.threads") == 2
    world.set(OWN, "log.cleaner.threads", "1")
    world.set(OWN, "log.cleaner.dedupe.buffer.size", "1000")
    assert not world.settings.is_given("log.cleaner.dedupe.buffer.size")


def test_rates_count_only_while_the_node_runs() -> None:
    world = World(leader_replication_throttled_rate="5")
    world.set(ALL, "message.max.bytes", "7")
    assert not world.settings.is_given("leader.replication.throttled.rate")
    world.set(ALL, "leader.replication.throttled.rate", "6")
    assert world.settings.whole("leader.replication.throttled.rate") == 6


def test_changes_are_checked_against_what_holds() -> None:
    world = World(num_io_threads="4")
    check = world.dynamic.check_change
    check({"num.io.threads": "8"}, True)
    with pytest.raises(ApiError, match="should not be greater than double the current value 4") as caught:
        check({"num.io.threads": "9"}, True)
    assert caught.value.code == ErrorCode.INVALID_REQUEST
    world.set(OWN, "num.io.threads", "8")
    check({"num.io.threads": "9"}, True)
    check({"num.io.threads": "1000"}, False)  # this broker has one of its own


@pytest.mark.parametrize("value", ["many", "127.0.0.1", "127.0.0.1:many", ":5", "127.0.0.1:5,many"])
def test_limits_of_addresses_that_are_none_are_refused(value: str) -> None:
    world = World()
    with pytest.raises(ApiError, match="no address with a limit") as caught:
        world.dynamic.check_change({"max.connections.per.ip.overrides": value}, False)
    assert caught.value.code == ErrorCode.INVALID_REQUEST
    world.set(ALL, "max.connections.per.ip.overrides", value)
    assert not world.settings.is_given("max.connections.per.ip.overrides")
    world.dynamic.check_change({"max.connections.per.ip.overrides": "127.0.0.1:5, ::1:7"}, False)


@pytest.mark.parametrize(
    ("name", "value", "reason"),
    [
        ("listener.name.plaintext.ssl.keystore.location", "/x", "TLS is not supported"),
        ("sasl.jaas.config", "hidden-value", "SASL is not supported"),
        ("sasl.enabled.mechanisms", "PLAIN", "SASL is not supported"),
        ("principal.builder.class", "org.example.B", "Java classes cannot be loaded"),
    ],
)
def test_what_somebody_would_rely_on_is_refused(name: str, value: str, reason: str) -> None:
    world = World()
    with pytest.raises(ApiError, match=reason) as caught:
        world.dynamic.check_change({name: value}, True)
    assert caught.value.code == ErrorCode.INVALID_CONFIG and "hidden-value" not in str(caught.value)
    world.dynamic.check_change({name: ""}, True)


def test_an_unsupported_setting_in_the_log_does_not_block_other_changes() -> None:
    world = World()
    world.set(OWN, "sasl.enabled.mechanisms", "PLAIN")
    world.dynamic.check_change({"sasl.enabled.mechanisms": "PLAIN", "message.max.bytes": "5"}, True)


def test_settings_without_an_effect_are_taken() -> None:
    World().dynamic.check_change({"num.network.threads": "4", "metric.reporters": "org.example.R"}, True)
