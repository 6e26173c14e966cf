"""Validation of group configs: names, values, and the limits that brokers set for each type of group.

A group's `consumer.session.timeout.ms` lies between the broker's `group.consumer.min.session.timeout.ms` and
`group.consumer.max.session.timeout.ms`; if the group does not set one, the broker's
`group.consumer.session.timeout.ms` is checked instead.
"""

from collections.abc import Mapping

from odradek.common.config_definition import InvalidConfig
from odradek.metadata.configs.definitions import definitions
from odradek.protocol.config_types import ConfigResourceType

_GROUP_TYPES = ("consumer", "share", "streams")
_HEARTBEAT, _SESSION = "heartbeat.interval.ms", "session.timeout.ms"

#: Configs with limits, in the order in which they are checked: the first violation is reported.
_BOUNDED = tuple(
    f"{group_type}.{name}"
    for group_type, specific_names in (
        ("consumer", ()),
        ("share", ("record.lock.duration.ms", "delivery.count.limit", "partition.max.record.locks")),
        ("streams", ("num.standby.replicas",)),
    )
    for name in (_HEARTBEAT, _SESSION, *specific_names, "assignment.interval.ms")
)
#: Configs whose limits have another name.
_LIMIT_NAMES = {"streams.num.standby.replicas": "streams.standby.replicas"}


def validate_group(values: Mapping[str, str], broker: Mapping[str, str]) -> None:
    """Check the configs of a group. `broker` has the settings of the node's file. Raises InvalidConfig."""
    group_definitions = definitions(ConfigResourceType.GROUP)
    for name in values:
        if name not in group_definitions:
            raise InvalidConfig(f"Unknown group config name: {name}")
    for name, value in values.items():
        group_definitions[name].check(value)
    for name in _BOUNDED:
        # The assignment interval is checked only if the group sets one.
        if name in values or not name.endswith("assignment.interval.ms"):
            _check_within(name, _value(name, values, broker), broker)
    for group_type in _GROUP_TYPES:
        session, heartbeat = f"{group_type}.{_SESSION}", f"{group_type}.{_HEARTBEAT}"
        if _value(session, values, broker) <= _value(heartbeat, values, broker):
            raise InvalidConfig(f"{session} must be greater than {heartbeat}")


def _value(name: str, values: Mapping[str, str], broker: Mapping[str, str]) -> int:
    default = definitions(ConfigResourceType.GROUP)[name].default
    return int(values.get(name) or broker.get(f"group.{name}") or default or 0)


def _check_within(name: str, value: int, broker: Mapping[str, str]) -> None:
    group_type, _, rest = _LIMIT_NAMES.get(name, name).partition(".")
    broker_definitions = definitions(ConfigResourceType.BROKER)
    for bound, comparison in (("min", "greater"), ("max", "less")):
        limit_name = f"group.{group_type}.{bound}.{rest}"
        if limit_name not in broker_definitions:
            continue
        limit = int(broker.get(limit_name) or broker_definitions[limit_name].default or 0)
        if value < limit if bound == "min" else value > limit:
            raise InvalidConfig(f"{name} must be {comparison} than or equal to {limit_name}")
