"""The metadata log: beside the simulator's own through any history, and single behaviours."""

from collections.abc import Callable, Iterable
from itertools import accumulate
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from odradek.common.failures import Fault
from odradek.log.manager.checkpoint_files import write_partition_metadata
from odradek.metadata_log.metadata_log import MetadataLogConfig
from odradek.raft.storage.snapshots import read_snapshot, snapshot_file_name
from odradek.raft.values import OffsetAndEpoch
from odradek.records.batch import read_batches
from odradek.records.errors import CorruptRecord, InvalidRecord
from support.builders.raft import WALL_MS, data_batch, leader_change_batch
from support.builders.raft_logs import DIRECTORY, TwinRaftLog, content, freeze, new_disk, open_log
from support.fakes.log_faults import scaled
from support.figures import report

# -- against the simulator's log


def append(log: TwinRaftLog, number: int) -> None:
    epoch = max(log.last_epoch, 1)
    log.append_as_follower(data_batch(log.end_offset, epoch, *[b"v" * (number % 60)] * (1 + number % 3)), epoch)


def append_group(log: TwinRaftLog, number: int) -> None:
    epoch = max(log.last_epoch, 1)
    log.append_as_leader(b"".join(data_batch(log.end_offset + at, epoch) for at in range(number % 12)), epoch)


def begin_epoch(log: TwinRaftLog, number: int) -> None:
    epoch = log.last_epoch + 1 + number % 2
    log.initialize_leader_epoch(epoch)
    log.end_offset_for_epoch(epoch)
    log.append_as_leader(leader_change_batch(log.end_offset, epoch), epoch)


def commit(log: TwinRaftLog, number: int) -> None:
    log.update_high_watermark(log.end_offset)


def truncate(log: TwinRaftLog, number: int) -> None:
    """At the end of a batch, and to nothing that is committed: a quorum asks for nothing else."""
    latest = log.latest_snapshot_id
    committed = max(log.high_watermark, log.start_offset if latest is None else latest.offset)
    ends = [committed, *(end for entry in log.entries if (end := entry.next_offset) > committed)]
    log.truncate_to(ends[-1 - number % len(ends)])


def flush(log: TwinRaftLog, number: int) -> None:
    log.flush()


def snapshot(log: TwinRaftLog, number: int) -> None:
    snapshot_id = OffsetAndEpoch(log.last_epoch, log.high_watermark)
    if log.start_offset < log.high_watermark == log.end_offset and log.snapshot_size_bytes(snapshot_id) is None:
        freeze(log, snapshot_id)


def snapshot_from_ahead(log: TwinRaftLog, number: int) -> None:
    freeze(log, OffsetAndEpoch(log.last_epoch + 1, log.end_offset + 1 + number))
    if number % 3:
        log.truncate_to_latest_snapshot()
    else:
        log.crash()


def forget(log: TwinRaftLog, number: int) -> None:
    latest = log.latest_snapshot_id
    if latest is not None and latest.offset <= log.high_watermark:
        log.delete_before_snapshot(latest)


def clean(log: TwinRaftLog, number: int) -> None:
    log.clean(WALL_MS + number * 100)


def crash(log: TwinRaftLog, number: int) -> None:
    log.crash()


def reopen(log: TwinRaftLog, number: int) -> None:
    log.close()
    log.reopen(log.disk.crash("none"))


VERBS: list[Callable[[TwinRaftLog, int], None]] = [
    *[append, append_group, begin_epoch, commit, truncate, flush, snapshot, snapshot_from_ahead, forget] * 2,
    *[append, append, clean, crash, reopen],
]


def play(history: Iterable[tuple[Callable[[TwinRaftLog, int], None], int]], seed: int) -> TwinRaftLog:
    config = MetadataLogConfig(segment_bytes=300, retention_bytes=1000, retention_ms=5000)
    log = TwinRaftLog(lambda entry: None, lambda snapshot_id: 0, Random(seed), config)
    for verb, number in history:
        verb(log, number)
        log.agree_fully()
        for epoch in range(log.last_epoch + 2):
            log.end_offset_for_epoch(epoch)
    return log


