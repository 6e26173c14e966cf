"""Delay of the event loop: how much later than scheduled a timer fires."""

import asyncio

#: Frequent enough to notice what blocks the loop for long, at a negligible cost.
_PERIOD_S = 0.1


class LoopDelay:
    def __init__(self) -> None:
        self._longest_s = 0.0
        self._due_s = 0.0
        self._timer: asyncio.TimerHandle | None = None

    def start(self) -> None:
        self._set(asyncio.get_running_loop())

    def stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()

    def take_longest_s(self) -> float:
        """Return the longest delay since the last call."""
        longest_s, self._longest_s = self._longest_s, 0.0
        return longest_s

    def _set(self, loop: asyncio.AbstractEventLoop) -> None:
        self._due_s = loop.time() + _PERIOD_S
        self._timer = loop.call_at(self._due_s, self._fire, loop)

    def _fire(self, loop: asyncio.AbstractEventLoop) -> None:
        self._longest_s = max(self._longest_s, loop.time() - self._due_s)
        self._set(loop)
