"""What became of each of several things: the good ones go on, each of the others gets its line on stderr."""

from collections.abc import Callable, Mapping
from typing import TypeVar

from odradek.cli.base.errors import warn
from odradek.client.admin.outcomes import Outcomes
from odradek.errors import Refused
from odradek.protocol.error_codes import ErrorCode

_Key = TypeVar("_Key")
_Value = TypeVar("_Value")


def accepted(outcomes: Outcomes[_Key, _Value]) -> dict[_Key, _Value]:
    return {key: outcome for key, outcome in outcomes.items() if not isinstance(outcome, Refused)}


def refused(outcomes: Outcomes[_Key, _Value]) -> dict[_Key, Refused]:
    return {key: outcome for key, outcome in outcomes.items() if isinstance(outcome, Refused)}


def status_of(
    outcomes: Outcomes[_Key, _Value], what: str, advice: Callable[[_Key, Refused], str | None] = lambda key, error: None
) -> int:
    """The exit status, when the refusals are told: `what` they are about, and the advice for it or else its text."""
    failures: Mapping[_Key, Refused] = refused(outcomes)
    for key, error in failures.items():
        warn(f"{what} {key}: {advice(key, error) or error.message}")
    return 1 if failures else 0


def unknown_topic(key: object, error: Refused) -> str | None:
    """Advice for those who name a topic, or a partition of one."""
    if error.code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
        return "there is none; odradek topics list shows the topics there are, and how many partitions they have"
    return None
