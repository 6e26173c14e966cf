"""The physical floor beside which an operation is measured: the same bytes through the system calls alone.

A floor is what no log can be faster than on this machine: the write (or read) of the bytes and their CRC-32C, nothing
else. All times are medians of several rounds, so that one interruption on a busy machine does not count.
"""

import os
import statistics
import tempfile
import time
from collections.abc import Callable

import crc32c

#: Rounds of a median: odd, and enough that two disturbed rounds do not move it.
ROUNDS = 7

#: A round runs at least this long, so that the clock's own cost disappears.
_ROUND_NS = 30_000_000

_MIB = 1 << 20


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


def floor_append(nbytes: int) -> float:
    """µs to check the CRC-32C of `nbytes` and write them at the end of a growing file."""
    data = os.urandom(nbytes)
    with tempfile.TemporaryFile(dir=scratch_directory()) as file:
        fd = file.fileno()

        def append() -> None:
            crc32c.crc32c(data)
            if os.write(fd, data) != nbytes:
                raise OSError("short write")

        def start_over() -> None:
            os.lseek(fd, 0, os.SEEK_SET)
            os.ftruncate(fd, 0)

        return median_us(append, before_round=start_over)


def floor_read(nbytes: int) -> float:
    """µs to read `nbytes` at a position of a file that is in the page cache."""
    with tempfile.TemporaryFile(dir=scratch_directory()) as file:
        file.write(os.urandom(nbytes))
        file.flush()
        fd = file.fileno()
        return median_us(lambda: os.pread(fd, nbytes, 0))


def floor_recovery_bytes_per_s(size_bytes: int = 256 * _MIB) -> float:
    """Bytes a second when a file in the page cache is only read and its CRC-32C taken, 1 MiB at a time."""
    with tempfile.TemporaryFile(dir=scratch_directory()) as file:
        block = os.urandom(_MIB)
        for _ in range(size_bytes // _MIB):
            file.write(block)
        file.flush()
        fd = file.fileno()

        def read_all() -> None:
            for position in range(0, size_bytes, _MIB):
                crc32c.crc32c(os.pread(fd, _MIB, position))

        return size_bytes / median_seconds(read_all)


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
