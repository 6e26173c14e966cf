"""`read_committed` returns exactly the committed records, however the batches came and whatever happened since.

Random transactions reach a log in appends of one batch to all of them, as they reach a follower. In between the log is
truncated, rolled and restarted after a clean stop or a crash, producers expire, and its transaction indexes are
replaced by those that Apache Kafka would have written. Every fetch size from one batch to everything must give what the
model says.
"""

import pytest

from support.builders.committed_reads import Replica
from support.fakes.log_faults import scaled
from support.figures import report

COMPACT = ("compact",)
SEEDS = scaled(16)
STEPS = 10


@pytest.mark.parametrize("seed", range(SEEDS))
def test_every_fetch_size_returns_exactly_the_committed_records(seed: int) -> None:
    replica = Replica(seed)
    actions = (
        *(replica.catch_up, replica.catch_up, replica.truncate, replica.roll),
        *(replica.restart, replica.recover, replica.expire_producers),
        *(replica.take_kafkas_index, replica.take_kafkas_index),
    )
    for _ in range(STEPS):
        replica.draw.choice(actions)()
        replica.check()
    report("read_committed after random appends, truncations and restarts", seed=seed, reads=replica.reads)


@pytest.mark.parametrize("seed", range(SEEDS))
def test_compaction_drops_the_aborted_records_and_no_others(seed: int) -> None:
    """The cleaner goes by the transaction index as well, and what it takes for committed stays for good."""
    replica = Replica(seed, cleanup_policy=COMPACT)
    actions = (
        *(replica.catch_up, replica.catch_up, replica.compact, replica.compact, replica.roll),
        *(replica.restart, replica.recover, replica.expire_producers),
    )
    for _ in range(STEPS):
        replica.draw.choice(actions)()
        replica.check_compacted()
        if replica.draw.random() < 0.5:
            replica.raise_last_stable_offsets()
            replica.check_compacted()
