"""The swarm: each seed has its own mix of faults; then a majority heals, elects in 10 s and catches up in 60."""

import pytest

from helpers.raft_sim import run_seeds, scaled

CHUNKS = 5
SEEDS = 500
SOAK_SEEDS = 10_000


@pytest.mark.slow
@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_swarm(chunk: int) -> None:
    count = scaled(SEEDS // CHUNKS)
    run_seeds("swarm", chunk * count, count)


@pytest.mark.soak
@pytest.mark.parametrize("chunk", range(4 * CHUNKS))
def test_swarm_soak(chunk: int) -> None:
    count = scaled(SOAK_SEEDS // (4 * CHUNKS))
    run_seeds("swarm", 1_000_000 + chunk * count, count)
