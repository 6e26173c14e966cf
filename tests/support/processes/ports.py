"""Ports for what a test starts.

They lie below the range from which the system takes ports for outgoing connections, or the port of a node that is down
for a moment could be gone when it comes back. Each worker of pytest has ports of its own.
"""

import itertools
import os
import random
import socket
from collections.abc import Iterable

_FIRST, _END = 15_000, 32_000
#: No test needs more in a row, and rows begin only at multiples of this, so that rows of two workers do not meet.
_ROW = 10


def free_ports(count: int) -> list[int]:
    """Ports that were free a moment ago, all different."""
    return _first(count, (port for row in _rows() for port in row if _is_free(port)))


def free_rows(rows: int, count: int) -> list[int]:
    """The first ports of so many rows of `count`. They are multiples of ten."""
    assert count <= _ROW
    return _first(rows, (row[0] for row in _rows() if all(map(_is_free, row[:count]))))


def _first(count: int, free: Iterable[int]) -> list[int]:
    found = list(itertools.islice(free, count))
    assert len(found) == count, "too few ports are free"
    return found


def _rows() -> list[range]:
    """In any order."""
    worker = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw"))
    workers = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    rows = [range(first, first + _ROW) for first in range(_FIRST, _END, _ROW)][worker::workers]
    return random.sample(rows, len(rows))


def _is_free(port: int) -> bool:
    """On every address: some listen on one of them, some on all."""
    try:
        with socket.socket(socket.AF_INET) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(("", port))
            probe.listen()
    except OSError:
        return False
    return True
