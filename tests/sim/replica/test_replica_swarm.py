"""Replication under faults: 300 seeds, and the same trace for the same seed in any process."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from odradek.sim.replica.swarm import run_or_explain
from support import figures

SOURCE = Path(__file__).parents[3] / "src"
FACTOR = int(os.environ.get("ODRADEK_SOAK_FACTOR", "1"))
SEEDS = 300 * FACTOR
SHARE = 50
REPLAYED = 20

SCRIPT = """
import sys
from odradek.sim.replica.swarm import run
for seed in range(int(sys.argv[1])):
    print(seed, run(seed).digest)
"""


def test_a_few_seeds() -> None:
    for seed in range(4):
        assert run_or_explain(seed).counts["acked"] > 0


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, SEEDS, SHARE))
def test_nothing_is_lost_and_all_agree(first: int) -> None:
    runs = [run_or_explain(seed).counts for seed in range(first, first + SHARE)]
    assert all(run["acked"] for run in runs)
    figures.report(
        "replica swarm",
        seeds=SHARE,
        events=sum(run["events"] for run in runs),
        kills=sum(run["kills"] for run in runs),
        leader_epochs=sum(run["leader_epochs"] for run in runs),
        produced=sum(run["produced"] for run in runs),
        acked=sum(run["acked"] for run in runs),
        lost=0,
        diverged=0,
    )


def digests(hash_seed: str) -> list[str]:
    environment = {**os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONPATH": str(SOURCE)}
    command = [sys.executable, "-c", SCRIPT, str(REPLAYED)]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout.splitlines()


@pytest.mark.slow
def test_same_seed_same_trace_in_another_process() -> None:
    first, second = digests("1"), digests("2")
    assert len({line.split()[1] for line in first}) == REPLAYED, "the digest tells runs apart"
    assert first == second
    figures.report("replica replay", seeds=REPLAYED, processes=2, different=0)
