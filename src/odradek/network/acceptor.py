"""Takes newcomers off a bound socket, one in each turn of the loop.

The loops' own servers accept all that wait before anybody else is served. Here a flood of newcomers delays those who
are there by one at a time, and the flood waits in the backlog, where the system sees to it. Who has left again before
its turn costs a few calls to the system, and nobody hears of it.
"""

import asyncio
import logging
import socket
from collections.abc import Callable, Sequence

logger = logging.getLogger("odradek.network")

#: Without a descriptor left there is nothing to be done but to wait for those who leave.
_PAUSE_S = 0.1


def _at_once() -> float:
    return 0.0


class Acceptor:
    def __init__(
        self,
        bound: Sequence[socket.socket],
        welcome: Callable[[socket.socket, str], None],
        pace: Callable[[], float] = _at_once,
    ) -> None:
        """`welcome` gets each newcomer's socket, which does not block, and its address. `pace` is asked after each for
        how many seconds the next one has to wait."""
        self._bound = bound
        self._welcome = welcome
        self._pace = pace
        self._pauses: dict[socket.socket, asyncio.TimerHandle] = {}
        #: Said once, until there is room again.
        self._shortage_logged = False

    def listen(self, backlog: int) -> None:
        """Newcomers wait from now on. Raises OSError where somebody else has come to listen there meanwhile."""
        for bound in self._bound:
            bound.listen(backlog)

    def start(self) -> None:
        for bound in self._bound:
            self._accept_from(bound)

    def stop(self) -> None:
        loop = asyncio.get_running_loop()
        for pause in self._pauses.values():
            pause.cancel()
        for bound in self._bound:
            loop.remove_reader(bound)
            bound.close()

    def _accept_from(self, bound: socket.socket) -> None:
        self._pauses.pop(bound, None)
        asyncio.get_running_loop().add_reader(bound, self._accept, bound)

    def _accept(self, bound: socket.socket) -> None:
        try:
            opened, address = bound.accept()
        except (BlockingIOError, InterruptedError, ConnectionAbortedError):
            return
        except OSError as error:
            if not self._shortage_logged:
                logger.warning("no more connections can be accepted for now: %s", error)
                self._shortage_logged = True
            self._pause(bound, _PAUSE_S)
            return
        self._shortage_logged = False
        opened.setblocking(False)
        if _has_left(opened):
            opened.close()
        else:
            self._welcome(opened, address[0])
            pause_s = self._pace()
            if pause_s:
                self._pause(bound, pause_s)

    def _pause(self, bound: socket.socket, pause_s: float) -> None:
        loop = asyncio.get_running_loop()
        loop.remove_reader(bound)
        self._pauses[bound] = loop.call_later(pause_s, self._accept_from, bound)


def _has_left(opened: socket.socket) -> bool:
    try:
        return not opened.recv(1, socket.MSG_PEEK)
    except (BlockingIOError, InterruptedError):
        return False
    except OSError:
        return True
