"""Bugs that were found by attacking the log; each stays here as the shortest story that showed it."""

from dataclasses import replace
from random import Random

import pytest
from crc32c import crc32c

from odradek.log.cleaner.cleaner import CleanerConfig, run_steps
from odradek.log.cleaner.cleaner_manager import CleanerManager
from odradek.log.errors import OutOfOrderSequence, StaleRead
from odradek.log.log_appender import UnexpectedAppendOffset
from odradek.log.unified_log import UnifiedLog
from odradek.log.values import CorruptLog, Isolation
from odradek.records.errors import InvalidRecord, InvalidTimestamp
from odradek.sim.world.disk import SimulatedDisk
from support.builders.logs import NOON_MS, Rig, batch, idempotent, stored_values
from support.fakes.log_faults import new_rig, overwrite


def restarted(rig: Rig, disk: SimulatedDisk, **arguments: object) -> UnifiedLog:
    return Rig(disk, rig.clock, rig.directory, rig.config).load(**arguments)


def disk_of(rig: Rig) -> SimulatedDisk:
    assert isinstance(rig.files, SimulatedDisk)
    return rig.files


def clean(rig: Rig, log: UnifiedLog) -> None:
    manager = CleanerManager(
        rig.files, rig.clock, CleanerConfig(), {log.topic_partition: log}, ["/data"], lambda: bytes(16)
    )
    cleaning = manager.next_round()
    assert cleaning is not None
    run_steps(cleaning, log, lambda ms: None)
    manager.finish(cleaning)


@pytest.mark.parametrize("recovery_point", [0, 5, 10])
def test_epochs_below_the_log_start_are_no_damage(recovery_point: int) -> None:
    """Records were deleted within a segment: the cache knows nothing of the epochs before, and keeps what it knows."""
    rig = new_rig()
    log = rig.load()
    for epoch in range(10):
        log.appender.append_as_leader(batch(f"v{epoch}"), epoch)
    log.offsets.set_high_watermark(10)
    log.offsets.raise_start(2)
    log.flusher.flush(include_active=True)
    again = restarted(rig, disk_of(rig).crash("none"), log_start_offset=2, recovery_point=recovery_point)
    assert (again.offsets.log_start_offset, again.offsets.log_end_offset) == (2, 10)
    assert again.epochs.latest_epoch == 9


def test_epochs_below_the_log_start_do_not_hide_damage_above_it() -> None:
    """The cache knows nothing of the first batches, but all about those from the log start on."""
    rig = new_rig()
    log = rig.load()
    for epoch in range(10):
        log.appender.append_as_leader(batch(f"v{epoch}"), epoch)
    log.offsets.set_high_watermark(10)
    log.offsets.raise_start(2)
    log.flusher.flush(include_active=True)
    place = log.reader.read(6, 1).records
    assert place is not None
    file = rig.files.open(place.file.path)
    file.write(place.position + 14, b"\x01")  # the leader epoch 6 becomes 262
    file.sync()
    with pytest.raises(CorruptLog, match="leader epoch 262 at offset 6"):
        restarted(rig, disk_of(rig).crash("none"), log_start_offset=2, recovery_point=10)


def test_what_recovery_cuts_does_not_come_back() -> None:
    """A torn batch was cut, the segment sealed; after a second crash its bytes must not be there again."""
    rig = new_rig()
    log = rig.load()
    log.appender.append_as_leader(batch("A"), 0)
    log.flusher.flush(include_active=True)
    path, whole = log.segments.active.log_path, log.segments.active.size
    log.appender.append_as_leader(batch("B" * 500), 0)
    crashes = (disk_of(rig).crash(Random(seed)) for seed in range(1000))
    torn = next(disk for disk in crashes if whole < disk.size(path) < whole + 500)
    log = restarted(rig, torn, recovery_point=1)
    log.roller.roll()
    log.appender.append_as_leader(batch("C"), 0)
    log.flusher.flush(include_active=True)
    assert stored_values(restarted(rig, torn.crash("none"), recovery_point=2)) == [b"A", b"C"]


def test_deleting_records_says_nothing_about_what_is_synced() -> None:
    rig = new_rig()
    log = rig.load()
    for _ in range(20):
        log.appender.append_as_leader(batch("v" * 200), 0)
    log.offsets.set_high_watermark(20)
    log.offsets.raise_start(15)
    assert log.offsets.recovery_point == 0
    for seed in range(50):
        restarted(rig, disk_of(rig).crash(Random(seed)), log_start_offset=15, recovery_point=log.offsets.recovery_point)


@pytest.mark.parametrize("recovery_point", [0, 3, 6, 9])
def test_gaps_of_a_log_that_is_no_longer_compacted_are_kept(recovery_point: int) -> None:
    rig = new_rig()
    log = rig.load(cleanup_policy=("compact",), min_cleanable_dirty_ratio=0.0)
    for key in ("k0", "k1", "k2", "k3", "twice", "k4", None, "twice", None, "active"):
        if key is None:
            log.roller.roll()
        else:
            log.appender.append_as_leader(batch("v", key=key.encode()), 0)
    log.offsets.set_high_watermark(log.offsets.log_end_offset)
    clean(rig, log)
    log.config.update(replace(log.config.value, cleanup_policy=("delete",)))
    log.appender.append_as_leader(batch("after"), 0)
    log.flusher.flush(include_active=True)
    rig.config = log.config.value
    again = restarted(rig, disk_of(rig).crash("none"), recovery_point=recovery_point)
    assert stored_values(again) == stored_values(log)
    again = restarted(rig, disk_of(rig).crash("none"), recovery_point=recovery_point, was_cleaned=True)
    assert stored_values(again) == stored_values(log)
    assert not [repair for repair in again.repairs if not repair.endswith(".deleted")]


