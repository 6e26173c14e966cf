"""Setup of a simulation from a seed, and its result."""

from collections.abc import Callable
from dataclasses import dataclass
from random import Random

from odradek.raft.raft import Raft
from odradek.sim.raft.cluster import CONFIG, RaftCluster, Transcript
from odradek.sim.raft.node import SimulatedNode
from odradek.sim.world.network import NetworkFaults
from odradek.sim.world.results import SimulationResult

#: One in this many seeds encodes and decodes every message.
_CODEC_SHARE = 20


@dataclass(frozen=True, slots=True)
class RunOptions:
    """Classes that tests replace to verify that the checks can fail."""

    raft_class: type[Raft] = Raft
    node_class: type[SimulatedNode] = SimulatedNode
    transcript: Callable[[], Transcript] | None = None

    def cluster(
        self,
        name: str,
        seed: int,
        voters: tuple[int, int],
        observers: int,
        *,
        dynamic: bool | None = None,
        least_observers: int = 0,
    ) -> RaftCluster:
        """Create a cluster with random numbers of voters and observers, and static or dynamic voters."""
        random = Random(f"{name} {seed}")
        cluster = RaftCluster(
            random.getrandbits(64),
            voters=random.randint(*voters),
            observers=random.randint(least_observers, observers),
            dynamic=random.randrange(2) == 0 if dynamic is None else dynamic,
            config=CONFIG,
            through_codec=random.randrange(_CODEC_SHARE) == 0,
            snapshot_interval=random.choice((8, 20, 1_000)),
            raft_class=self.raft_class,
            node_class=self.node_class,
            transcript=self.transcript() if self.transcript is not None else None,
        )
        cluster.network.faults = NetworkFaults(delay_mean_ms=random.choice((1, 3, 8)))
        return cluster


def finish(cluster: RaftCluster) -> SimulationResult:
    """Check the final state and return the result."""
    cluster.finish()
    scheduler = cluster.scheduler
    counts = {
        "events": scheduler.events,
        "simulated_ms": scheduler.now_ms,
        "elections": cluster.ledger.elections,
        "committed": cluster.ledger.committed_end,
    }
    return SimulationResult(scheduler.digest, counts)
