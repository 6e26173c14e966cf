"""The quorum on the real log and the simulated disk: the same scenarios, and the two logs agree all the way."""

import pytest

from odradek.sim.raft.run import RunOptions
from odradek.sim.raft.scenario import run
from odradek.sim.raft.scenarios import SCENARIOS
from sim.raft.run_seeds import scaled
from support import figures
from support.builders.raft_on_disk import NodeOnDisk

OPTIONS = RunOptions(node_class=NodeOnDisk)


@pytest.mark.parametrize("name", SCENARIOS)
def test_scenarios_on_disk(name: str) -> None:
    _run_seeds(name, scaled(4))


@pytest.mark.slow
def test_swarm_on_disk() -> None:
    _run_seeds("swarm", scaled(40))


def _run_seeds(name: str, seeds: int) -> None:
    runs = []
    for seed in range(seeds):
        try:
            runs.append(run(name, seed, OPTIONS).counts)
        except Exception as error:
            raise AssertionError(f"{name} on disk fails with seed {seed}: {error}") from error
    figures.report(
        f"raft {name} on disk",
        seeds=seeds,
        committed=sum(counts["committed"] for counts in runs),
        elections=sum(counts["elections"] for counts in runs),
        lost=0,
    )
