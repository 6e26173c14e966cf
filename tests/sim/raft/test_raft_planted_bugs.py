"""Tests of the checkers: every planted bug is found within 200 seeds, and the failure says how to see it again."""

import pytest

from odradek.sim.raft.scenario import run_or_explain
from odradek.sim.world.results import SimulationFailed
from sim.raft.bugs import BUGS
from support import figures

SEEDS = 200


def test_there_are_enough_of_them() -> None:
    assert len(BUGS) >= 15


@pytest.mark.slow
@pytest.mark.parametrize("name", BUGS)
def test_planted_bug_is_found(name: str) -> None:
    bug = BUGS[name]
    with bug.planted():
        for seed in range(SEEDS):
            for simulation in bug.simulations:
                try:
                    run_or_explain(simulation, seed)
                except SimulationFailed as failure:
                    assert f"python -m odradek.sim.raft.scenario {simulation} {seed}" in str(failure)
                    figures.report("raft planted bug", bug=name, found_by=simulation, after_seeds=seed + 1)
                    return
    pytest.fail(f"nothing noticed in {SEEDS} seeds that {name}")
