"""The swarm: every seed has its own mix of faults, all at once, and then its peace.

Phase 1: messages are lost, doubled and late, links clog, the network parts in various shapes, nodes crash in the middle
of what they do, sleep, restart, and have clocks that run up to a fifth too fast or too slow; voters change. Only safety
is asked for. Phase 2: a majority, chosen at random, is whole again, and the rest is cut off for good: within ten
seconds there is a leader, within sixty everybody in it has caught up.
"""

from dataclasses import dataclass
from functools import partial
from random import Random

from odradek.sim.raft.cluster import RaftCluster
from odradek.sim.raft.node import NodeClock, SimulatedNode
from odradek.sim.raft.run import RunOptions
from odradek.sim.world.network import CALM, NetworkFaults

LEADER_WITHIN_MS = 10_000
CAUGHT_UP_WITHIN_MS = 60_000

_MAX_CLOG_MS = 5_000
_MAX_DOWN_MS = 3_000
_MAX_PAUSE_MS = 4_000
_CLOCK_DRIFT = 0.2


@dataclass(frozen=True, slots=True)
class FaultMix:
    """Weights of the faults of a seed."""

    network: NetworkFaults
    duration_ms: int
    interval_ms: int
    weights: dict[str, int]
    #: Short time-outs beside long delays make elections collide.
    election_timeout_ms: int
    fetch_timeout_ms: int
    #: Of each vote that is written down: the voter crashes soon after, and is back at once.
    crash_after_vote: float

    @classmethod
    def of(cls, random: Random) -> "FaultMix":
        names = ("part", "heal", "crash", "crash_midway", "pause", "clog", "resign", "change_voters")
        return cls(
            NetworkFaults(
                loss=random.choice((0.0, random.uniform(0, 0.3))),
                duplication=random.choice((0.0, random.uniform(0, 0.5))),
                delay_mean_ms=random.uniform(30, 100),
                refusal=random.choice((0.0, 0.5, 1.0)),
            ),
            duration_ms=random.randint(6_000, 14_000),
            interval_ms=random.choice((200, 500, 1_500)),
            weights={name: random.choice((0, 1, 3)) for name in names} | {"heal": random.choice((1, 3))},
            election_timeout_ms=random.choice((100, 300, 1_000)),
            fetch_timeout_ms=random.choice((600, 2_000)),
            crash_after_vote=random.choice((0.0, 0.2, 0.5)),
        )


def swarm(seed: int, options: RunOptions) -> RaftCluster:
    random = Random(f"swarm {seed}")
    mix = FaultMix.of(random)
    cluster = options.cluster("swarm", seed, random.choice(((3, 3), (3, 5), (1, 5))), 3)
    cluster.network.faults = mix.network
    for node in cluster.nodes.values():
        rate = random.choice((1.0, random.uniform(1 - _CLOCK_DRIFT, 1 + _CLOCK_DRIFT)))
        node.clock = NodeClock(node, rate, random.randrange(1_000_000))
    cluster.with_config(election_timeout_ms=mix.election_timeout_ms, fetch_timeout_ms=mix.fetch_timeout_ms)
    cluster.on_crash = partial(_restart_later, cluster)
    cluster.on_vote = partial(_maybe_crash_voter, cluster, mix.crash_after_vote)
    cluster.write_every(40, 160)
    cluster.start_all()
    nemesis = Nemesis(cluster, mix)
    while cluster.scheduler.now_ms < mix.duration_ms:
        cluster.scheduler.run_for(1 + cluster.random.randrange(2 * mix.interval_ms))
        nemesis.strike()
    _heal_a_majority(cluster)
    return cluster


def _restart_later(cluster: RaftCluster, node: SimulatedNode) -> None:
    cluster.scheduler.after(cluster.random.randint(1, _MAX_DOWN_MS), partial(cluster.start, node.id))


def _maybe_crash_voter(cluster: RaftCluster, chance: float, node: SimulatedNode) -> None:
    random, incarnation = cluster.random, node.incarnation

    def crash() -> None:
        if node.incarnation == incarnation and node.is_running:
            node.crash()
            cluster.scheduler.after(random.randint(1, 60), partial(cluster.start, node.id))

    if random.random() < chance:
        cluster.scheduler.after(random.randrange(60), crash)


