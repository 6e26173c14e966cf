"""A seed is all it takes: two processes with different string hashes run the same simulation, event for event."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from odradek.sim.raft.scenario import run
from support import figures

SOURCE = Path(__file__).parents[3] / "src"
SEEDS = 50

SCRIPT = """
import sys
from odradek.sim.raft.scenario import SIMULATIONS, run
names = list(SIMULATIONS)
for seed in range(int(sys.argv[1])):
    name = "swarm" if seed % 2 else names[seed // 2 % len(names)]
    print(name, seed, run(name, seed).digest)
"""


def digests(hash_seed: str, seeds: int) -> list[str]:
    environment = {**os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONPATH": str(SOURCE)}
    command = [sys.executable, "-c", SCRIPT, str(seeds)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


@pytest.mark.slow
def test_same_seed_same_trace_in_another_process() -> None:
    first, second = digests("1", SEEDS), digests("2", SEEDS)
    assert len(first) == SEEDS
    assert len({line.split()[-1] for line in first}) > SEEDS // 2, "the digest tells runs apart"
    assert first == second
    figures.report("raft replay", seeds=SEEDS, processes=2, different=0)


def test_a_simulation_runs_from_the_command_line() -> None:
    environment = {**os.environ, "PYTHONPATH": str(SOURCE)}
    command = [sys.executable, "-m", "odradek.sim.raft.scenario", "elect_initial_leader", "3"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert run("elect_initial_leader", 3).digest in done.stdout
