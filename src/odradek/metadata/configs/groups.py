"""Settings of groups: known, sound, and within what the brokers allow for groups of their kind.

A group's `consumer.session.timeout.ms` lies between the broker's `group.consumer.min.session.timeout.ms` and
`group.consumer.max.session.timeout.ms`; where the group has none, the broker's `group.consumer.session.timeout.ms` is
looked at instead.
"""

from collections.abc import Mapping

from odradek.common.config_definition import InvalidConfig
from odradek.metadata.configs.definitions import definitions
from odradek.protocol.config_kinds import ConfigResourceType

_KINDS = ("consumer", "share", "streams")
_HEARTBEAT, _SESSION = "heartbeat.interval.ms", "session.timeout.ms"

#: In the order in which they are looked at: the first that is wrong is told.
_BOUNDED = tuple(
    f"{kind}.{name}"
    for kind, others in (
        ("consumer", ()),
        ("share", ("record.lock.duration.ms", "delivery.count.limit", "partition.max.record.locks")),
        ("streams", ("num.standby.replicas",)),
    )
    for name in (_HEARTBEAT, _SESSION, *others, "assignment.interval.ms")
)
#: Brokers name the limit otherwise.
_LIMIT_NAMES = {"streams.num.standby.replicas": "streams.standby.replicas"}


def validate_group(values: Mapping[str, str], broker: Mapping[str, str]) -> None:
    """`broker` is the node's file. Raises InvalidConfig."""
    known = definitions(ConfigResourceType.GROUP)
    for name in values:
        if name not in known:
            raise InvalidConfig(f"Unknown group config name: {name}")
    for name, value in values.items():
        known[name].check(value)
    for name in _BOUNDED:
        # An interval between assignments is looked at only where the group has one.
        if name in values or not name.endswith("assignment.interval.ms"):
            _check_within(name, _value(name, values, broker), broker)
    for kind in _KINDS:
        session, heartbeat = f"{kind}.{_SESSION}", f"{kind}.{_HEARTBEAT}"
        if _value(session, values, broker) <= _value(heartbeat, values, broker):
            raise InvalidConfig(f"{session} must be greater than {heartbeat}")


def _value(name: str, values: Mapping[str, str], broker: Mapping[str, str]) -> int:
    default = definitions(ConfigResourceType.GROUP)[name].default
    return int(values.get(name) or broker.get(f"group.{name}") or default or 0)


def _check_within(name: str, value: int, broker: Mapping[str, str]) -> None:
    kind, _, rest = _LIMIT_NAMES.get(name, name).partition(".")
    known = definitions(ConfigResourceType.BROKER)
    for end, words in (("min", "greater"), ("max", "less")):
        limit_name = f"group.{kind}.{end}.{rest}"
        if limit_name not in known:
            continue
        limit = int(broker.get(limit_name) or known[limit_name].default or 0)
        if value < limit if end == "min" else value > limit:
            raise InvalidConfig(f"{name} must be {words} than or equal to {limit_name}")
