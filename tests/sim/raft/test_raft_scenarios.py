"""Kafka's scenarios for its quorum, and a change of voters, with many seeds; safety is checked after every event."""

import pytest

from odradek.sim.raft.scenarios import SCENARIOS
from sim.raft.run_seeds import run_seeds, scaled

CHUNKS = 4
SEEDS = 200


@pytest.mark.slow
@pytest.mark.parametrize("chunk", range(CHUNKS))
@pytest.mark.parametrize("name", SCENARIOS)
def test_scenario(name: str, chunk: int) -> None:
    count = scaled(SEEDS // CHUNKS)
    run_seeds(name, chunk * count, count)


@pytest.mark.parametrize("name", SCENARIOS)
def test_scenario_once(name: str) -> None:
    run_seeds(name, 12_345, 1)
