"""`read_committed` returns exactly the committed records, however the batches came and whatever happened since.

Random transactions reach a log in appends of one batch to all of them, as they reach a follower. In between the log is
truncated, rolled, restarted after a clean stop or a crash, and its transaction indexes are replaced by those that
Apache Kafka would have written. Every fetch size from one batch to everything must give what the model says.
"""

from random import Random

import pytest

from helpers.cleaning import clean
from helpers.committed_reads import (
    History,
    WrittenBatch,
    aborted_entries,
    committed,
    random_appends,
    read_committed,
    replace_index,
    stored_index,
)
from helpers.figures import report
from helpers.log_faults import scaled
from helpers.logs import Rig
from odradek.log.unified_log import UnifiedLog
from odradek.sim.disk import SimulatedDisk

COMPACT = ("compact",)
SEEDS = scaled(16)
STEPS = 10
#: From one batch (a fetch always returns the first) to more than any of these logs holds.
FETCH_BYTES = (1, 300, 700, 1_500, 4_000, 1 << 20)


class Replica:
    """A follower's log: `appends` are the batches it has, append by append."""

    def __init__(self, seed: int, cleanup_policy: tuple[str, ...] = ("delete",)) -> None:
        self.draw = Random(seed)
        self.cleanup_policy = cleanup_policy
        self.history = History(self.draw)
        self.rig = Rig(SimulatedDisk())
        self.log: UnifiedLog
        self.appends: list[list[WrittenBatch]] = []
        self.reads = 0
        self.has_kafkas_index = False
        self._load(clean_shutdown=True)

    @property
    def batches(self) -> list[WrittenBatch]:
        return [batch for batches in self.appends for batch in batches]

    def catch_up(self) -> None:
        self.history.add_random(self.draw.randint(1, 60))
        behind = self.history.batches[len(self.batches) :]
        for batches in random_appends(self.draw, behind):
            self.log.append_as_follower(bytearray(b"".join(batch.data for batch in batches)), 0)
            self.appends.append(list(batches))

    def truncate(self) -> None:
        """Not below the high watermark of the last check, which is committed for good."""
        batches = self.batches
        if not batches:
            return
        keep = self.draw.randint(len(batches) // 2, len(batches))
        offset = batches[keep - 1].next_offset if keep else 0
        self.log.truncate_to(offset)
        self.appends = [
            kept for append in self.appends if (kept := [batch for batch in append if batch.next_offset <= offset])
        ]

    def roll(self) -> None:
        if self.log.segments.active.size:
            self.log.roll()

    def restart(self) -> None:
        self.log.flush(include_active=True)
        self.log.close()
        self._load(clean_shutdown=True, recovery_point=self.log.log_end_offset)

    def recover(self) -> None:
        """Indexes from the recovery point on are made again from the log."""
        self.log.flush(include_active=True)
        self.log.close()
        self._load(clean_shutdown=False, recovery_point=self.draw.randint(0, self.log.log_end_offset))

    def take_kafkas_index(self) -> None:
        replace_index(self.log, aborted_entries(self.appends, as_kafka=True))
        self.has_kafkas_index = True

    def raise_last_stable_offsets(self) -> None:
        """Kafka's mistake at its worst: wherever nothing was open, a transaction at the end of the log counts."""
        end = self.log.log_end_offset
        replace_index(
            self.log,
            [
                entry._replace(last_stable_offset=end) if entry.last_stable_offset > entry.last_offset else entry
                for entry in stored_index(self.log)
            ],
        )

    def check(self) -> None:
        self.log.update_high_watermark(self.log.log_end_offset)
        if not self.has_kafkas_index:
            assert stored_index(self.log) == aborted_entries([[batch] for batch in self.batches])
        expected = committed(self.batches)
        for max_bytes in (*FETCH_BYTES, self.draw.randint(1, 3_000)):
            assert read_committed(self.log, max_bytes, self.draw) == expected
            start = self.draw.randint(0, self.log.log_end_offset)
            from_start = [record for record in expected if record[0] >= start]
            assert read_committed(self.log, max_bytes, self.draw, start) == from_start
            self.reads += 2

    def compact(self) -> None:
        self.log.update_high_watermark(self.log.log_end_offset)
        self.roll()
        clean(self.log)
        self.rig.clock.now_ms += 1_000

    def check_compacted(self) -> None:
        """Only committed records are left to see, and of every key the last one."""
        self.log.update_high_watermark(self.log.log_end_offset)
        expected = committed(self.batches)
        last_values = {key: value for _, key, value in expected}
        for max_bytes in (*FETCH_BYTES, self.draw.randint(1, 3_000)):
            shown = read_committed(self.log, max_bytes, self.draw)
            assert set(shown) <= set(expected)
            assert {key: value for _, key, value in shown} == last_values
            self.reads += 1

    def _load(self, *, clean_shutdown: bool, recovery_point: int = 0) -> None:
        self.log = self.rig.load(
            clean_shutdown=clean_shutdown,
            recovery_point=recovery_point,
            segment_bytes=6_000,
            index_interval_bytes=100,
            cleanup_policy=self.cleanup_policy,
            delete_retention_ms=0,
        )
        self.has_kafkas_index = False  # loading has corrected it


@pytest.mark.parametrize("seed", range(SEEDS))
def test_every_fetch_size_returns_exactly_the_committed_records(seed: int) -> None:
    replica = Replica(seed)
    actions = (
        *(replica.catch_up, replica.catch_up, replica.truncate, replica.roll),
        *(replica.restart, replica.recover, replica.take_kafkas_index, replica.take_kafkas_index),
    )
    for _ in range(STEPS):
        replica.draw.choice(actions)()
        replica.check()
    report("read_committed after random appends, truncations and restarts", seed=seed, reads=replica.reads)


@pytest.mark.parametrize("seed", range(SEEDS))
def test_compaction_drops_the_aborted_records_and_no_others(seed: int) -> None:
    """The cleaner goes by the transaction index as well, and what it takes for committed stays for good."""
    replica = Replica(seed, COMPACT)
    actions = (
        *(replica.catch_up, replica.catch_up, replica.compact, replica.compact, replica.roll),
        *(replica.restart, replica.recover),
    )
    for _ in range(STEPS):
        replica.draw.choice(actions)()
        replica.check_compacted()
        if replica.draw.random() < 0.5:
            replica.raise_last_stable_offsets()
            replica.check_compacted()
