"""One timer of the event loop that follows the deadline of a core.

A core has a `deadline_ms` and a `tick`; whatever changes the deadline calls `reschedule`. A timer that is set and comes
too early costs less than cancelling it: it looks again when it fires, and ticks only if something is due.
"""

import asyncio
from collections.abc import Callable

from odradek.common.ports import Clock
from odradek.server.drivers.fatal import FatalHandler


class DeadlineTimer:
    __slots__ = ("_clock", "_deadline_ms", "_fatal", "_handle", "_is_closed", "_scheduled_ms", "_tick")

    def __init__(
        self,
        clock: Clock,
        deadline_ms: Callable[[], int | None],
        tick: Callable[[int], None],
        fatal: FatalHandler,
    ) -> None:
        """`deadline_ms` and the argument of `tick` are on the monotonic clock; None means that nothing is due."""
        self._clock = clock
        self._deadline_ms = deadline_ms
        self._tick = tick
        self._fatal = fatal
        self._handle: asyncio.TimerHandle | None = None
        self._scheduled_ms: int | None = None
        self._is_closed = False

    def reschedule(self) -> None:
        """Fire at the current deadline at the latest."""
        deadline_ms = self._deadline_ms()
        if self._is_closed or deadline_ms is None:
            return
        if self._handle is not None:
            if self._scheduled_ms is not None and self._scheduled_ms <= deadline_ms:
                return
            self._handle.cancel()
        self._scheduled_ms = deadline_ms
        delay_ms = max(0, deadline_ms - self._clock.monotonic_ms())
        self._handle = asyncio.get_running_loop().call_later(delay_ms / 1000, self._fire)

    def close(self) -> None:
        self._is_closed = True
        if self._handle is not None:
            self._handle.cancel()

    def _fire(self) -> None:
        self._handle = self._scheduled_ms = None
        try:
            deadline_ms, now_ms = self._deadline_ms(), self._clock.monotonic_ms()
            if deadline_ms is not None and deadline_ms <= now_ms:
                self._tick(now_ms)
            self.reschedule()
        except Exception as error:  # noqa: BLE001 - nobody awaits a timer, so nobody else would notice
            self._fatal(error)
