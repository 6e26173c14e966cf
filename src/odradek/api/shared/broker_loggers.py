"""Levels of this node's loggers, as settings of resource type BROKER_LOGGER (KIP-412).

They are of this process only: nothing is kept, and a restart begins with what the command line says. Names are those of
Python's `logging`, below `odradek`, and `root` for the one above them all; levels go by Kafka's names. Who has none of
its own has that of the next one above, which is what is shown. Words and codes of refusals are Kafka's.
"""

import logging
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from odradek.common.config_definition import InvalidConfig
from odradek.metadata.configs.definitions import InvalidRequest
from odradek.protocol.config_types import ConfigOp

ROOT = "root"
_OWN = "odradek"

_TRACE = 5
_LEVELS: Mapping[str, int] = {
    "DEBUG": logging.DEBUG,
    "ERROR": logging.ERROR,
    "FATAL": logging.CRITICAL,
    "INFO": logging.INFO,
    "TRACE": _TRACE,
    "WARN": logging.WARNING,
}

logger = logging.getLogger("odradek.config")


class Change(NamedTuple):
    """Of one setting, here of the level of the logger of this name."""

    name: str
    op: int
    value: str | None


def levels() -> dict[str, str]:
    """By the name of the logger, for all that there are by now."""
    known = logging.root.manager.loggerDict
    names = sorted(name for name, one in known.items() if _is_own(name) and isinstance(one, logging.Logger))
    return {name: _name_of(logging.getLogger(name).getEffectiveLevel()) for name in names} | {
        ROOT: _name_of(logging.root.getEffectiveLevel())
    }


def change_levels(node_id: int, resource_name: str, changes: Sequence[Change], *, validate_only: bool) -> None:
    """All of them or none. Raises ApiError."""
    _check_node(node_id, resource_name)
    known = levels()
    for change in changes:
        _check(change, known)
    if validate_only:
        return
    for name, op, value in changes:
        level = _LEVELS[value] if op == ConfigOp.SET and value is not None else logging.NOTSET
        logging.getLogger(None if name == ROOT else name).setLevel(level)
        logger.warning("the level of %s is %s", name, value if level else "that of the one above it")


def _check_node(node_id: int, resource_name: str) -> None:
    try:
        asked = int(resource_name)
    except ValueError:
        raise InvalidRequest(f"Node id must be an integer, but it is: {resource_name}") from None
    if asked != node_id:
        raise InvalidRequest(f"Unexpected node id. Expected {node_id}, but received {asked}")


def _check(change: Change, known: Mapping[str, str]) -> None:
    name, op, value = change
    if op not in (ConfigOp.SET, ConfigOp.DELETE):
        kind = f"{ConfigOp(op).name} operation" if op in tuple(ConfigOp) else f"Unknown operation type {op}"
        raise InvalidRequest(f"{kind} is not allowed for the BROKER_LOGGER resource")
    if name not in known:
        raise InvalidConfig(f"Logger {name} does not exist!")
    if op == ConfigOp.SET and value not in _LEVELS:
        raise InvalidConfig(
            f"Cannot set the log level of {name} to {value} as it is not a supported log level. "
            f"Valid log levels are {', '.join(_LEVELS)}"
        )
    if op == ConfigOp.DELETE and name == ROOT:
        raise InvalidRequest(f"Removing the log level of the {ROOT} logger is not allowed")


def _is_own(name: str) -> bool:
    return name == _OWN or name.startswith(f"{_OWN}.")


def _name_of(level: int) -> str:
    """A level between two has the name of the lower one: what it lets through is at least that."""
    return next((name for name, one in sorted(_LEVELS.items(), key=lambda each: -each[1]) if one <= level), "ALL")