@settings(max_examples=100)
@given(st.lists(st.tuples(st.sampled_from(VERBS), st.integers(0, 99)), max_size=40), st.integers(0, 2**32))
def test_it_does_what_the_simulators_log_does(
    history: list[tuple[Callable[[TwinRaftLog, int], None], int]], seed: int
) -> None:
    play(history, seed)


def test_it_does_so_through_long_histories() -> None:
    """Those that Hypothesis likes are short."""
    crashes = 0
    for seed in range(scaled(60)):
        random = Random(seed)
        crashes += play([(random.choice(VERBS), random.randrange(100)) for _ in range(60)], seed).crashes
    assert crashes > 100
    report("metadata log beside the simulator's", histories=scaled(60), crashes=crashes, differences=0)


# -- single behaviours


def test_reading_stops_at_the_high_watermark_and_gives_at_least_one_batch() -> None:
    log = open_log(new_disk(), MetadataLogConfig())
    batches = [data_batch(offset, 1, b"x" * 50) for offset in range(3)]
    log.append_as_leader(b"".join(batches), 1)
    log.update_high_watermark(2)
    assert bytes(log.read(0, 1, committed=False)) == batches[0]
    assert bytes(log.read(0, 1000, committed=True)) == b"".join(batches[:2])
    assert bytes(log.read(1, len(batches[1]) + 5, committed=False)) == batches[1]
    assert bytes(log.read(2, 1000, committed=True)) == b""


def test_a_follower_keeps_what_is_sound_before_what_is_not() -> None:
    log = open_log(new_disk())
    damaged = bytearray(data_batch(1, 1))
    damaged[-1] ^= 1
    with pytest.raises(CorruptRecord):
        log.append_as_follower(data_batch(0, 1) + bytes(damaged), 1)
    assert log.end_offset == 1
    with pytest.raises(InvalidRecord, match="does not continue"):
        log.append_as_follower(data_batch(1, 1) + data_batch(5, 1), 1)
    assert log.end_offset == 2
    with pytest.raises(InvalidRecord, match="does not continue"):
        log.append_as_follower(data_batch(2, 0), 1)
    log.append_as_follower(data_batch(2, 1) + data_batch(3, 2), 1)
    assert log.end_offset == 3, "a batch of a later epoch than the one that is followed is left out"


def test_truncation_never_goes_below_the_high_watermark() -> None:
    log = open_log(new_disk())
    log.append_as_follower(data_batch(0, 1) + data_batch(1, 1), 1)
    log.update_high_watermark(1)
    with pytest.raises(Fault, match="below the high watermark"):
        log.truncate_to(0)


def test_a_snapshot_is_there_when_it_is_frozen_and_thrown_away_before() -> None:
    disk = new_disk()
    log = open_log(disk)
    log.append_as_follower(data_batch(0, 1), 1)
    snapshot_id = OffsetAndEpoch(1, 1)
    raw = log.create_snapshot(snapshot_id)
    assert raw is not None
    raw.append(b"half")
    assert log.latest_snapshot_id is None
    assert open_log(disk.copy()).latest_snapshot_id is None
    raw.close()
    assert not [name for name in disk.list_dir(DIRECTORY) if "checkpoint.part" in name]
    freeze(log, snapshot_id)
    assert log.create_snapshot(snapshot_id) is None
    assert [batch.values for batch in read_snapshot(log, snapshot_id) if batch.values] == [(b"state",)]
    size = log.snapshot_size_bytes(snapshot_id)
    assert size is not None and len(log.read_snapshot(snapshot_id, 10, 20)) == 20
    assert open_log(disk.crash("none")).snapshot_size_bytes(snapshot_id) == size


