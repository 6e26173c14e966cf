"""What may lie around after a crash: junk behind the end of a file, indexes and snapshots missing, old or cut short.

The truth is always the same: the records that were written are there, every one is found by its offset and by its
time, the transactions are known as they ended, and the producers can go on where they were.
"""

from dataclasses import dataclass
from random import Random

import pytest

from odradek.log.unified_log import UnifiedLog
from odradek.records.batch import read_batches
from odradek.sim.world.disk import SimulatedDisk
from support.builders.logs import DIRECTORY, Rig, committed_records, stored_batches
from support.fakes.log_faults import Content, append_mixed, content_of, file_content, new_rig, overwrite, scaled, shards
from support.figures import report

RUNS = scaled(200)
MAX_JUNK_BYTES = 1024


@dataclass(frozen=True, slots=True)
class Truth:
    """A log that was written and closed, and what can be asked of it."""

    rig: Rig
    disk: SimulatedDisk
    content: Content
    committed: list[int]
    producers: dict[int, int]
    #: State files as they were when the log was half as long.
    stale: dict[str, bytes]

    def copy(self) -> Rig:
        return Rig(self.disk.copy(), self.rig.clock, DIRECTORY, self.rig.config)

    @property
    def end_offset(self) -> int:
        return self.content.next_offsets[-1]


def written_log() -> Truth:
    rig = new_rig()
    log = rig.load(segment_bytes=2500, index_interval_bytes=300)
    disk = rig.files
    assert isinstance(disk, SimulatedDisk)
    append_mixed(log, 24, seed=1)
    log.flusher.flush()
    half = disk.copy()
    rig.clock.now_ms += 1000
    append_mixed(log, 24, seed=2, epoch=1, first_producer=11)
    log.flusher.flush()
    truth_committed = [record.offset for record in committed_after(log)]
    sequences = producers_of(log)
    log.close()
    names = [name for name in half.list_dir(DIRECTORY) if not name.endswith(".log")]
    stale = {name: half.read_file(f"{DIRECTORY}/{name}") for name in names}
    assert len([name for name in disk.list_dir(DIRECTORY) if name.endswith(".log")]) >= 4
    return Truth(rig, disk, file_content(disk), truth_committed, sequences, stale)


def committed_after(log: UnifiedLog) -> list:  # type: ignore[type-arg]
    log.offsets.set_high_watermark(log.offsets.log_end_offset)
    return committed_records(log)


def producers_of(log: UnifiedLog) -> dict[int, int]:
    return {producer_id: entry.last_sequence for producer_id, entry in sorted(log.producers.producers.items())}


def check_whole(truth: Truth, found: Rig, what: str, **arguments: object) -> None:
    log = found.load(**arguments)
    assert content_of(list(stored_batches(log))) == truth.content, what
    assert producers_of(log) == truth.producers, what
    assert [record.offset for record in committed_after(log)] == truth.committed, what
    for data, next_offset in zip(truth.content.batches, truth.content.next_offsets, strict=True):
        first = next(read_batches(log.reader.fetch(log.reader.read(next_offset - 1, 1))))
        assert bytes(first.buffer) == data, f"{what}: offset {next_offset - 1}"
        by_time = log.reader.offset_for_timestamp(first.max_timestamp)
        assert by_time is not None and by_time.timestamp >= first.max_timestamp, what
    log.appender.append_as_leader(bytearray(truth.content.batches[0]), 2)
    assert len(list(stored_batches(log))) == len(truth.content.batches) + 1, what


@pytest.mark.slow
@pytest.mark.parametrize("shard", shards(RUNS, 4), ids=str)
def test_junk_behind_the_end_of_files(shard: range) -> None:
    """1 to 1024 random or zero bytes behind the active log and behind any index, below and above the recovery point."""
    truth = written_log()
    names = truth.disk.list_dir(DIRECTORY)
    active = [name for name in names if name.endswith(".log")][-1]
    indexes = [name for name in names if name.endswith(("index", ".snapshot"))]
    bases = [int(name[:20]) for name in names if name.endswith(".log")]
    for seed in shard:
        random = Random(seed)
        found = truth.copy()
        for name in [active, *random.sample(indexes, 3)]:
            junk_bytes = random.randint(1, MAX_JUNK_BYTES)
            junk = random.randbytes(junk_bytes) if random.random() < 0.5 else bytes(junk_bytes)
            file = found.files.open(f"{DIRECTORY}/{name}")
            file.append(junk)
        recovery_point = random.choice([0, truth.end_offset, *bases])
        check_whole(truth, found, f"seed {seed}", recovery_point=recovery_point)
    report("junk behind files", runs=len(shard), lost=0)


def test_each_state_file_missing() -> None:
    truth = written_log()
    names = [name for name in truth.disk.list_dir(DIRECTORY) if not name.endswith(".log")]
    cases = 0
    for name in names:
        for arguments in starts_that_notice(truth, name):
            found = truth.copy()
            found.files.remove(f"{DIRECTORY}/{name}")
            check_whole(truth, found, f"{name} missing, {arguments}", **arguments)
            cases += 1
    found = truth.copy()
    for name in names:
        found.files.remove(f"{DIRECTORY}/{name}")
    check_whole(truth, found, "all of them missing", recovery_point=0)
    report("state files missing", cases=cases + 1, lost=0)


def starts_that_notice(truth: Truth, name: str) -> list[dict[str, object]]:
    """A transaction index exists only where a transaction was aborted, so its absence below the recovery point says
    nothing, to Kafka as to us; every other file is missed."""
    after_crash: dict[str, object] = {"recovery_point": 0}
    if name.endswith(".txnindex"):
        return [after_crash]
    return [after_crash, {"clean_shutdown": True}, {"recovery_point": truth.end_offset}]


def test_each_state_file_stale_or_cut_short() -> None:
    """After a crash. (A stale file after a clean stop would be somebody else's work.)"""
    truth = written_log()
    cases = 0
    for name in [name for name in truth.disk.list_dir(DIRECTORY) if not name.endswith(".log")]:
        data = truth.disk.read_file(f"{DIRECTORY}/{name}")
        versions = [data[:size] for size in sorted({0, 1, len(data) // 2, max(0, len(data) - 1)})]
        versions += [truth.stale[name]] if name in truth.stale and name != "leader-epoch-checkpoint" else []
        for version in versions:
            found = truth.copy()
            overwrite(found.files, f"{DIRECTORY}/{name}", version)
            check_whole(truth, found, f"{name} with {len(version)} of {len(data)} bytes", recovery_point=0)
            cases += 1
    report("state files stale or cut short", cases=cases, lost=0)
