"""Reading by offset and by time."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from odradek.common.list_offsets_timestamps import (
    EARLIEST,
    EARLIEST_LOCAL,
    EARLIEST_PENDING_UPLOAD,
    LATEST,
    LATEST_TIERED,
    MAX_TIMESTAMP,
)
from odradek.log.errors import KafkaStorageError, OffsetOutOfRange
from odradek.log.recovery.log_loader import LogOptions
from odradek.log.unified_log import UnifiedLog
from odradek.log.values import CorruptLog, Isolation
from odradek.records.batch import read_batches
from odradek.sim.world.disk import SimulatedDisk
from support.builders.logs import DIRECTORY, NOON_MS, Rig, batch, stored_batches, stored_values


def filled(counts: list[int], **settings: int) -> UnifiedLog:
    """Batches with so many records each, their values counting up."""
    log = Rig(SimulatedDisk()).load(**settings)
    value = 0
    for count in counts:
        log.appender.append_as_leader(batch(*(str(value + index) for index in range(count))), 0)
        value += count
    return log


@given(
    counts=st.lists(st.integers(1, 6), min_size=1, max_size=30),
    segment_bytes=st.integers(150, 1000),
    interval=st.integers(0, 500),
    data=st.data(),
)
def test_a_read_begins_with_the_batch_that_holds_the_offset(
    counts: list[int], segment_bytes: int, interval: int, data: st.DataObject
) -> None:
    log = filled(counts, segment_bytes=segment_bytes, index_interval_bytes=interval)
    offset = data.draw(st.integers(0, log.offsets.log_end_offset - 1))
    max_bytes = data.draw(st.integers(1, 2000))
    high_watermark = data.draw(st.integers(0, log.offsets.log_end_offset))
    log.offsets.set_high_watermark(high_watermark)
    found = log.reader.read(offset, max_bytes, Isolation.LOG_END)
    content = log.reader.fetch(found)
    first = next(read_batches(content))
    assert first.base_offset <= offset <= first.last_offset
    assert len(content) <= max(max_bytes, first.size_bytes)
    visible = log.reader.fetch(log.reader.read(offset, max_bytes, Isolation.HIGH_WATERMARK))
    last = max((part.last_offset for part in read_batches(visible)), default=-1)
    assert last < high_watermark or not visible
    assert bool(visible) == (offset < high_watermark and first.last_offset < high_watermark)


def test_a_small_limit_gives_at_least_one_batch_only_if_asked() -> None:
    log = filled([3, 3])
    assert len(list(read_batches(log.reader.fetch(log.reader.read(0, 1))))) == 1
    found = log.reader.read(0, 10, min_one_message=False)
    assert found.first_entry_incomplete and found.size_bytes == 10


def test_offsets_outside_of_the_log_are_refused() -> None:
    log = filled([3, 3])
    log.offsets.set_high_watermark(6)
    log.offsets.raise_start(2)
    for offset in (-1, 0, 1, 7):
        with pytest.raises(OffsetOutOfRange):
            log.reader.read(offset, 100)
    assert log.reader.read(6, 100).records is None
    assert log.reader.read(6, 100, Isolation.TXN_COMMITTED).aborted == ()


def test_an_offset_above_the_high_watermark_reads_nothing() -> None:
    log = filled([1, 1, 1])
    log.offsets.set_high_watermark(1)
    found = log.reader.read(2, 100, Isolation.HIGH_WATERMARK)
    assert found.records is None
    assert found.offset.message_offset == 2 and not found.offset.is_offset_only


def test_the_high_watermark_stays_within_the_log() -> None:
    log = filled([2, 2])
    assert log.offsets.set_high_watermark(9) == 4
    assert log.offsets.set_high_watermark(1) == 1
    assert log.offsets.raise_high_watermark(3)
    assert not log.offsets.raise_high_watermark(2)
    assert log.offsets.high_watermark == 3


def test_the_log_start_moves_forward_up_to_the_high_watermark() -> None:
    log = filled([1, 1, 1, 1])
    log.offsets.set_high_watermark(3)
    with pytest.raises(OffsetOutOfRange):
        log.offsets.raise_start(4)
    assert log.offsets.raise_start(2)
    assert not log.offsets.raise_start(1)
    assert log.offsets.log_start_offset == 2
    assert stored_values(log) == [b"2", b"3"]


def test_the_places_of_offsets_are_known() -> None:
    log = filled([1, 1, 1, 1], segment_bytes=2 * len(batch("0")))
    log.offsets.set_high_watermark(3)
    snapshot = log.reader.offset_snapshot()
    size = len(batch("0"))
    assert snapshot.high_watermark == (3, 2, size)
    assert snapshot.log_end_offset == (4, 2, 2 * size)
    assert snapshot.last_stable_offset == snapshot.high_watermark
    assert snapshot.log_start_offset == 0


class TestByTime:
    @pytest.fixture
    def log(self) -> UnifiedLog:
        log = Rig(SimulatedDisk()).load(segment_bytes=200, index_interval_bytes=0)
        for epoch, times in enumerate([(5, 9, 7), (8, 3), (20,), (11, 20)]):
            log.appender.append_as_leader(batch(*"abc"[: len(times)], timestamps=[NOON_MS + t for t in times]), epoch)
        return log

    @pytest.mark.parametrize(
        ("time", "offset"), [(0, 0), (5, 0), (6, 1), (9, 1), (10, 5), (12, 5), (20, 5), (21, None)]
    )
    def test_the_first_record_that_is_late_enough(self, log: UnifiedLog, time: int, offset: int | None) -> None:
        found = log.reader.offset_for_timestamp(NOON_MS + time)
        assert (found.offset if found else None) == offset

    def test_records_before_the_log_start_are_not_found(self, log: UnifiedLog) -> None:
        log.offsets.set_high_watermark(8)
        log.offsets.raise_start(2)
        found = log.reader.offset_for_timestamp(NOON_MS)
        assert found is not None and found.offset == 2

    def test_the_special_values(self, log: UnifiedLog) -> None:
        log.offsets.set_high_watermark(8)
        log.offsets.raise_start(3)
        for earliest in (EARLIEST, EARLIEST_LOCAL):
            found = log.reader.offset_for_timestamp(earliest)
            assert found is not None and (found.timestamp, found.offset, found.leader_epoch) == (-1, 3, 1)
        found = log.reader.offset_for_timestamp(LATEST)
        assert found is not None and (found.timestamp, found.offset, found.leader_epoch) == (-1, 8, 3)
        found = log.reader.offset_for_timestamp(MAX_TIMESTAMP)
        assert found is not None
        assert (found.timestamp, found.offset, found.leader_epoch) == (NOON_MS + 20, 5, 2)
        for tiered in (LATEST_TIERED, EARLIEST_PENDING_UPLOAD):
            found = log.reader.offset_for_timestamp(tiered)
            assert found is not None and (found.offset, found.leader_epoch) == (-1, -1)

    def test_an_empty_log_has_no_largest_timestamp(self) -> None:
        assert Rig(SimulatedDisk()).load().reader.offset_for_timestamp(MAX_TIMESTAMP) is None


class TestDamage:
    """A bit that flips on the disk is found before anybody is served it."""

    def damaged(self, position: int, bit: int, *, check_on_read: bool = True) -> UnifiedLog:
        disk = SimulatedDisk()
        rig = Rig(disk)
        log = rig.load(options=LogOptions(check_on_read=check_on_read, verification_enabled=False))
        for values in ("ab", "c", "de"):
            log.appender.append_as_leader(batch(*values), 5)
        file = disk.open(log.segments.active.log_path)
        file.write(position, bytes([file.read(position, 1)[0] ^ 1 << bit]))
        return log

    def test_no_flipped_bit_is_served(self) -> None:
        total = self.damaged(0, 0).segments.size_bytes
        unnoticed = []
        for position in range(total):
            for bit in range(8):
                log = self.damaged(position, bit)
                original = bytearray(log.segments.active.file.read(0, total))
                original[position] ^= 1 << bit
                try:
                    served = b"".join(bytes(part.buffer) for part in stored_batches(log))
                except CorruptLog as fault:
                    assert DIRECTORY in str(fault)
                    assert log.health.fault is not None
                    with pytest.raises(KafkaStorageError):
                        log.appender.append_as_leader(batch("x"), 5)
                    continue
                if not original.startswith(served):
                    unnoticed.append((position, bit))
        assert not unnoticed

    def test_the_check_can_be_left_out(self) -> None:
        log = self.damaged(75, 0, check_on_read=False)
        log.reader.fetch(log.reader.read(0, 1000))
        assert log.health.fault is None
