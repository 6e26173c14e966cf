"""How operations are timed: medians of several rounds, so that one interruption on a busy machine does not count."""

import os
import statistics
import tempfile
import time
from collections.abc import Callable

#: Rounds of a median: odd, and enough that two disturbed rounds do not move it.
ROUNDS = 7

#: A round runs at least this long, so that the clock's own cost disappears.
_ROUND_NS = 30_000_000


def median_us(
    operation: Callable[[], object],
    *,
    before_round: Callable[[], object] = lambda: None,
    rounds: int = ROUNDS,
    minimum_ns: int = _ROUND_NS,
) -> float:
    """Microseconds of one call: the median over rounds that each repeat it often enough to be measurable."""
    before_round()
    repeat = _repeats(operation, minimum_ns)
    spent_ns = []
    for _ in range(rounds):
        before_round()
        spent_ns.append(_round_ns(operation, repeat))
    return statistics.median(spent_ns) / repeat / 1000


def median_seconds(operation: Callable[[], object], *, rounds: int = 3) -> float:
    """For operations that take long by themselves: each round is one call."""
    return statistics.median(_round_ns(operation, 1) for _ in range(rounds)) / 1e9


def scratch_directory() -> str:
    """Where benchmarks write: `$ODRADEK_BENCH_DIR`, or the system's temporary directory."""
    return os.environ.get("ODRADEK_BENCH_DIR", tempfile.gettempdir())


def _repeats(operation: Callable[[], object], minimum_ns: int) -> int:
    repeat = 1
    while True:
        spent = _round_ns(operation, repeat)
        if spent >= minimum_ns:
            return repeat
        repeat = max(repeat * 2, repeat * minimum_ns // max(spent, 1))


def _round_ns(operation: Callable[[], object], repeat: int) -> int:
    started = time.perf_counter_ns()
    for _ in range(repeat):
        operation()
    return time.perf_counter_ns() - started
