"""Restarts of flows that failed. Pure.

A flow restarts alone, after a back-off that doubles with each failure in a row; a batch that it completes ends the row.
A failure that cannot pass, or one more than the retries allow, ends the pipeline.
"""

from dataclasses import dataclass, field

from odradek.spark.pipeline.causes import may_pass

#: Between two attempts at most: a broker that is being restarted takes seconds.
_BACK_OFF_MAX_S = 30.0


def back_off_s(first_s: float, failures: int) -> float:
    """Return the wait after so many failures in a row: it doubles with each of them."""
    return min(first_s * 2.0 ** (failures - 1), _BACK_OFF_MAX_S)


@dataclass(frozen=True, slots=True)
class Restart:
    attempt: int
    wait_s: float


@dataclass(slots=True)
class Restarts:
    retries: int
    back_off_s: float = 1.0
    #: Failures in a row, by flow.
    _failures: dict[str, int] = field(default_factory=dict)

    def failed(self, flow: str, error: str) -> Restart | None:
        """Return when to start the flow again; None if that would not help."""
        failures = self._failures[flow] = self._failures.get(flow, 0) + 1
        if not may_pass(error) or failures > self.retries:
            return None
        return Restart(failures, back_off_s(self.back_off_s, failures))

    def completed_batch(self, flow: str) -> None:
        self._failures.pop(flow, None)
