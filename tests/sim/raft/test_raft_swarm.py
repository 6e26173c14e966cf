"""The swarm: each seed has its own mix of faults; then a majority heals, elects in 10 s and catches up in 60."""

import pytest

from sim.raft.run_seeds import run_seeds, scaled

CHUNKS = 5
SEEDS = 500


@pytest.mark.slow
@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_swarm(chunk: int) -> None:
    count = scaled(SEEDS // CHUNKS)
    run_seeds("swarm", chunk * count, count)