def test_a_range_that_was_cleaned_away_is_stale_and_not_damage() -> None:
    rig = new_rig()
    log = rig.load(cleanup_policy=("compact",), min_cleanable_dirty_ratio=0.0)
    for _ in range(10):
        log.appender.append_as_leader(batch("v" * 100, key=b"same"), 0)
    log.roller.roll()
    log.appender.append_as_leader(batch("v", key=b"a"), 0)
    log.offsets.set_high_watermark(log.offsets.log_end_offset)
    found = log.reader.read(0, 500)
    clean(rig, log)
    with pytest.raises(StaleRead):
        log.reader.fetch(found)
    assert log.health.fault is None and log.reader.fetch(log.reader.read(0, 500))


def test_a_follower_takes_nothing_that_it_could_not_serve() -> None:
    log = new_rig().load()
    with pytest.raises(UnexpectedAppendOffset, match="5 to 14 after 9"):
        overlapping = batch(*"x" * 10, base_offset=0, leader_epoch=0) + batch(*"x" * 10, base_offset=5, leader_epoch=0)
        log.appender.append_as_follower(overlapping, 0)
    with pytest.raises(InvalidRecord, match="leader epoch -1"):
        log.appender.append_as_follower(batch("x", base_offset=0, leader_epoch=-1), 0)
    assert log.offsets.log_end_offset == 0


def test_a_followers_stable_offset_is_its_leaders() -> None:
    """Two producers in one fetch: the one that was first seen opened its transaction later."""
    leader, follower = new_rig().load(), new_rig().load()
    leader.appender.append_as_leader(idempotent(1, 0, "a0"), 0)
    leader.appender.append_as_leader(idempotent(2, 0, "b0", is_transactional=True), 0)
    leader.appender.append_as_leader(idempotent(1, 1, "a1", is_transactional=True), 0)
    follower.appender.append_as_follower(leader.reader.fetch(leader.reader.read(0, 1 << 20)), 0)
    for log in (leader, follower):
        log.offsets.set_high_watermark(3)
    assert leader.offsets.last_stable_offset == follower.offsets.last_stable_offset == 1


def test_a_timestamp_beyond_64_bits_is_refused() -> None:
    log = new_rig().load(compression_type="zstd", message_timestamp_type="LogAppendTime")
    data = bytearray(batch("a", "b", timestamps=[NOON_MS, NOON_MS + 7]))
    data[27:35] = (2**63 - 1).to_bytes(8, "big")  # the base timestamp: the second record is 7 ms beyond it
    data[17:21] = crc32c(data[21:]).to_bytes(4, "big")
    with pytest.raises(InvalidTimestamp, match="beyond 64 bits"):
        log.appender.append_as_leader(data, 0)


@pytest.mark.parametrize("checkpoint", ["0 0", "9 9"])
def test_a_checkpoint_that_many_batches_contradict_is_not_believed(checkpoint: str) -> None:
    rig = new_rig()
    log = rig.load()
    for epoch in range(10):
        log.appender.append_as_leader(batch(f"v{epoch}"), epoch)
    log.flusher.flush(include_active=True)
    disk = disk_of(rig).crash("all")
    overwrite(disk, f"{rig.directory}/leader-epoch-checkpoint", f"0\n1\n{checkpoint}\n".encode())
    assert restarted(rig, disk, recovery_point=0).offsets.log_end_offset == 10


def test_a_refused_append_does_not_roll() -> None:
    log = new_rig().load(segment_bytes=200)
    log.appender.append_as_leader(batch("x" * 80), 0)
    with pytest.raises(OutOfOrderSequence):
        log.appender.append_as_leader(idempotent(1, 5, "y" * 80), 0)
        log.appender.append_as_leader(idempotent(1, 9, "z" * 80), 0)
    assert log.segments.active.base_offset == 1 and log.offsets.log_end_offset == 2


def test_a_high_watermark_behind_the_last_batch_hides_nothing() -> None:
    """A truncation within a batch leaves a log that ends before the high watermark's own offset."""
    log = new_rig().load()
    log.appender.append_as_leader(batch("a"), 0)
    log.appender.append_as_follower(batch("b", base_offset=5, leader_epoch=0), 0)
    log.truncation.truncate_to(3)
    log.offsets.set_high_watermark(2)
    assert stored_values(log, Isolation.HIGH_WATERMARK) == [b"a"]


@pytest.mark.parametrize(
    "name", ["00000000000000000100.log", "x.deleted", "00000000000000000100.snapshot", "99999999999999999999.log"]
)
def test_odd_names_in_a_partition_are_nobodys(name: str) -> None:
    rig = new_rig()
    log = rig.load()
    log.appender.append_as_leader(batch("a"), 0)
    log.close()
    if name.startswith("9"):
        overwrite(disk_of(rig), f"{rig.directory}/{name}", b"")
    else:
        rig.files.make_dirs(f"{rig.directory}/{name}")
    again = rig.load()
    again.appender.append_as_leader(batch("b"), 0)
    assert stored_values(again) == [b"a", b"b"]


def test_an_epoch_below_zero_is_no_epoch() -> None:
    rig = new_rig()
    log = rig.load()
    log.appender.append_as_leader(batch("a"), 4)
    log.close()
    overwrite(disk_of(rig), f"{rig.directory}/leader-epoch-checkpoint", b"0\n1\n-1 0\n")
    assert rig.load().epochs.latest_epoch == 4
