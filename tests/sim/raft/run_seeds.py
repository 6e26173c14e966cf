"""Many seeds of one simulation, and what they add up to."""

import os

from odradek.sim.raft.scenario import run_or_explain
from support import figures


def scaled(seeds: int) -> int:
    """`make soak` runs the same simulations with more seeds."""
    return seeds * int(os.environ.get("ODRADEK_SOAK_FACTOR", "1"))


def run_seeds(name: str, first: int, count: int) -> None:
    """Fails with the command that shows the failure again; otherwise reports figures."""
    runs = [run_or_explain(name, seed).counts for seed in range(first, first + count)]
    figures.report(
        f"raft {name}",
        seeds=count,
        events=sum(run["events"] for run in runs),
        elections=sum(run["elections"] for run in runs),
        committed=sum(run["committed"] for run in runs),
        simulated_s=sum(run["simulated_ms"] for run in runs) // 1000,
        lost=0,
        violations=0,
    )
