"""Connections with more to do than fits into one turn of the loop. Each goes on for a slice when its turn comes.

One slice in each turn of the loop: who asks for little is served in between, however much others have sent.
"""

import asyncio
from collections import OrderedDict
from typing import Protocol

#: How long a connection goes on at a time: some twenty small requests. To stop and go on costs about as much as one.
SLICE_NS = 500_000


class Sliced(Protocol):
    def go_on(self) -> None:
        """For a slice; it lines up again if that was not enough."""


class Turns:
    __slots__ = ("_waiting",)

    def __init__(self) -> None:
        self._waiting: OrderedDict[Sliced, None] = OrderedDict()

    def line_up(self, connection: Sliced) -> None:
        if not self._waiting:
            asyncio.get_running_loop().call_soon(self._turn)
        self._waiting[connection] = None

    def forget(self, connection: Sliced) -> None:
        self._waiting.pop(connection, None)

    def _turn(self) -> None:
        if not self._waiting:
            return
        connection, _ = self._waiting.popitem(last=False)
        if self._waiting:
            asyncio.get_running_loop().call_soon(self._turn)
        connection.go_on()
