"""Changes of settings on a broker: what it judges itself, what it passes on, and the answer made of both.

Words and codes of refusals are compared with Apache Kafka's in tests/system/test_config_answers.py.
"""

from typing import Any

import pytest

from odradek.protocol.api_keys import ListenerRole
from odradek.protocol.config_types import ConfigOp, ConfigResourceType
from odradek.protocol.error_codes import ErrorCode
from odradek.protocol.messages import alter_configs_request as legacy
from odradek.protocol.messages import incremental_alter_configs_request as incremental
from support.builders.api import ToController, ask, bench_services, session
from support.builders.controller import Bench

TOPIC, BROKER, LOGGER = ConfigResourceType.TOPIC, ConfigResourceType.BROKER, ConfigResourceType.BROKER_LOGGER
SET = ConfigOp.SET


class World:
    """Broker 1 and the controller that it asks."""

    def __init__(self) -> None:
        self.bench = Bench()
        self.bench.add_broker(1)
        self.bench.create("t", [[1]])
        self.forwarder = ToController(bench_services(self.bench))
        self.asking = session(bench_services(self.bench, forwarder=self.forwarder), ListenerRole.BROKER)

    def change(self, *resources: tuple[int, str, str, int, str | None]) -> list[tuple[str, int]]:
        """Name and code of each answer."""
        request = incremental.IncrementalAlterConfigsRequest(
            resources=[
                incremental.AlterConfigsResource(
                    resource_type=kind,
                    resource_name=name,
                    configs=[incremental.AlterableConfig(name=key, config_operation=op, value=value)],
                )
                for kind, name, key, op, value in resources
            ]
        )
        return self._codes(ask(self.asking, request))

    def replace(self, kind: int, name: str, key: str, value: str) -> list[tuple[str, int]]:
        resource = legacy.AlterConfigsResource(
            resource_type=kind, resource_name=name, configs=[legacy.AlterableConfig(name=key, value=value)]
        )
        return self._codes(ask(self.asking, legacy.AlterConfigsRequest(resources=[resource])))

    def settings(self, kind: int, name: str) -> dict[str, str]:
        found = self.bench.controller.loader.image.configs.resources.get((kind, name), {})
        return dict(found.items())

    def _codes(self, response: Any) -> list[tuple[str, int]]:
        return [(each.resource_name, each.error_code) for each in response.responses]


@pytest.fixture
def world() -> World:
    return World()


def test_the_answer_is_in_the_order_of_the_request(world: World) -> None:
    assert world.change(
        (TOPIC, "t", "retention.ms", SET, "5"),
        (BROKER, "1", "node.id", SET, "5"),
        (TOPIC, "nowhere", "retention.ms", SET, "5"),
        (BROKER, "", "message.max.bytes", SET, "5"),
    ) == [
        ("t", ErrorCode.NONE),
        ("1", ErrorCode.INVALID_REQUEST),
        ("nowhere", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        ("", ErrorCode.NONE),
    ]
    assert world.settings(TOPIC, "t") == {"retention.ms": "5"} and world.settings(BROKER, "1") == {}
    assert world.settings(BROKER, "")["message.max.bytes"] == "5"


def test_what_is_refused_here_is_not_passed_on(world: World) -> None:
    for change in (
        (BROKER, "1", "node.id", SET, "5"),
        (BROKER, "2", "message.max.bytes", SET, "5"),
        (BROKER, "", "cordoned.log.dirs", SET, "*"),
        (BROKER, "1", "message.max.bytes", SET, None),
        (BROKER, "1", "message.max.bytes", 9, "5"),
        (77, "x", "y", SET, "z"),
    ):
        assert [code for _, code in world.change(change)] == [ErrorCode.INVALID_REQUEST], change
    assert [code for _, code in world.change((BROKER, "1", "message.max.bytes", ConfigOp.APPEND, "5"))] == [
        ErrorCode.INVALID_CONFIG
    ]
    assert not world.forwarder.asked


def test_lists_are_judged_as_they_would_be(world: World) -> None:
    key = "log.cleanup.policy"
    assert world.change((BROKER, "1", key, ConfigOp.APPEND, "compact")) == [("1", 0)]
    assert world.settings(BROKER, "1") == {key: "delete,compact"}
    assert world.change((BROKER, "1", key, ConfigOp.APPEND, "shred"))[0][1] == ErrorCode.INVALID_REQUEST
    assert world.change((BROKER, "1", key, ConfigOp.SUBTRACT, "delete")) == [("1", 0)]
    assert world.settings(BROKER, "1") == {key: "compact"}


def test_levels_of_loggers_stay_here(world: World) -> None:
    assert world.change((LOGGER, "1", "root", SET, "LOUD")) == [("1", ErrorCode.INVALID_CONFIG)]
    assert world.change((LOGGER, "2", "root", SET, "INFO")) == [("2", ErrorCode.INVALID_REQUEST)]
    assert not world.forwarder.asked


def test_the_old_request_is_judged_by_what_it_names_alone(world: World) -> None:
    assert world.replace(BROKER, "1", "message.max.bytes", "5") == [("1", 0)]
    assert world.replace(BROKER, "1", "node.id", "5") == [("1", ErrorCode.INVALID_REQUEST)]
    assert world.replace(LOGGER, "1", "root", "INFO") == [("1", ErrorCode.INVALID_REQUEST)]
    assert world.replace(BROKER, "1", "log.retention.ms", "7") == [("1", 0)]
    assert world.settings(BROKER, "1") == {"log.retention.ms": "7"}


def test_a_resource_that_is_there_twice(world: World) -> None:
    change = (TOPIC, "t", "retention.ms", SET, "5")
    assert {code for _, code in world.change(change, change)} == {ErrorCode.INVALID_REQUEST}
    assert world.settings(TOPIC, "t") == {}
