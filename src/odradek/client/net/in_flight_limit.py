"""Room for so many at a time: first come, first served, and one who finds room need not wait for the loop."""

import asyncio
from collections import deque


class InFlightLimit:
    def __init__(self, places_max: int) -> None:
        self._max = places_max
        self._free = places_max
        self._waiting: deque[asyncio.Future[None]] = deque()

    @property
    def in_use(self) -> int:
        return self._max - self._free

    @property
    def has_room(self) -> bool:
        return self._free > 0

    def take_now(self) -> bool:
        """Take a slot if one is free, and return whether it was."""
        if self._free <= 0:
            return False
        self._free -= 1
        return True

    async def take(self) -> None:
        if self.take_now():
            return
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(waiter)
        try:
            await waiter
        except asyncio.CancelledError:
            if waiter.done() and not waiter.cancelled():
                self.give_back()
            raise

    def give_back(self) -> None:
        """To the next one who waits, if anybody does."""
        while self._waiting:
            waiter = self._waiting.popleft()
            if not waiter.done():
                waiter.set_result(None)
                return
        self._free += 1