class Nemesis:
    def __init__(self, cluster: RaftCluster, mix: FaultMix) -> None:
        self._cluster = cluster
        self._names = list(mix.weights)
        self._weights = list(mix.weights.values())

    def strike(self) -> None:
        (name,) = self._cluster.random.choices(self._names, self._weights)
        getattr(self, f"_{name}")()

    def _part(self) -> None:
        """Four shapes, two-way or one-way."""
        cluster, random = self._cluster, self._cluster.random
        ids = cluster.ids
        random.shuffle(ids)
        symmetric = random.randrange(2) == 0
        cluster.network.heal()
        shape = random.randrange(4)
        if shape == 0:
            cluster.network.cut_groups([ids[:1], ids[1:]][:: random.choice((1, -1))], symmetric=symmetric)
        elif shape == 1:
            half = random.randint(1, len(ids))
            cluster.network.cut_groups([ids[:half], ids[half:]], symmetric=symmetric)
        elif shape == 2:
            groups: list[list[int]] = [[], [], []]
            for node_id in ids:
                random.choice(groups).append(node_id)
            cluster.network.cut_groups(groups, symmetric=symmetric)
        else:
            self._ring(ids, symmetric)

    def _ring(self, ids: list[int], symmetric: bool) -> None:
        """Each hears its two neighbours alone."""
        for index, a in enumerate(ids):
            near = (ids[index - 1], ids[(index + 1) % len(ids)])
            for b in ids:
                if b != a and b not in near and (symmetric or self._cluster.random.randrange(2)):
                    self._cluster.network.cut(a, b)

    def _heal(self) -> None:
        self._cluster.network.heal()

    def _victim(self) -> SimulatedNode | None:
        running = self._cluster.running
        leader = self._cluster.leader()
        if leader is not None and self._cluster.random.randrange(3) == 0:
            return leader
        return self._cluster.random.choice(running) if running else None

    def _crash(self) -> None:
        victim = self._victim()
        if victim is not None:
            victim.crash()
            _restart_later(self._cluster, victim)

    def _crash_midway(self) -> None:
        victim = self._victim()
        if victim is not None:
            victim.effects_until_crash = self._cluster.random.randrange(4)

    def _pause(self) -> None:
        victim = self._victim()
        if victim is not None:
            victim.pause(self._cluster.scheduler.now_ms + self._cluster.random.randint(50, _MAX_PAUSE_MS))

    def _clog(self) -> None:
        cluster, random = self._cluster, self._cluster.random
        a, b = random.choice(cluster.ids), random.choice(cluster.ids)
        cluster.network.clog(a, b, cluster.scheduler.now_ms + random.randint(100, _MAX_CLOG_MS))

    def _resign(self) -> None:
        leader = self._cluster.leader()
        if leader is not None and leader.raft is not None:
            leader.raft.resign(leader.raft.state.epoch)

    def _change_voters(self) -> None:
        cluster, leader = self._cluster, self._cluster.leader()
        if not cluster.dynamic or leader is None or leader.raft is None:
            return
        for _ in range(cluster.random.randint(1, 3)):
            voters = leader.raft.voters if leader.raft is not None else cluster.voter_set()
            outside = [node_id for node_id in cluster.ids if node_id not in voters]
            if outside and cluster.random.randrange(2):
                cluster.add_voter(cluster.random.choice(outside))
            elif len(voters) > 1:
                cluster.remove_voter(cluster.random.choice(list(voters)))


def _heal_a_majority(cluster: RaftCluster) -> None:
    """Heal a majority of every set of voters that any of the logs has."""
    majority = _majority(cluster)
    rest = [node_id for node_id in cluster.ids if node_id not in majority]
    cluster.network.faults = CALM
    cluster.network.heal()
    cluster.network.cut_groups([majority, rest])
    for node_id in majority:
        cluster.nodes[node_id].pause(0)
        cluster.nodes[node_id].effects_until_crash = None
        cluster.start(node_id)
    cluster.on_crash = cluster.on_vote = lambda node: None
    scheduler = cluster.scheduler
    scheduler.run_until(lambda: _has_leader(cluster, majority), f"a leader of {majority}", limit_ms=LEADER_WITHIN_MS)
    target = max(cluster.ledger.committed_end, cluster.max_log_end_of(majority)) + 3
    scheduler.run_until(
        lambda: cluster.all_reached(target, majority), f"{majority} at {target}", limit_ms=CAUGHT_UP_WITHIN_MS
    )


def _has_leader(cluster: RaftCluster, majority: list[int]) -> bool:
    """Somebody leads who has committed something of its epoch, and is believed by a majority."""
    leader = cluster.leader()
    return leader is not None and leader.id in majority and leader.high_watermark > 0


def _majority(cluster: RaftCluster) -> list[int]:
    sets = [voters.ids for node in cluster.nodes.values() if (voters := cluster.voters_in_log(node))]
    ids = cluster.ids
    cluster.random.shuffle(ids)
    majority: list[int] = []
    for node_id in ids:
        if not all(sum(voter in majority for voter in voters) > len(voters) // 2 for voters in sets):
            majority.append(node_id)
    return sorted(majority)
