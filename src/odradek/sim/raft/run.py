"""How a simulation is set up from a seed, and what it reports."""

from collections.abc import Callable
from dataclasses import dataclass
from random import Random

from odradek.raft.raft import Raft
from odradek.sim.raft.cluster import CONFIG, RaftCluster, Transcript
from odradek.sim.raft.node import SimulatedNode
from odradek.sim.world.network import NetworkFaults

#: One seed in so many sends everything through the real codec.
_CODEC_SHARE = 20


@dataclass(frozen=True, slots=True)
class RunOptions:
    """What tests replace to see that the checks can fail."""

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
        """So many voters and observers; static or dynamic voters unless it is said."""
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


@dataclass(frozen=True, slots=True)
class Outcome:
    events: int
    simulated_ms: int
    elections: int
    committed: int
    digest: str


def outcome(cluster: RaftCluster) -> Outcome:
    cluster.finish()
    scheduler = cluster.scheduler
    return Outcome(
        scheduler.events,
        scheduler.now_ms,
        cluster.ledger.elections,
        cluster.ledger.committed_end,
        scheduler.digest,
    )
