"""Ports for a cluster, in a row that no other test takes.

A row is held by a UDP socket on its first port, which only one process of the machine can have, and which ends with
the process. So clusters of tests that run in parallel keep out of each other's way from the choice of the ports to
their end, also while a node is down. They lie below those that systems give to outgoing connections.
"""

import random
import socket

from odradek.common.failures import InputError

_FIRST, _END = 10_000, 15_000
#: As many as the largest cluster needs.
_ROW = 40


class PortRow:
    def __init__(self, count: int) -> None:
        """Raises InputError where none is free."""
        if count > _ROW:
            raise InputError(f"{count} ports in a row are too many; {_ROW} are the most.")
        rows = list(range(_FIRST, _END, _ROW))
        for first in random.sample(rows, len(rows)):
            held = _hold(first)
            if held is None:
                continue
            if all(map(_is_free, range(first, first + count))):
                self.first, self._held = first, held
                return
            held.close()
        raise InputError(f"no {count} ports in a row are free between {_FIRST} and {_END}.")

    def release(self) -> None:
        self._held.close()


def _hold(port: int) -> socket.socket | None:
    held = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    try:
        held.bind(("127.0.0.1", port))
    except OSError:
        held.close()
        return None
    return held


def _is_free(port: int) -> bool:
    """On every address."""
    try:
        with socket.socket(socket.AF_INET) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(("", port))
            probe.listen()
    except OSError:
        return False
    return True
