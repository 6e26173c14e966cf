"""A batch that loses records: what stays is what it was, byte for byte as the builder would write it."""

import struct
import zlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from odradek.log.cleaner.batch_rewrite import Rows, keep_records
from odradek.records.batch import Batch, Compression, TimestampType, read_batch
from odradek.records.builder import BatchBuilder, retained_batch

LIMIT_BYTES = 1 << 20

KEYS = st.none() | st.binary(max_size=200)
HEADERS = st.lists(st.tuples(st.text(max_size=3), st.none() | st.binary(max_size=3)), max_size=2)
RECORDS = st.lists(st.tuples(st.integers(-1, 2**45), KEYS, KEYS, HEADERS, st.integers(0, 200)), min_size=1, max_size=12)


@st.composite
def batches(draw: st.DrawFn) -> Batch:
    appended = draw(st.booleans())
    builder = BatchBuilder(
        base_offset=draw(st.integers(0, 2**40)),
        compression=draw(st.sampled_from(Compression)),
        timestamp_type=TimestampType.LOG_APPEND_TIME if appended else TimestampType.CREATE_TIME,
        append_time_ms=draw(st.integers(0, 2**45)) if appended else None,
        producer_id=draw(st.integers(-1, 10)),
        producer_epoch=3,
        base_sequence=4,
        leader_epoch=draw(st.integers(0, 9)),
        is_transactional=draw(st.booleans()),
        delete_horizon_ms=draw(st.none() | st.integers(0, 2**45)),
    )
    offset = builder._next_offset
    for timestamp, key, value, headers, gap in draw(RECORDS):
        offset += gap
        builder.append(timestamp, key, value, headers, offset)
        offset += 1
    return read_batch(builder.build(last_offset=offset + draw(st.integers(0, 5))))


@given(st.lists(batches(), max_size=3))
def test_rows_are_what_the_records_are(made: list[Batch]) -> None:
    rows = Rows(made, LIMIT_BYTES)
    records = [record for batch in made for record in batch.records()]
    assert rows.offsets.tolist() == [record.offset for record in records]
    assert rows.key_lengths.tolist() == [-1 if record.key is None else len(record.key) for record in records]
    assert [
        rows.data[start : start + max(0, length)]
        for start, length in zip(rows.key_starts, rows.key_lengths, strict=True)
    ] == [record.key or b"" for record in records]
    assert (rows.value_lengths < 0).tolist() == [record.value is None for record in records]
    assert np.diff(rows.bounds).tolist() == [batch.count for batch in made]


@given(st.lists(batches(), min_size=1, max_size=3), st.data())
def test_a_spliced_batch_is_the_one_that_the_builder_would_write(made: list[Batch], data: st.DataObject) -> None:
    rows = Rows(made, LIMIT_BYTES)
    chosen = data.draw(st.integers(0, len(made) - 1))
    batch = made[chosen]
    records = list(batch.records())
    kept = sorted(data.draw(st.sets(st.integers(0, len(records) - 1), min_size=1)))
    horizon_ms = data.draw(st.none() | st.integers(0, 2**45)) if batch.delete_horizon_ms is None else None
    built = keep_records(batch, rows, np.array(kept) + rows.bounds[chosen], horizon_ms)
    expected = retained_batch(batch, [records[row] for row in kept], delete_horizon_ms=horizon_ms)
    assert built == expected
    again = read_batch(built)
    again.check()
    assert list(again.records()) == [records[row] for row in kept]
    assert (again.base_offset, again.last_offset) == (batch.base_offset, batch.last_offset)
    assert again.last_sequence == batch.last_sequence


def legacy_message(magic: int, offset: int, key: bytes, value: bytes | None) -> bytes:
    """One message of the formats before batches, written by hand from the protocol guide."""
    body = struct.pack(">bb", magic, 0) + (struct.pack(">q", 1234) if magic == 1 else b"")
    for part in (key, value):
        body += struct.pack(">i", -1 if part is None else len(part)) + (part or b"")
    message = struct.pack(">I", zlib.crc32(body)) + body
    return struct.pack(">qi", offset, len(message)) + message


@pytest.mark.parametrize("magic", [0, 1])
def test_an_older_format_becomes_the_current_one(magic: int) -> None:
    old = read_batch(legacy_message(magic, 42, b"key", b"value"))
    rows = Rows([old], LIMIT_BYTES)
    built = read_batch(keep_records(old, rows, np.array([0]), 99))
    built.check()
    (record,) = built.records()
    assert (built.magic, built.base_offset, built.last_offset, built.delete_horizon_ms) == (2, 42, 42, 99)
    assert (record.offset, record.key, record.value) == (42, b"key", b"value")
    assert record.timestamp == (1234 if magic == 1 else -1)
