"""Run one simulation again: `python -m odradek.sim.raft.scenario NAME SEED`. Names: see `SCENARIOS`, and `swarm`."""

import sys

from odradek.sim.raft.run import Outcome, RunOptions, outcome
from odradek.sim.raft.scenarios import SCENARIOS
from odradek.sim.raft.swarm import swarm

SIMULATIONS = {**SCENARIOS, "swarm": swarm}


class SimulationFailed(AssertionError):
    """With the command that shows it again."""


def run(name: str, seed: int, options: RunOptions = RunOptions()) -> Outcome:  # noqa: B008 - immutable
    return outcome(SIMULATIONS[name](seed, options))


def run_or_explain(name: str, seed: int, options: RunOptions = RunOptions()) -> Outcome:  # noqa: B008 - immutable
    try:
        return run(name, seed, options)
    except Exception as error:
        command = f"python -m odradek.sim.raft.scenario {name} {seed}"
        raise SimulationFailed(f"{type(error).__name__}: {error}\nTo see it again: {command}") from error


def main(arguments: list[str]) -> None:
    name, seed = arguments
    sys.stdout.write(f"{run(name, int(seed))}\n")


if __name__ == "__main__":
    main(sys.argv[1:])
