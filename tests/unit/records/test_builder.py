"""What is built is read back, with every codec; the cleaner's and the coordinator's ways of building."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from odradek.common.failures import Fault
from odradek.records.batch import Compression, TimestampType, read_batch
from odradek.records.batch_walk import walk
from odradek.records.builder import BatchBuilder, control_batch, empty_batch, end_transaction_marker, retained_batch
from odradek.records.control import ControlType, EndTransaction, control_type, read_end_transaction
from odradek.records.errors import InvalidRecord
from odradek.records.record import NO_SEQUENCE, Record
from support.builders.records import CODECS, SAMPLE, Made, build, headers_of, made_records


@given(records=made_records(), codec=st.sampled_from(CODECS), base_offset=st.integers(0, 1 << 40))
def test_round_trip(records: list[Made], codec: Compression, base_offset: int) -> None:
    batch = read_batch(build(records, codec, base_offset))
    batch.check()
    assert (batch.count, batch.compression, batch.base_offset) == (len(records), codec, base_offset)
    assert batch.last_offset == base_offset + len(records) - 1
    assert batch.max_timestamp == max(record.timestamp for record in records)
    assert list(batch.records()) == [
        Record(base_offset + i, r.timestamp, TimestampType.CREATE_TIME, r.key, r.value, headers_of(r), NO_SEQUENCE)
        for i, r in enumerate(records)
    ]
    payload = batch.payload()
    assert walk(payload, 0, len(payload), batch.count).max_timestamp_delta == batch.max_timestamp - batch.base_timestamp


def test_the_size_is_known_while_building() -> None:
    builder = BatchBuilder()
    assert builder.size_bytes == 61
    for record in SAMPLE:
        builder.append(record.timestamp, record.key, record.value, record.headers)
    assert builder.size_bytes == len(builder.build())
    assert builder.count == len(SAMPLE)


def test_all_of_a_producers_fields() -> None:
    builder = BatchBuilder(
        producer_id=1 << 40, producer_epoch=7, base_sequence=42, leader_epoch=3, is_transactional=True, base_offset=10
    )
    builder.append(5, b"k", memoryview(b"v"))
    batch = read_batch(builder.build())
    batch.check()
    assert (batch.producer_id, batch.producer_epoch, batch.base_sequence) == (1 << 40, 7, 42)
    assert (batch.leader_epoch, batch.is_transactional, batch.is_control) == (3, True, False)


def test_append_time_is_the_time_of_all_records() -> None:
    builder = BatchBuilder(timestamp_type=TimestampType.LOG_APPEND_TIME, append_time_ms=9_000)
    builder.append(5, b"k", b"v")
    builder.append(7, b"k", b"v")
    batch = read_batch(builder.build())
    assert (batch.max_timestamp, batch.base_timestamp) == (9_000, 5)
    assert [(r.timestamp, r.timestamp_type) for r in batch.records()] == [(9_000, TimestampType.LOG_APPEND_TIME)] * 2


def test_a_horizon_takes_the_place_of_the_base_timestamp_and_no_more() -> None:
    builder = BatchBuilder(delete_horizon_ms=1_800_000_000_000)
    for record in SAMPLE:
        builder.append(record.timestamp, record.key, record.value)
    batch = read_batch(builder.build())
    assert batch.delete_horizon_ms == 1_800_000_000_000
    assert [r.timestamp for r in batch.records()] == [r.timestamp for r in SAMPLE]


def test_nothing_is_no_batch_and_offsets_only_grow() -> None:
    with pytest.raises(Fault):
        BatchBuilder().build()
    builder = BatchBuilder(base_offset=10)
    builder.append(0, None, b"", offset=12)
    with pytest.raises(Fault, match="offset 12 comes after 12"):
        builder.append(0, None, b"", offset=12)
    with pytest.raises(Fault):
        BatchBuilder(timestamp_type=TimestampType.LOG_APPEND_TIME)


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("horizon_ms", [None, 1_900_000_000_000])
def test_retained_records_stay_where_they_were(codec: Compression, horizon_ms: int | None) -> None:
    original = read_batch(build(SAMPLE, codec, base_offset=100))
    kept = [record for record in original.records() if record.offset % 3 == 1]
    batch = read_batch(retained_batch(original, kept, delete_horizon_ms=horizon_ms))
    batch.check()
    assert list(batch.records()) == kept
    assert (batch.base_offset, batch.last_offset, batch.count) == (100, original.last_offset, len(kept))
    assert (batch.compression, batch.delete_horizon_ms) == (codec, horizon_ms)
    again = read_batch(retained_batch(batch, kept[1:]))
    assert again.delete_horizon_ms == horizon_ms


def test_an_emptied_batch_keeps_its_producer_and_its_place() -> None:
    builder = BatchBuilder(base_offset=50, producer_id=9, producer_epoch=1, base_sequence=20, is_transactional=True)
    for record in SAMPLE:
        builder.append(record.timestamp, record.key, record.value)
    original = read_batch(builder.build())
    batch = read_batch(empty_batch(original))
    batch.check()
    assert (batch.count, list(batch.records()), batch.size_bytes) == (0, [], 61)
    assert (batch.base_offset, batch.last_offset) == (50, original.last_offset)
    assert (batch.last_sequence, batch.is_transactional) == (original.last_sequence, True)
    assert (batch.base_timestamp, batch.max_timestamp) == (-1, original.max_timestamp)


@pytest.mark.parametrize("commit", [True, False])
def test_the_end_of_a_transaction(commit: bool) -> None:
    data = end_transaction_marker(
        commit=commit, timestamp=77, producer_id=5, producer_epoch=2, coordinator_epoch=13, base_offset=9
    )
    batch = read_batch(data)
    batch.check()
    assert (batch.is_control, batch.is_transactional, batch.base_sequence) == (True, True, NO_SEQUENCE)
    (record,) = batch.records()
    assert record.key == bytes([0, 0, 0, int(commit)])
    assert record.value == bytes([0, 0, 0, 0, 0, 13])
    assert read_end_transaction(batch) == EndTransaction(commit, 13)


def test_other_control_records_are_known_by_type() -> None:
    kinds = [kind for kind in ControlType if kind >= ControlType.LEADER_CHANGE]
    batch = read_batch(control_batch([(kind, b"value") for kind in kinds], 1))
    assert batch.is_control and not batch.is_transactional
    assert [control_type(record.key) for record in batch.records()] == kinds
    assert read_end_transaction(batch) is None


def test_keys_of_control_records_from_the_future_and_from_nowhere() -> None:
    assert control_type(b"\x00\x00\x00\x07") == ControlType.UNKNOWN
    assert control_type(b"\x00\x01\x00\x01more") == ControlType.COMMIT
    for key in (None, b"\x00\x00\x00", b"\xff\xff\x00\x01"):
        with pytest.raises(InvalidRecord):
            control_type(key)
    short = read_batch(control_batch([(ControlType.COMMIT, b"\x00\x00\x00")], 1))
    with pytest.raises(InvalidRecord, match="no coordinator epoch"):
        read_end_transaction(short)
