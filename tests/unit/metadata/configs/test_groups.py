"""Settings of groups lie within what brokers allow; the first that does not is named, with its limit."""

import pytest

from odradek.common.config_definition import InvalidConfig
from odradek.metadata.configs.groups import validate_group

SESSION, HEARTBEAT = "consumer.session.timeout.ms", "consumer.heartbeat.interval.ms"


@pytest.mark.parametrize(
    ("values", "broker", "words"),
    [
        ({"no.such": "1"}, {}, "Unknown group config name: no.such"),
        ({SESSION: "soon"}, {}, f"Invalid value soon for configuration {SESSION}: Not a number of type INT"),
        ({SESSION: "1"}, {}, f"{SESSION} must be greater than or equal to group.consumer.min.session.timeout.ms"),
        ({SESSION: "60001"}, {}, f"{SESSION} must be less than or equal to group.consumer.max.session.timeout.ms"),
        (
            {SESSION: "50000"},
            {"group.consumer.min.session.timeout.ms": "55000"},
            f"{SESSION} must be greater than or equal to group.consumer.min.session.timeout.ms",
        ),
        (
            {HEARTBEAT: "15000", SESSION: "15000"},
            {"group.consumer.min.session.timeout.ms": "1"},
            f"{SESSION} must be greater than {HEARTBEAT}",
        ),
        (
            {"streams.num.standby.replicas": "3"},
            {},
            "streams.num.standby.replicas must be less than or equal to group.streams.max.standby.replicas",
        ),
    ],
)
def test_what_is_refused(values: dict[str, str], broker: dict[str, str], words: str) -> None:
    with pytest.raises(InvalidConfig) as refused:
        validate_group(values, broker)
    assert str(refused.value) == words


def test_what_is_taken() -> None:
    validate_group({}, {})
    validate_group({SESSION: "50000", HEARTBEAT: "6000", "share.delivery.count.limit": "7"}, {})
    validate_group({SESSION: "10000"}, {"group.consumer.min.session.timeout.ms": "6000"})
