"""Tests of the checkers: every planted bug is found within 200 seeds, and the failure says how to see it again."""

import pytest

from odradek.sim.replica.swarm import run_or_explain
from odradek.sim.world.results import SimulationFailed
from sim.replica.bugs import BUGS
from support import figures

SEEDS = 200


@pytest.mark.slow
@pytest.mark.parametrize("name", BUGS)
def test_planted_bug_is_found(name: str) -> None:
    bug = BUGS[name]
    with bug.planted():
        for seed in range(bug.first_seed, bug.first_seed + SEEDS):
            try:
                run_or_explain(seed)
            except SimulationFailed as failure:
                assert f"python -m odradek.sim.replica.swarm {seed}" in str(failure)
                figures.report(
                    "replica planted bug",
                    bug=name,
                    after_seeds=seed + 1 - bug.first_seed,
                    message=str(failure).split("\n")[0],
                )
                return
    pytest.fail(f"nothing noticed in {SEEDS} seeds that {name}")
