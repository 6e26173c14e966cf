"""Result of a simulation, and the errors that end one."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SimulationResult:
    #: Digest of the trace: two runs with the same digest did the same.
    digest: str
    #: Counters of events, for example elections or acknowledged records.
    counts: Mapping[str, int]


class InvariantViolated(AssertionError):
    """An invariant that a simulation checks does not hold."""


class SimulationFailed(AssertionError):
    """A simulation failed; the message has the command that repeats it."""


def ensure(condition: bool, message: str) -> None:
    """Raise InvariantViolated unless the condition holds."""
    if not condition:
        raise InvariantViolated(message)


def run_or_explain(run: Callable[[], SimulationResult], command: str) -> SimulationResult:
    """Run a simulation. Raises SimulationFailed for any error of it."""
    try:
        return run()
    except Exception as error:
        raise SimulationFailed(f"{type(error).__name__}: {error}\nTo repeat it: {command}") from error
