"""Options of a source or sink by name in any case: typed values, and messages for invalid ones."""

import pytest

from odradek.common.failures import InputError
from odradek.spark.option_reader import OptionReader, check_topics

NAMES = ("topic", "minPartitions", "includeHeaders")


def reader(**options: str) -> OptionReader:
    return OptionReader(options, NAMES, {"kafka.acks": "the sink sets it"})


def test_names_match_in_any_case_and_values_are_stripped() -> None:
    options = reader(TOPIC=" a ", minpartitions="3", INCLUDEHEADERS="True")
    assert options.get("topic") == "a"
    assert options.integer("minPartitions", 1) == options.optional_integer("minPartitions") == 3
    assert options.flag("includeHeaders", False)


def test_missing_options_have_defaults() -> None:
    options = reader()
    assert (options.get("topic"), options.optional_integer("minPartitions")) == (None, None)
    assert options.integer("minPartitions", 7) == 7
    assert options.flag("includeHeaders", True)


def test_client_settings_are_those_with_the_prefix() -> None:
    options = OptionReader({"Kafka.bootstrap.servers": "h:1", "kafka.client.id": "C", "topic": "a"}, NAMES, {})
    assert options.client_settings() == {"bootstrap.servers": "h:1", "client.id": "C"}


def test_bootstrap_servers_are_required() -> None:
    with pytest.raises(InputError, match=r"kafka\.bootstrap\.servers is missing"):
        reader().client_settings()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"topc": "a"}, "unknown option topc. Did you mean topic"),
        ({"zzz": "a"}, "unknown option zzz; valid options are includeHeaders, minPartitions, topic"),
        ({"client.id": "a"}, r"Did you mean kafka\.client\.id"),
        ({"kafka.acks": "0"}, r"kafka\.acks cannot be set: the sink sets it"),
    ],
)
def test_invalid_names_are_rejected(options: dict[str, str], message: str) -> None:
    with pytest.raises(InputError, match=message):
        reader(**options)


@pytest.mark.parametrize("text", ["0", "-1", "1.5", "many", str(2**63)])
def test_integers_out_of_range_are_rejected(text: str) -> None:
    with pytest.raises(InputError, match=r"minPartitions: .* is not an integer of at least 1"):
        reader(minPartitions=text).optional_integer("minPartitions")


def test_flags_are_true_or_false() -> None:
    with pytest.raises(InputError, match="'yes' is neither true nor false"):
        reader(includeHeaders="yes").flag("includeHeaders", False)


def test_invalid_topic_names_are_rejected() -> None:
    check_topics("topic", ("a", "b.c"))
    with pytest.raises(InputError, match="topic: invalid topic name: 'b c'"):
        check_topics("topic", ("a", "b c"))
