"""Faults of coordinators at random times, until they heal."""

from collections.abc import Callable
from random import Random
from typing import Any

from odradek.replica.errors import NotEnoughReplicas
from odradek.sim.coordinator.cluster import CoordinatorCluster


class CoordinatorFaults:
    def __init__(self, cluster: CoordinatorCluster[Any], random: Random) -> None:
        self._cluster = cluster
        self._random = random
        self._is_over = False
        self._mean_ms = random.choice((150, 400, 1_000))
        self._actions = [self._elect, self._crash, self._restart, self._stall, self._refuse]
        #: Each seed has a taste of its own.
        self._weights = [random.choice((0, 1, 1, 3)) for _ in self._actions]
        self._weights[0] = self._weights[2] = 1
        cluster.loss = random.choice((0.0, 0.02, 0.2))
        cluster.max_delay_ms = random.choice((5, 20, 100))
        cluster.max_news_ms = random.choice((10, 200, 3_000))

    def begin(self) -> None:
        self._cluster.scheduler.after(self._pause_ms(), self._next)

    def heal(self) -> None:
        self._is_over = True
        self._cluster.heal()

    def _pause_ms(self) -> int:
        return 1 + int(self._random.expovariate(1.0) * self._mean_ms)

    def _next(self) -> None:
        if not self._is_over:
            self._random.choices(self._actions, self._weights)[0]()
            self._cluster.scheduler.after(self._pause_ms(), self._next)

    def _partition(self) -> int:
        return self._random.choice(list(self._cluster.topic.partitions))

    def _node(self) -> int:
        return self._random.choice(list(self._cluster.nodes))

    def _elect(self) -> None:
        self._cluster.elect(self._partition())

    def _crash(self) -> None:
        """One stays up: with nobody left nothing would happen."""
        node_id = self._node()
        if self._cluster.nodes[node_id].is_up and sum(node.is_up for node in self._cluster.nodes.values()) > 1:
            self._cluster.crash(node_id)

    def _restart(self) -> None:
        self._cluster.restart(self._node())

    def _stall(self) -> None:
        """Its high watermark stands still for a while."""
        partition_index = self._partition()
        self._cluster.stalled[partition_index] = None
        self._later(lambda: self._cluster.resume(partition_index))

    def _refuse(self) -> None:
        """A node's log takes nothing for a while."""
        log = self._cluster.nodes[self._node()].log
        log.refusal = NotEnoughReplicas("too few are in sync")
        self._later(lambda: setattr(log, "refusal", None))

    def _later(self, action: Callable[[], None]) -> None:
        self._cluster.scheduler.after(self._random.randint(100, 2_500), action)
