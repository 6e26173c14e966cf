"""Rounds of compaction over whole logs."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from odradek.log.cleaner.cleaner import CleanerConfig, CleaningAborted, Pause, Swap
from odradek.log.cleaner.offset_map import BYTES_PER_SLOT
from odradek.log.errors import StorageFault
from odradek.log.file_names import CLEANED_SUFFIX
from odradek.log.log_config import LogConfig
from odradek.records.batch import Compression
from odradek.records.errors import CorruptRecord
from odradek.sim.world.disk import SimulatedDisk
from support.builders.cleaning import COMPACTED, CompactedLog, Pair, clean, new_cleaning, records_of
from support.builders.logs import stored_batches


@pytest.fixture
def log() -> CompactedLog:
    return CompactedLog(SimulatedDisk())


def left(log: CompactedLog) -> list[tuple[int, bytes | None, bytes | None]]:
    return [(record.offset, record.key, record.value) for record in records_of(log.log)]


def batches(log: CompactedLog) -> list[tuple[int, int, int]]:
    """Base offset, last offset and count of what is stored."""
    return [(batch.base_offset, batch.last_offset, batch.count) for batch in stored_batches(log.log)]


def room_for(keys: int) -> CleanerConfig:
    return CleanerConfig(dedupe_buffer_size=2 * keys * BYTES_PER_SLOT, io_buffer_load_factor=0.5)


def test_the_last_record_of_each_key_stays(log: CompactedLog) -> None:
    log.append((b"a", b"1"), (b"b", b"1"))
    log.append((b"a", b"2"))
    log.append((b"c", b"1"))
    cleaning = log.clean()
    assert left(log) == [(1, b"b", b"1"), (2, b"a", b"2"), (3, b"c", b"1")]
    assert cleaning.end_offset == 4
    assert (cleaning.stats.messages_read, cleaning.stats.messages_written) == (4, 3)
    log.check()


def test_the_active_segment_is_never_cleaned(log: CompactedLog) -> None:
    log.append((b"a", b"1"))
    log.roll()
    log.append((b"a", b"2"))
    clean(log.log)
    assert left(log) == [(0, b"a", b"1"), (1, b"a", b"2")]


def test_a_tombstone_is_stamped_first_and_dropped_after_its_horizon(log: CompactedLog) -> None:
    log.append((b"a", b"1"))
    log.append((b"a", None), (b"b", b"1"))
    log.clean()
    assert left(log) == [(1, b"a", None), (2, b"b", b"1")]
    (stamped,) = stored_batches(log.log)
    assert stamped.delete_horizon_ms == log.clock.now_ms + COMPACTED.delete_retention_ms

    log.append((b"c", b"1"))
    log.clock.now_ms += COMPACTED.delete_retention_ms - 1
    log.clean()
    assert (1, b"a", None) in left(log)
    (again, _) = stored_batches(log.log)
    assert again.delete_horizon_ms == stamped.delete_horizon_ms  # the horizon does not move

    log.append((b"d", b"1"))
    log.clock.now_ms += 1
    log.clean()
    assert left(log) == [(2, b"b", b"1"), (3, b"c", b"1"), (4, b"d", b"1")]
    log.check()


def test_a_batch_that_loses_nothing_is_copied_as_it_is(log: CompactedLog) -> None:
    for compression in Compression:
        log.append((b"key %d" % compression, b"value" * 50), compression=compression)
    before = [bytes(batch.buffer) for batch in stored_batches(log.log)]
    log.clean()
    assert [bytes(batch.buffer) for batch in stored_batches(log.log)] == before


@pytest.mark.parametrize("compression", list(Compression))
def test_a_batch_keeps_its_codec_and_its_offsets(log: CompactedLog, compression: Compression) -> None:
    log.append((b"a", b"1" * 100), (b"b", b"2" * 100), (b"c", b"3" * 100), compression=compression, producer_id=4)
    log.append((b"a", b"4"), (b"c", b"5"), producer_id=4)
    log.clean()
    first, _ = stored_batches(log.log)
    assert (first.compression, first.base_offset, first.last_offset, first.count) == (compression, 0, 2, 1)
    assert (first.producer_id, first.base_sequence, first.last_sequence) == (4, 0, 2)
    assert [(record.offset, record.value) for record in first.records()] == [(1, b"2" * 100)]


def test_the_last_batch_of_an_active_producer_stays_as_an_empty_one(log: CompactedLog) -> None:
    log.append((b"a", b"1"), (b"a", b"2"), producer_id=9)
    log.append((b"a", b"3"))
    log.append((b"b", b"1"))
    before = log.sequences()
    log.clean()
    assert batches(log) == [(0, 1, 0), (2, 2, 1), (3, 3, 1)]
    log.load(clean_shutdown=False)
    assert log.sequences() == before


def test_the_last_offset_of_the_round_is_not_lost(log: CompactedLog) -> None:
    log.append((b"a", b"1"))
    log.append((None, b"no key"))
    cleaning = log.clean()
    assert batches(log) == [(0, 0, 1), (1, 1, 0)]
    assert cleaning.stats.invalid_messages == 1


def test_aborted_data_is_dropped_and_its_marker_later(log: CompactedLog) -> None:
    log.append((b"a", b"1"))
    log.transaction(5, [(b"a", b"2"), (b"b", b"2")], commit=False)
    log.append((b"c", b"1"))
    log.clean()
    log.check()
    # The producer is active, so its last batch stays, empty; that is what keeps the marker.
    assert batches(log) == [(0, 0, 1), (1, 2, 0), (3, 3, 1), (4, 4, 1)]
    assert [txn.producer_id for txn in log.log.segments.first.txn_index.entries()] == [5]

    log.clock.now_ms += 7 * 24 * 60 * 60 * 1000  # the producer is forgotten
    log.log.producers.remove_expired(log.log.clock.wall_ms())
    log.append((b"d", b"1"))
    log.clean()
    assert batches(log) == [(0, 0, 1), (3, 3, 1), (4, 4, 1), (5, 5, 1)]  # no data before the marker any more
    log.append((b"e", b"1"))
    log.clean()  # stamps the marker
    log.clock.now_ms += COMPACTED.delete_retention_ms
    log.append((b"f", b"1"))
    log.clean()
    assert 3 not in [base for base, _, _ in batches(log)]
    log.check()


def test_committed_data_keeps_its_marker(log: CompactedLog) -> None:
    log.transaction(5, [(b"a", b"1")], commit=True)
    log.append((b"b", b"1"))
    for _ in range(3):
        log.clean()
        log.clock.now_ms += 10 * COMPACTED.delete_retention_ms
        log.append((b"c", b"1"))
    log.check()
    assert (1, 1, 1) in batches(log)


def test_a_transaction_over_two_segments_is_dropped_in_both(log: CompactedLog) -> None:
    log.with_config(replace(COMPACTED, segment_bytes=100))  # too small to merge any two
    log.append((b"a", b"1"), producer_id=5, transactional=True)
    log.roll()
    log.append((b"b", b"1"), producer_id=5, transactional=True)
    log.end_transaction(5, commit=False)
    log.append((b"c", b"1"))
    log.clean()
    assert left(log) == [(3, b"c", b"1")]
    log.check()


def test_an_open_transaction_bounds_the_round(log: CompactedLog) -> None:
    log.append((b"a", b"1"))
    log.roll()
    log.append((b"a", b"2"), producer_id=5, transactional=True)
    log.roll()
    log.append((b"a", b"3"))
    log.roll()
    assert clean(log.log).end_offset == 1
    assert len(left(log)) == 3


def test_small_segments_become_one(log: CompactedLog) -> None:
    for number in range(6):
        log.append((b"key %d" % number, b"value"))
        log.roll()
    assert len(log.log.segments) == 7
    log.clean()
    assert log.log.segments.base_offsets == [0, 6]
    log.check()
    log.load(clean_shutdown=False)
    log.check()


def test_the_age_of_the_newest_segment_is_kept(log: CompactedLog) -> None:
    log.append((b"a", b"1"))
    log.roll()
    log.append((b"b", b"1"))
    log.roll()
    modified_ms = [segment.modified_ms() for segment in log.log.segments][1]
    log.clock.now_ms += 5000
    log.clean()
    assert log.log.segments.first.modified_ms() == modified_ms


@pytest.mark.parametrize("keys", [2, 3, 7])
def test_a_full_map_ends_the_round_and_the_next_goes_on(log: CompactedLog, keys: int) -> None:
    for number in range(8):
        log.append((b"a%d" % number, b"1"), (b"b%d" % number, b"1"), (b"a%d" % number, b"2"))
    config = room_for(keys)
    log.roll()
    ends = []
    while not ends or ends[-1] < log.log.offsets.log_end_offset:
        ends.append(log.clean(config).end_offset)
        log.check()
        assert ends == sorted(set(ends))  # every round makes progress
    assert len(ends) > 1
    assert len(left(log)) == 16


def test_the_map_stops_at_the_record_that_finds_no_room(log: CompactedLog) -> None:
    log.append((b"a", b"1"), (b"b", b"1"), (b"a", b"2"), (b"c", b"1"))
    log.append((b"a", b"3"))
    log.roll()
    config = room_for(2)
    # Two keys are in the map after offset 1; from then on even a key that is in it finds it full, as in Kafka.
    assert clean(log.log, config=config).end_offset == 2
    assert [offset for offset, _, _ in left(log)] == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("chunk_bytes", [1, 100, 1000])
def test_a_batch_larger_than_the_buffer_is_read_alone(log: CompactedLog, chunk_bytes: int) -> None:
    log.append((b"a", b"x" * 5000))
    log.append((b"b", b"y" * 10), (b"a", b"z" * 300))
    log.clean(CleanerConfig(io_buffer_size=2 * chunk_bytes))
    assert [(offset, key) for offset, key, _ in left(log)] == [(1, b"b"), (2, b"a")]


def test_damage_ends_the_round_and_changes_nothing(log: CompactedLog) -> None:
    log.append((b"a", b"1" * 100))
    log.append((b"a", b"2" * 100))
    log.roll()
    path = log.log.segments.first.log_path
    file = log.files.open(path)
    file.write(100, b"!")
    with pytest.raises(CorruptRecord, match=r"00000000000000000000\.log:0"):
        clean(log.log)
    assert not [name for name in log.files.list_dir(log.directory) if name.endswith(CLEANED_SUFFIX)]
    assert file.size() == log.log.segments.first.size


def test_an_aborted_round_leaves_nothing_behind(log: CompactedLog) -> None:
    log.append((b"a", b"1"))
    log.append((b"a", b"2"))
    log.roll()
    before = list(log.files.list_dir(log.directory))
    cleaning = new_cleaning(log.log)
    steps = cleaning.steps()
    while not isinstance(step := next(steps), Swap):
        pass
    cleaning.abort()
    cleaning.swap(step, log.log)
    assert log.log.segments.base_offsets == [0, 2]
    with pytest.raises(CleaningAborted):
        next(steps)
    assert list(log.files.list_dir(log.directory)) == before

    steps = new_cleaning(log.log).steps()
    while not any(name.endswith(CLEANED_SUFFIX) for name in log.files.list_dir(log.directory)):
        next(steps)
    steps.close()  # type: ignore[attr-defined]
    assert list(log.files.list_dir(log.directory)) == before


def test_a_worker_cleans_while_the_loop_appends(log: CompactedLog) -> None:
    log.with_config(replace(COMPACTED, segment_bytes=3000))
    for number in range(40):
        log.append((b"a", b"%d" % number), (b"key %d" % number, b"x" * 500), producer_id=1)
        if number % 5 == 4:
            log.roll()
    cleaning = new_cleaning(log.log, config=CleanerConfig(io_buffer_size=2000))
    steps = cleaning.steps()
    swaps = 0
    with ThreadPoolExecutor(1) as worker:
        while True:
            running = worker.submit(next, steps, None)
            log.append((b"a", b"meanwhile"), (b"b", b"meanwhile"), producer_id=1)
            step = running.result()
            if step is None:
                break
            if isinstance(step, Swap):
                cleaning.swap(step, log.log)
                swaps += 1
    assert swaps > 3
    assert log.log.offsets.log_end_offset > 100
    log.check()
    log.load(clean_shutdown=False)
    log.check()


def test_a_round_that_ends_at_any_step_changes_nothing_for_a_reader(log: CompactedLog) -> None:
    log.with_config(replace(COMPACTED, segment_bytes=500))
    for number in range(10):
        log.append((b"a", b"%d" % number), (b"key %d" % number, b"x" * 200))
        log.roll()
    ended = False
    stop_after = 0
    while not ended:
        stop_after += 1
        cleaning = new_cleaning(log.log)
        try:
            for number, step in enumerate(cleaning.steps()):
                if number == stop_after:
                    cleaning.abort()
                if isinstance(step, Swap):
                    cleaning.swap(step, log.log)
            ended = True
        except CleaningAborted:
            assert cleaning.end_offset is None
        log.check()
        assert not [name for name in log.files.list_dir(log.directory) if name.endswith(CLEANED_SUFFIX)]
    assert stop_after > 10


def test_leftovers_of_an_earlier_attempt_are_replaced(log: CompactedLog) -> None:
    log.append((b"a", b"1"), (b"a", b"2"))
    for kind in (".log", ".index", ".timeindex", ".txnindex"):
        log.files.open(f"{log.directory}/{0:020d}{kind}{CLEANED_SUFFIX}", create=True).append(b"left behind")
    log.clean()
    log.check()
    assert left(log) == [(1, b"a", b"2")]


def test_a_failing_disk_is_a_storage_fault(log: CompactedLog) -> None:
    log.append((b"a", b"1"), (b"a", b"2"))
    log.roll()
    assert isinstance(log.files, SimulatedDisk)
    log.files.fail(kind="write", path="*.log.cleaned")
    with pytest.raises(StorageFault) as raised:
        clean(log.log)
    assert raised.value.log_dir == "/data"


def test_the_io_limit_counts_reads_and_writes(log: CompactedLog) -> None:
    log.append(*[(b"%d" % number, b"x" * 100) for number in range(100)])
    log.roll()
    cleaning = new_cleaning(log.log)
    cleaning.throttle.bytes_per_second = 1000
    pauses = []
    for step in cleaning.steps():
        if isinstance(step, Swap):
            cleaning.swap(step, log.log)
        else:
            assert isinstance(step, Pause)
            pauses.append(step.ms)
            log.clock.now_ms += step.ms + 301
    stats = cleaning.stats
    moved_bytes = stats.map_bytes_read + stats.bytes_read + stats.bytes_written
    assert sum(pauses) == pytest.approx(moved_bytes - 301 * len(pauses), abs=301 * 2)


KEYS = st.sampled_from([b"a", b"b", b"c", b"", b"k" * 300])
PAIRS = st.lists(st.tuples(KEYS, st.none() | st.binary(max_size=4)), min_size=1, max_size=4)
ACTIONS = st.one_of(
    st.tuples(st.just("append"), PAIRS, st.sampled_from([-1, 1, 2]), st.sampled_from(Compression)),
    st.tuples(st.just("transaction"), st.lists(PAIRS, min_size=1, max_size=2), st.sampled_from([7, 8]), st.booleans()),
    st.tuples(st.just("roll")),
    st.tuples(st.just("clean"), st.sampled_from([2, 5, 1000])),
    st.tuples(st.just("wait"), st.integers(0, 2000)),
    st.tuples(st.just("forget producers")),
    st.tuples(st.just("restart")),
)


@settings(max_examples=150)
@given(st.lists(ACTIONS, max_size=25), st.sampled_from([2000, 1 << 30]))
def test_whatever_happens_a_reader_ends_with_the_same_values(actions: list[tuple], segment_bytes: int) -> None:  # type: ignore[type-arg]
    log = CompactedLog(SimulatedDisk(), config=LogConfig(**_settings(segment_bytes)))
    for action in [*actions, ("clean", 1000)]:
        match action:
            case ("append", pairs, producer_id, compression):
                log.append(*pairs, producer_id=producer_id, compression=compression)
            case ("transaction", groups, producer_id, commit):
                _transaction(log, groups, producer_id, commit)
            case ("roll",):
                log.roll()
            case ("clean", keys):
                log.clean(room_for(keys))
                log.check()
            case ("wait", ms):
                log.clock.now_ms += ms
            case ("forget producers",):
                log.clock.now_ms += 8 * 24 * 60 * 60 * 1000
                log.log.producers.remove_expired(log.log.clock.wall_ms())
                log._sequences.clear()
            case ("restart",):
                before = log.sequences()
                log.restart()
                assert log.sequences() == before
                log.check()
    before = log.sequences()
    log.load(clean_shutdown=False)  # indexes and producers from the segments alone
    log.check()
    assert log.sequences() == before


def _settings(segment_bytes: int) -> dict[str, object]:
    return {"cleanup_policy": ("compact",), "delete_retention_ms": 1000, "segment_bytes": segment_bytes}


def _transaction(log: CompactedLog, groups: list[list[Pair]], producer_id: int, commit: bool) -> None:
    log.transaction(producer_id, *groups, commit=commit)
