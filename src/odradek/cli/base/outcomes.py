"""Rejected resources of an operation on several: one line on stderr for each."""

from collections.abc import Callable
from typing import TypeVar

from odradek.cli.base.errors import warn
from odradek.client.admin.outcomes import Outcomes
from odradek.errors import Refused
from odradek.protocol.error_codes import ErrorCode

_Key = TypeVar("_Key")
_Value = TypeVar("_Value")


def report_rejected(
    outcomes: Outcomes[_Key, _Value],
    resource_type: str,
    advice: Callable[[_Key, Refused], str | None] = lambda key, error: None,
) -> int:
    """Write a line for each rejected resource, with the advice or else the error's message; return the exit status."""
    rejected = outcomes.rejected()
    for key, error in rejected.items():
        warn(f"{resource_type} {key}: {advice(key, error) or error.message}")
    return 1 if rejected else 0


def unknown_topic_advice(key: object, error: Refused) -> str | None:
    """Return advice about an unknown topic or partition."""
    if error.code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
        return "does not exist; odradek topics list shows all topics and their numbers of partitions"
    return None
