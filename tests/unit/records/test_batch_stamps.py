"""What is written into a batch in place is read back, and the CRC holds."""

import pytest

from odradek.common.failures import Fault
from odradek.records import batch_stamps
from odradek.records.batch import TimestampType, read_batch
from odradek.records.builder import empty_batch
from support.builders.records import SAMPLE, build


def test_assign_needs_no_new_crc() -> None:
    data = build(SAMPLE)
    buffer = bytearray(b"before" + data)
    batch_stamps.assign(buffer, 6, 1 << 40, 12)
    batch = read_batch(buffer, 6)
    batch.check()
    assert (batch.base_offset, batch.leader_epoch) == (1 << 40, 12)
    assert buffer[6 + 16 :] == data[16:]
    assert bytes(buffer[:6]) == b"before"


def test_append_time() -> None:
    buffer = bytearray(build(SAMPLE))
    batch_stamps.set_append_time(memoryview(buffer), 0, 123)
    batch = read_batch(buffer)
    batch.check()
    assert batch.timestamp_type == TimestampType.LOG_APPEND_TIME
    assert all(record.timestamp == 123 for record in batch.records())


def test_max_timestamp_leaves_the_records_times() -> None:
    buffer = bytearray(build(SAMPLE))
    before = bytes(buffer)
    batch_stamps.set_max_timestamp(buffer, 0, TimestampType.CREATE_TIME, read_batch(buffer).max_timestamp)
    assert buffer == before
    batch_stamps.set_max_timestamp(buffer, 0, TimestampType.CREATE_TIME, 5)
    batch = read_batch(buffer)
    batch.check()
    assert batch.max_timestamp == 5
    assert [record.timestamp for record in batch.records()] == [record.timestamp for record in SAMPLE]
    batch_stamps.set_append_time(buffer, 0, 9)
    batch_stamps.set_max_timestamp(buffer, 0, TimestampType.CREATE_TIME, 5)
    assert read_batch(buffer).timestamp_type == TimestampType.CREATE_TIME


def test_a_delete_horizon_in_place_only_where_it_shifts_no_time() -> None:
    buffer = bytearray(build(SAMPLE))
    with pytest.raises(Fault):
        batch_stamps.set_delete_horizon(buffer, 0, 1000)
    batch_stamps.set_append_time(buffer, 0, 55)
    batch_stamps.set_delete_horizon(buffer, 0, 1000)
    batch = read_batch(buffer)
    batch.check()
    assert batch.delete_horizon_ms == 1000
    assert all(record.timestamp == 55 for record in batch.records())
    empty = bytearray(empty_batch(read_batch(build(SAMPLE))))
    batch_stamps.set_delete_horizon(empty, 0, 7)
    read_batch(empty).check()
    assert read_batch(empty).delete_horizon_ms == 7
