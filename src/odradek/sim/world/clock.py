"""Clock of a simulation: virtual time as monotonic and as wall-clock time."""

from odradek.sim.world.scheduler import Scheduler

_START_MS = 1_700_000_000_000


class SimulatedClock:
    def __init__(self, scheduler: Scheduler) -> None:
        self._scheduler = scheduler

    def monotonic_ms(self) -> int:
        return self._scheduler.now_ms

    def wall_ms(self) -> int:
        return _START_MS + self._scheduler.now_ms
