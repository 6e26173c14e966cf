"""A network that loses, delays, duplicates and cuts.

Messages are calls that happen later, or twice, or never. A cut is one-way: two of them make a partition. A clogged link
holds everything back until a time. Nothing keeps messages in order but their delays.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from random import Random

from odradek.sim.world.scheduler import Scheduler


@dataclass(frozen=True, slots=True)
class NetworkFaults:
    """Chances are of each message. Delays are exponential around the mean, on top of the least one."""

    loss: float = 0.0
    duplication: float = 0.0
    delay_min_ms: int = 1
    delay_mean_ms: float = 2.0
    #: Of a node that is down: the sender learns at once that nothing listens there; otherwise it waits in vain.
    refusal: float = 1.0


CALM = NetworkFaults()

#: A delay beyond this is a loss, which is simulated as such.
_MAX_DELAY_MS = 2_000


class Network:
    def __init__(self, scheduler: Scheduler, random: Random, faults: NetworkFaults = CALM) -> None:
        self._scheduler = scheduler
        self._random = random
        self.faults = faults
        self._cuts: dict[tuple[int, int], bool] = {}
        self._clogs_ms: dict[tuple[int, int], int] = {}

    def send(self, source: int, target: int, deliver: Callable[[], None]) -> None:
        faults, chance = self.faults, self._random.random
        if faults.loss and chance() < faults.loss:
            return
        self._send_once(source, target, deliver)
        if faults.duplication and chance() < faults.duplication:
            self._send_once(source, target, deliver)

    def _send_once(self, source: int, target: int, deliver: Callable[[], None]) -> None:
        """Schedule one delivery. A cut also drops messages in flight: the link is checked when the message arrives."""
        faults = self.faults
        delay_ms = faults.delay_min_ms + int(self._random.expovariate(1.0) * faults.delay_mean_ms)
        at_ms = self._scheduler.now_ms + min(delay_ms, _MAX_DELAY_MS)
        if self._clogs_ms:
            at_ms = max(at_ms, self._clogs_ms.get((source, target), 0))
        self._scheduler.at(at_ms, partial(self._arrive, source, target, deliver))

    def _arrive(self, source: int, target: int, deliver: Callable[[], None]) -> None:
        if (source, target) not in self._cuts:
            deliver()

    def cut(self, source: int, target: int) -> None:
        self._cuts[source, target] = True

    def cut_groups(self, groups: Sequence[Sequence[int]], *, symmetric: bool = True) -> None:
        """Nothing passes between the groups; asymmetric: only from earlier groups to later ones."""
        for index, group in enumerate(groups):
            for other in groups[index + 1 :]:
                for a in group:
                    for b in other:
                        self.cut(a, b)
                        if symmetric:
                            self.cut(b, a)

    def isolate(self, node: int, others: Sequence[int]) -> None:
        self.cut_groups([[node], [other for other in others if other != node]])

    def clog(self, source: int, target: int, until_ms: int) -> None:
        self._clogs_ms[source, target] = until_ms

    def heal(self) -> None:
        self._cuts.clear()
        self._clogs_ms.clear()
