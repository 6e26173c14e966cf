"""Fair turns for connections with more requests than fit into one turn of the event loop.

One connection continues for one time slice in each turn of the loop, so connections with few requests are served in
between, however much the others have sent.
"""

import asyncio
from collections import OrderedDict
from typing import Protocol

#: Duration of a slice: about twenty small requests. Interrupting a connection costs about as much as one of them.
SLICE_NS = 500_000


class Sliced(Protocol):
    def go_on(self) -> None:
        """Continue for a slice; line up again if that was not enough."""


class FairTurns:
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
