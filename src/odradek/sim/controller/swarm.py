"""Controllers under random operations and failures: `python -m odradek.sim.controller.swarm SEED [COUNT]`.

Three controllers, some brokers, and random operations and failures, all from one seed. Every record is checked as it is
written, and the states of all controllers at random times and at the end.
"""

import sys
from random import Random

from odradek.sim.controller.cluster import NODES, ControllerCluster
from odradek.sim.controller.operations import RandomOperations
from odradek.sim.controller.state_checks import StateChecks
from odradek.sim.world import results
from odradek.sim.world.results import SimulationResult

_STEPS = 150


def run(seed: int) -> SimulationResult:
    random = Random(seed)
    cluster = ControllerCluster(random)
    operations = RandomOperations(cluster, random, uses_racks=seed % 2 == 1)
    checks = StateChecks(cluster)
    cluster.elect(random.choice(NODES))
    for _ in range(_STEPS):
        operations.run_next()
        if random.random() < 0.05:
            checks.check()
    cluster.commit(everything=True)
    checks.check_final(operations.created, operations.maybe_deleted)
    counts = {
        "operations": cluster.operations,
        "records": cluster.records,
        "failovers": cluster.failovers,
        "fenced": operations.fenced,
    }
    return SimulationResult(cluster.digest, counts)


def command(seed: int) -> str:
    """Return the command that repeats the simulation."""
    return f"python -m odradek.sim.controller.swarm {seed}"


def run_or_explain(seed: int) -> SimulationResult:
    return results.run_or_explain(lambda: run(seed), command(seed))


def main(arguments: list[str]) -> None:
    first, count = int(arguments[0]), int(arguments[1]) if len(arguments) > 1 else 1
    for seed in range(first, first + count):
        sys.stdout.write(f"{seed} {run(seed)}\n")


if __name__ == "__main__":
    main(sys.argv[1:])
