"""Many seeds of one simulation, and what they add up to."""

import os

from helpers import figures
from odradek.sim.raft.scenario import run_or_explain


def scaled(seeds: int) -> int:
    """`make soak` runs the same simulations with more seeds."""
    return seeds * int(os.environ.get("ODRADEK_SOAK_FACTOR", "1"))


def run_seeds(name: str, first: int, count: int) -> None:
    """Fails with the command that shows the failure again; otherwise reports figures."""
    outcomes = [run_or_explain(name, seed) for seed in range(first, first + count)]
    figures.report(
        f"raft {name}",
        seeds=count,
        events=sum(outcome.events for outcome in outcomes),
        elections=sum(outcome.elections for outcome in outcomes),
        committed=sum(outcome.committed for outcome in outcomes),
        simulated_s=sum(outcome.simulated_ms for outcome in outcomes) // 1000,
        lost=0,
        violations=0,
    )
