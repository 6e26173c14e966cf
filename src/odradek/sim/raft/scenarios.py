"""Kafka's own scenarios for its quorum, and one for changes of its voters; each runs from a seed.

Every scenario checks safety after every event (`ledger`) and waits for what it promises, within limits of
simulated time. `SCENARIOS` has them by name.
"""

from collections.abc import Callable

from odradek.raft.voters import Voter
from odradek.sim.raft.cluster import RaftCluster
from odradek.sim.raft.node import SimulatedNode
from odradek.sim.raft.run import RunOptions

Scenario = Callable[[int, RunOptions], RaftCluster]


def _begin(name: str, seed: int, options: RunOptions, voters: tuple[int, int], observers: int = 5) -> RaftCluster:
    cluster = options.cluster(name, seed, voters, observers)
    cluster.write_every(20, 100)
    return cluster


def _with_leader(cluster: RaftCluster, high_watermark: int = 10) -> SimulatedNode:
    scheduler = cluster.scheduler
    scheduler.run_until(lambda: cluster.leader_of([n.id for n in cluster.running]) is not None, "a common leader")
    scheduler.run_until(lambda: cluster.any_reached(high_watermark), f"high watermark {high_watermark}")
    leader = cluster.leader()
    assert leader is not None
    return leader


def elect_initial_leader(seed: int, options: RunOptions) -> RaftCluster:
    cluster = _begin("elect_initial_leader", seed, options, (1, 5))
    cluster.start_all()
    _with_leader(cluster)
    cluster.scheduler.run_until(lambda: cluster.all_reached(30), "everybody at 30")
    return cluster


def replace_failed_leader(seed: int, options: RunOptions) -> RaftCluster:
    """Crashed, or shut down in order."""
    cluster = _begin("replace_failed_leader", seed, options, (3, 5))
    cluster.start_all()
    leader = _with_leader(cluster)
    if cluster.random.randrange(2):
        leader.shutdown(5_000)
        cluster.scheduler.run_until(lambda: not leader.is_running, "the leader has handed over", limit_ms=6_000)
    else:
        leader.crash()
    target = cluster.max_high_watermark() + 10
    cluster.scheduler.run_until(lambda: cluster.all_reached(target), f"the others at {target}")
    cluster.start(leader.id)
    target = cluster.max_high_watermark() + 10
    cluster.scheduler.run_until(lambda: cluster.all_reached(target), f"everybody at {target}")
    return cluster