def test_a_snapshot_that_is_damaged_or_cut_off_is_never_read() -> None:
    """Wherever it is cut, at the end of a batch as well, and whichever byte has changed."""
    disk = new_disk()
    log = open_log(disk)
    log.append_as_follower(data_batch(0, 1), 1)
    snapshot_id = OffsetAndEpoch(1, 1)
    freeze(log, snapshot_id)
    path = f"{DIRECTORY}/{snapshot_file_name(snapshot_id)}"
    whole = disk.read_file(path)
    starts = accumulate((batch.size_bytes for batch in read_batches(whole)), initial=0)
    # Base offset and epoch are outside of the CRC, and mean nothing in a snapshot.
    harmless = {start + at for start in starts for at in (*range(8), *range(12, 16))}
    for position in range(len(whole)):
        changed = bytearray(whole)
        changed[position] ^= 0x10
        for damaged in (whole[:position], changed):
            file = disk.open(path)
            file.truncate(0)
            file.append(bytes(damaged))
            file.close()
            try:
                batches = list(read_snapshot(open_log(disk), snapshot_id))
            except Fault:
                continue
            assert [batch.values for batch in batches if batch.values] == [(b"state",)], position
            assert damaged is changed and position in harmless


@pytest.mark.parametrize(
    ("config", "kept"),
    [
        (MetadataLogConfig(segment_bytes=300, retention_ms=1000), [30]),
        (MetadataLogConfig(segment_bytes=300, retention_bytes=2200), [20, 30]),
        (MetadataLogConfig(segment_bytes=300, retention_bytes=0), [30]),
        (MetadataLogConfig(segment_bytes=300, retention_bytes=-1, retention_ms=-1), [10, 20, 30]),
    ],
)
def test_cleaning_drops_old_snapshots_and_the_log_behind_them(config: MetadataLogConfig, kept: list[int]) -> None:
    disk = new_disk()
    log = open_log(disk, config)
    for offset in range(40):
        log.append_as_leader(data_batch(offset, 1), 1)
        log.update_high_watermark(offset + 1)
        if offset in (9, 19, 29):
            freeze(log, OffsetAndEpoch(1, offset + 1), timestamp=WALL_MS + offset)
    segments = len([name for name in disk.list_dir(DIRECTORY) if name.endswith(".log")])
    assert log.clean(WALL_MS + 5000) == (len(kept) < 3)
    names = disk.list_dir(DIRECTORY)
    assert [int(name[:20]) for name in names if name.endswith(".checkpoint")] == kept
    assert log.start_offset == (0 if len(kept) == 3 else kept[0])
    if len(kept) < 3:
        assert len([name for name in names if name.endswith(".log")]) < segments
        assert open_log(disk.crash("none"), config).start_offset == kept[0]
    assert not log.clean(WALL_MS)


def test_a_log_without_its_beginning_is_refused() -> None:
    disk = new_disk()
    log = open_log(disk)
    for offset in range(12):
        log.append_as_leader(data_batch(offset, 1), 1)
    log.flush()
    log.close()
    first, second, *_ = [name for name in disk.list_dir(DIRECTORY) if name.endswith(".log")]
    for gone in (first, second):
        damaged = disk.copy()
        damaged.remove(f"{DIRECTORY}/{gone}")
        with pytest.raises(Fault, match="are gone"):
            open_log(damaged)


def test_another_topics_directory_is_refused() -> None:
    disk = new_disk()
    disk.make_dirs(DIRECTORY)
    write_partition_metadata(disk, DIRECTORY, b"x" * 16)
    with pytest.raises(Fault, match="holds another topic"):
        open_log(disk)


def test_a_log_goes_on_where_it_was_closed() -> None:
    disk = new_disk()
    log = open_log(disk)
    log.append_as_leader(b"".join(data_batch(offset, 1) for offset in range(20)), 1)
    log.close()
    again = open_log(disk.crash("none"))
    assert again.repairs == ()
    assert content(again) == {offset: data_batch(offset, 1) for offset in range(20)}
    assert (again.end_offset, again.last_epoch, again.high_watermark) == (20, 1, 0)


def test_a_flush_in_steps_is_a_flush() -> None:
    disk = new_disk()
    log = open_log(disk)
    log.append_as_leader(data_batch(0, 1), 1)
    plan = log.plan_flush()
    assert plan is not None
    plan.run()
    log.finish_flush(plan)
    assert log.plan_flush() is None, "nothing is synced twice"
    assert open_log(disk.crash("none")).end_offset == 1
