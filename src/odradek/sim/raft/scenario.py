"""Run one simulation again: `python -m odradek.sim.raft.scenario NAME SEED`. Names: see `SCENARIOS`, and `swarm`."""

import sys

from odradek.sim.raft.run import RunOptions, finish
from odradek.sim.raft.scenarios import SCENARIOS
from odradek.sim.raft.swarm import swarm
from odradek.sim.world import results
from odradek.sim.world.results import SimulationResult

SIMULATIONS = {**SCENARIOS, "swarm": swarm}

_DEFAULTS = RunOptions()


def run(name: str, seed: int, options: RunOptions = _DEFAULTS) -> SimulationResult:
    return finish(SIMULATIONS[name](seed, options))


def run_or_explain(name: str, seed: int, options: RunOptions = _DEFAULTS) -> SimulationResult:
    command = f"python -m odradek.sim.raft.scenario {name} {seed}"
    return results.run_or_explain(lambda: run(name, seed, options), command)


def main(arguments: list[str]) -> None:
    name, seed = arguments
    sys.stdout.write(f"{run(name, int(seed))}\n")


if __name__ == "__main__":
    main(sys.argv[1:])
