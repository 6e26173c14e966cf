"""Readiness of many sockets behind one descriptor of the event loop.

The loop watches an epoll of ours as if it were a socket, and each turn of the loop takes only a few of the ready ones
off it. So a thousand peers that stir at once delay timers, other listeners and the node's own work by a few at a time;
the rest stays ready in the kernel, first come first served.
"""

import asyncio
import logging
import select
from typing import Protocol

logger = logging.getLogger("odradek.network")

#: Small requests take some 30 µs each: what else the loop has to do waits for half a millisecond.
_READY_AT_ONCE = 16

READABLE = 0x001
WRITABLE = 0x004

#: Linux. Elsewhere connections have the loop's own transports.
AVAILABLE = hasattr(select, "epoll")


class Pollable(Protocol):
    def ready(self, events: int) -> None:
        """Told again and again for as long as it is so. Besides what was asked for, the peer's end and errors."""

    def fail(self, error: Exception) -> None:
        """`ready` raised this: a bug, which costs one connection and not all of them."""


class Poller:
    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        self._epoll = select.epoll()
        self._watched: dict[int, Pollable] = {}
        loop.add_reader(self._epoll.fileno(), self._turn)

    def watch(self, descriptor: int, watched: Pollable, before: int, events: int) -> None:
        """From now on for `events`, and no longer for those of `before`; 0 is not at all. Raises OSError where the
        system watches as much as it can."""
        if not before:
            self._epoll.register(descriptor, events)
            self._watched[descriptor] = watched
        elif events:
            self._epoll.modify(descriptor, events)
        else:
            del self._watched[descriptor]
            self._epoll.unregister(descriptor)

    def close(self) -> None:
        self.loop.remove_reader(self._epoll.fileno())
        self._epoll.close()

    def _turn(self) -> None:
        for descriptor, events in self._epoll.poll(0, _READY_AT_ONCE):
            # One of those before it may have closed it.
            watched = self._watched.get(descriptor)
            if watched is None:
                continue
            try:
                watched.ready(events)
            except Exception as error:
                logger.exception("a connection failed")
                watched.fail(error)
