"""Which segments go, and that they go in two steps."""

import pytest

from odradek.log.unified_log import UnifiedLog
from odradek.sim.world.disk import SimulatedDisk
from support.builders.logs import DIRECTORY, NOON_MS, Rig, batch, idempotent, stored_values

SIZE = len(batch("0"))
DAY_MS = 24 * 60 * 60 * 1000


@pytest.fixture
def disk() -> SimulatedDisk:
    return SimulatedDisk()


@pytest.fixture
def rig(disk: SimulatedDisk) -> Rig:
    return Rig(disk)


def filled(rig: Rig, count: int, **settings: object) -> UnifiedLog:
    """Segments of two batches of one record each, an hour of record time apart."""
    log = rig.load(segment_bytes=2 * SIZE, **settings)
    for index in range(count):
        rig.clock.now_ms = NOON_MS + index * 1000
        log.appender.append_as_leader(batch(str(index), timestamp=rig.clock.now_ms), 0)
    return log


def test_nothing_goes_before_it_is_replicated(rig: Rig) -> None:
    log = filled(rig, 7, retention_bytes=0)
    assert log.retention.delete_old_segments() == 0
    log.offsets.set_high_watermark(3)
    assert log.retention.delete_old_segments() == 1
    assert log.segments.base_offsets == [2, 4, 6]
    assert log.offsets.log_start_offset == 2


def test_by_size_as_long_as_the_rest_is_large_enough(rig: Rig) -> None:
    log = filled(rig, 7, retention_bytes=3 * SIZE)
    log.offsets.set_high_watermark(7)
    assert log.retention.delete_old_segments() == 2
    assert log.segments.size_bytes == 3 * SIZE
    assert log.retention.delete_old_segments() == 0
    assert stored_values(log) == [b"4", b"5", b"6"]


def test_by_time_of_the_newest_record(rig: Rig) -> None:
    log = filled(rig, 7, retention_ms=DAY_MS)
    log.offsets.set_high_watermark(7)
    rig.clock.now_ms = NOON_MS + 3000 + DAY_MS
    assert log.retention.delete_old_segments() == 1
    rig.clock.now_ms += 1
    assert log.retention.delete_old_segments() == 1
    assert log.offsets.log_start_offset == 4


def test_everything_may_go_and_the_log_goes_on(rig: Rig) -> None:
    log = filled(rig, 3, retention_ms=DAY_MS)
    log.offsets.set_high_watermark(3)
    rig.clock.now_ms += 2 * DAY_MS
    assert log.retention.delete_old_segments() == 2
    assert (log.segments.base_offsets, log.offsets.log_start_offset, log.offsets.log_end_offset) == ([3], 3, 3)
    assert log.retention.delete_old_segments() == 0
    log.appender.append_as_leader(batch("new", timestamp=rig.clock.now_ms), 0)
    assert stored_values(log) == [b"new"]
    log = rig.load(log_start_offset=3)
    assert stored_values(log) == [b"new"]


def test_minus_one_keeps_for_ever(rig: Rig) -> None:
    log = filled(rig, 5, retention_ms=-1, retention_bytes=-1)
    log.offsets.set_high_watermark(5)
    rig.clock.now_ms += 1000 * DAY_MS
    assert log.retention.delete_old_segments() == 0


def test_segments_below_the_log_start_go(rig: Rig) -> None:
    log = filled(rig, 7)
    log.offsets.set_high_watermark(7)
    log.offsets.raise_start(5)
    assert log.retention.delete_old_segments() == 2
    assert log.segments.base_offsets == [4, 6]
    assert stored_values(log) == [b"5", b"6"]


def test_a_compacted_log_forgets_by_log_start_alone(rig: Rig) -> None:
    log = filled(rig, 7, cleanup_policy=("compact",), retention_ms=1, retention_bytes=1)
    log.offsets.set_high_watermark(7)
    rig.clock.now_ms += 10 * DAY_MS
    assert log.retention.delete_old_segments() == 0
    log.offsets.raise_start(2)
    assert log.retention.delete_old_segments() == 1


def test_files_are_renamed_at_once_and_removed_later(rig: Rig, disk: SimulatedDisk) -> None:
    log = filled(rig, 5, file_delete_delay_ms=7, retention_bytes=0)
    log.appender.append_as_leader(idempotent(3, 0, "x"), 0)
    log.offsets.set_high_watermark(6)
    reading = log.reader.read(0, 1000)
    log.retention.delete_old_segments()
    gone = [name for name in disk.list_dir(DIRECTORY) if name.endswith(".deleted")]
    assert "00000000000000000000.log.deleted" in gone and "00000000000000000002.snapshot.deleted" in gone
    assert reading.read(), "a fetch that is under way still reads"
    removals = log.segments.take_removals()
    assert {removal.delay_ms for removal in removals} == {7}
    assert log.segments.take_removals() == []
    for removal in removals:
        removal.run()
        removal.run()  # a second time is no error
    assert not any(name.endswith(".deleted") for name in disk.list_dir(DIRECTORY))


def test_a_restart_finishes_a_deletion(rig: Rig, disk: SimulatedDisk) -> None:
    log = filled(rig, 5, retention_bytes=0)
    log.offsets.set_high_watermark(5)
    log.retention.delete_old_segments()
    rig.load(log_start_offset=5)
    assert not any(name.endswith(".deleted") for name in disk.list_dir(DIRECTORY))
