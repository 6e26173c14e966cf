import pytest

from odradek.metadata.configs.definitions import ConfigLayers, effective_topic_config


@pytest.mark.parametrize(
    ("broker", "retention_ms"),
    [
        ({"log.retention.hours": "-1"}, "-1"),
        ({"log.retention.minutes": "-1"}, "-1"),
        ({"log.retention.ms": "-5"}, "-1"),
        ({"log.retention.hours": "2"}, "7200000"),
    ],
)
def test_a_broker_may_keep_for_ever_in_any_unit(broker: dict[str, str], retention_ms: str) -> None:
    """Kafka takes any retention below zero of a broker as -1."""
    assert effective_topic_config("retention.ms", ConfigLayers({}, {}, {}, broker)).value == retention_ms