def recover_after_all_crashed(seed: int, options: RunOptions) -> RaftCluster:
    """A majority comes back, and nothing is lost."""
    cluster = _begin("recover_after_all_crashed", seed, options, (1, 5))
    cluster.start_all()
    _with_leader(cluster)
    target = cluster.max_high_watermark() + 10
    for node_id in cluster.ids:
        cluster.crash(node_id)
    for node_id in cluster.random.sample(cluster.voter_ids, len(cluster.voter_ids) // 2 + 1):
        cluster.start(node_id)
    cluster.scheduler.run_until(lambda: cluster.all_reached(target), f"a majority at {target}")
    return cluster


def replace_isolated_leader(seed: int, options: RunOptions) -> RaftCluster:
    cluster = _begin("replace_isolated_leader", seed, options, (3, 5))
    cluster.start_all()
    leader = _with_leader(cluster)
    cluster.network.isolate(leader.id, cluster.ids)
    others = [node_id for node_id in cluster.ids if node_id != leader.id]
    target = cluster.max_high_watermark() + 10
    cluster.scheduler.run_until(lambda: cluster.all_reached(target, others), f"the others at {target}")
    cluster.network.heal()
    cluster.scheduler.run_until(lambda: cluster.all_reached(target + 10), f"everybody at {target + 10}")
    return cluster


def progress_with_a_majority(seed: int, options: RunOptions) -> RaftCluster:
    """Five voters, cut two to three; the larger part goes on, the smaller one does not, and then all do."""
    cluster = _begin("progress_with_a_majority", seed, options, (5, 5), 3)
    cluster.start_all()
    _with_leader(cluster)
    cluster.network.cut_groups([[0, 1], [2, 3, 4]])
    target = cluster.max_log_end() + 20
    cluster.scheduler.run_until(lambda: cluster.any_reached(target), f"the majority at {target}")
    minority, majority = cluster.max_high_watermark([0, 1]), cluster.max_high_watermark([2, 3, 4])
    assert majority > minority, f"the minority is at {minority}, the majority at {majority}"
    cluster.network.heal()
    target = cluster.max_log_end() + 20
    cluster.scheduler.run_until(lambda: cluster.all_reached(target), f"everybody at {target}")
    return cluster


def _kip_996_links(a: int, b: int, c: int, d: int, e: int) -> list[tuple[int, int]]:
    """Return the links in the picture of KIP-996:  a - c - d - b  with  e  below  c  and  d."""
    return [(a, c), (b, d), (c, d), (c, e), (d, e)]


def _cut_all_but(cluster: RaftCluster, links: list[tuple[int, int]]) -> None:
    for x in cluster.voter_ids:
        for y in cluster.voter_ids:
            if x != y and (x, y) not in links and (y, x) not in links:
                cluster.network.cut(x, y)


def elect_once_in_a_broken_mesh(seed: int, options: RunOptions) -> RaftCluster:
    """Without pre-vote, leadership would pass to and fro between the nodes in the middle."""
    cluster = _begin("elect_once_in_a_broken_mesh", seed, options, (5, 5), 3)
    _cut_all_but(cluster, _kip_996_links(0, 1, 2, 3, 4))
    cluster.start_all()
    cluster.scheduler.run_until(lambda: cluster.any_reached(1), "a leader that can commit")
    leader = cluster.leader()
    assert leader is not None and leader.raft is not None
    majority = [i for i in cluster.voter_ids if i not in {2: [1], 3: [0], 4: [0, 1]}[leader.id]]
    epoch = leader.raft.state.epoch
    cluster.scheduler.run_until(lambda: cluster.all_reached(30, majority), "the majority at 30")
    cluster.scheduler.run_for(4_000)
    assert leader.raft is not None and leader.raft.is_leader and leader.raft.state.epoch == epoch, str(leader)
    return cluster


def keep_leader_in_a_broken_mesh(seed: int, options: RunOptions) -> RaftCluster:
    """The mesh breaks around a leader that a majority still hears: it stays."""
    cluster = _begin("keep_leader_in_a_broken_mesh", seed, options, (5, 5), 3)
    cluster.start_all()
    leader = _with_leader(cluster, 5)
    assert leader.raft is not None
    epoch = leader.raft.state.epoch
    a, b, d, e = ((leader.id + step) % 5 for step in range(1, 5))
    _cut_all_but(cluster, _kip_996_links(a, b, leader.id, d, e))
    target = cluster.max_high_watermark() + 20
    cluster.scheduler.run_until(lambda: cluster.all_reached(target, [leader.id, a, d, e]), f"most at {target}")
    cluster.scheduler.run_for(4_000)
    assert leader.raft is not None and leader.raft.is_leader and leader.raft.state.epoch == epoch, str(leader)
    return cluster


def survive_leaders_failing_in_turn(seed: int, options: RunOptions) -> RaftCluster:
    """Stop each new leader, and restart the previous one."""
    cluster = _begin("survive_leaders_failing_in_turn", seed, options, (3, 5))
    cluster.start_all()
    first = _with_leader(cluster)
    cluster.network.isolate(first.id, cluster.ids)

    def has_other() -> bool:
        leader = cluster.leader()
        return leader is not None and leader is not first

    cluster.scheduler.run_until(has_other, "another leader")
    second = cluster.leader()
    assert second is not None
    cluster.network.heal()
    cluster.network.isolate(second.id, cluster.ids)
    target = cluster.max_high_watermark() + 10
    cluster.scheduler.run_until(lambda: cluster.any_reached(target), f"somebody at {target}")
    return cluster


def recover_from_a_lost_disk(seed: int, options: RunOptions) -> RaftCluster:
    """One node comes back with an empty disk after the others have elected a leader: nothing committed is lost."""
    cluster = _begin("recover_from_a_lost_disk", seed, options, (3, 5), 2)
    cluster.start_all()
    _with_leader(cluster)
    node = cluster.random.choice(cluster.running)
    cluster.ledger.data_loss = True
    node.crash()
    node.wipe(cluster.new_directory_id())

    def others_lead() -> bool:
        leader = cluster.leader_of([n.id for n in cluster.running])
        return leader is not None and leader is not node and leader.high_watermark > 0

    cluster.scheduler.run_until(others_lead, "a leader among the others")
    target = cluster.max_high_watermark() + 10
    cluster.start(node.id)
    cluster.scheduler.run_until(lambda: cluster.all_reached(target), f"everybody at {target}")
    return cluster


def change_voters(seed: int, options: RunOptions) -> RaftCluster:
    """Observers become voters and voters observers, the leader among them, under writes; one node crashes meanwhile."""
    cluster = options.cluster("change_voters", seed, (1, 4), 4, dynamic=True, least_observers=1)
    cluster.write_every(20, 100)
    cluster.start_all()
    _with_leader(cluster)
    for _ in range(4):
        _change_one(cluster)
        if cluster.random.randrange(3) == 0:
            victim = cluster.random.choice(cluster.running)
            victim.crash()
            cluster.scheduler.run_for(cluster.random.randint(1, 3_000))
            cluster.start(victim.id)
    target = cluster.max_high_watermark() + 20
    cluster.scheduler.run_until(lambda: cluster.all_reached(target), f"everybody at {target}")
    return cluster


def _change_one(cluster: RaftCluster) -> None:
    """Change a voter, with retries: a new leader may reject it, or crash before it responds."""
    leader = cluster.leader()
    voters = leader.raft.voters if leader is not None and leader.raft is not None else cluster.voter_set()
    outside = [node_id for node_id in cluster.ids if node_id not in voters]
    adds = bool(outside) and (len(voters) < 2 or cluster.random.randrange(2) == 0)
    voter_id = cluster.random.choice(outside if adds else list(voters.ids))

    def is_done() -> bool:
        current = cluster.leader()
        if current is None or current.raft is None or current.raft.high_watermark is None:
            return False
        entry = current.raft.voters_entry
        committed = entry is not None and entry[0] < current.raft.high_watermark
        return committed and (voter_id in current.raft.voters) == adds

    def ask() -> None:
        if cluster.leader() is not None and not is_done():
            if adds:
                cluster.add_voter(voter_id)
            elif (voter := _voter_at_leader(cluster, voter_id)) is not None:
                cluster.remove_voter(voter)

    for _ in range(40):
        ask()
        cluster.scheduler.run_for(500)
        if is_done():
            return
    raise AssertionError(f"{'adding' if adds else 'removing'} {voter_id} did not succeed")


def _voter_at_leader(cluster: RaftCluster, voter_id: int) -> Voter | None:
    leader = cluster.leader()
    return None if leader is None or leader.raft is None else leader.raft.voters.get(voter_id)


SCENARIOS: dict[str, Scenario] = {
    scenario.__name__: scenario
    for scenario in (
        elect_initial_leader,
        replace_failed_leader,
        recover_after_all_crashed,
        replace_isolated_leader,
        progress_with_a_majority,
        elect_once_in_a_broken_mesh,
        keep_leader_in_a_broken_mesh,
        survive_leaders_failing_in_turn,
        recover_from_a_lost_disk,
        change_voters,
    )
}
