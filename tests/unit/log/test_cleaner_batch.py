"""A batch that loses records: what stays is what it was, byte for byte as the builder would write it."""

import struct
import zlib

from hypothesis import given
from hypothesis import strategies as st

from odradek.log.clean_batch import Rows, ScannedBatch, keep_records
from odradek.records.batch import Batch, Compression, Record, TimestampType, read_batch
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


def scan(batch: Batch) -> tuple[ScannedBatch, Rows]:
    rows = Rows()
    return ScannedBatch(batch, rows, LIMIT_BYTES), rows


@given(batches())
def test_a_scan_sees_what_the_records_are(batch: Batch) -> None:
    scanned, rows = scan(batch)
    records = list(batch.records())
    assert rows.offsets == [record.offset for record in records]
    assert rows.keys == [record.key or b"" for record in records]
    assert rows.keyless == [row for row, record in enumerate(records) if record.key is None]
    assert rows.has_value == [record.value is not None for record in records]
    assert (scanned.first_row, scanned.end_row) == (0, len(records))


@given(batches(), st.data())
def test_a_spliced_batch_is_the_one_that_the_builder_would_write(batch: Batch, data: st.DataObject) -> None:
    scanned, rows = scan(batch)
    records = list(batch.records())
    kept = sorted(data.draw(st.sets(st.integers(0, len(records) - 1), min_size=1)))
    horizon_ms = data.draw(st.none() | st.integers(0, 2**45)) if batch.delete_horizon_ms is None else None
    built = keep_records(scanned, rows, kept, horizon_ms)
    expected = retained_batch(batch, [records[row] for row in kept], delete_horizon_ms=horizon_ms)
    assert built == expected
    again = read_batch(built)
    again.check()
    assert list(again.records()) == [records[row] for row in kept]
    assert (again.base_offset, again.last_offset) == (batch.base_offset, batch.last_offset)
    assert again.last_sequence == batch.last_sequence


def test_rows_run_on_from_batch_to_batch() -> None:
    rows = Rows()
    made = []
    for base_offset in (0, 10):
        builder = BatchBuilder(base_offset=base_offset)
        for number in range(3):
            builder.append(number, b"%d" % number, None if number == 1 else b"value")
        made.append(ScannedBatch(read_batch(builder.build()), rows, LIMIT_BYTES))
    assert [(batch.first_row, batch.end_row) for batch in made] == [(0, 3), (3, 6)]
    kept = read_batch(keep_records(made[1], rows, [3, 5], None))
    assert [record.offset for record in kept.records()] == [10, 12]


def legacy_message(magic: int, offset: int, key: bytes, value: bytes | None) -> bytes:
    """One message of the formats before batches, written by hand from the protocol guide."""
    body = struct.pack(">bb", magic, 0) + (struct.pack(">q", 1234) if magic == 1 else b"")
    for part in (key, value):
        body += struct.pack(">i", -1 if part is None else len(part)) + (part or b"")
    message = struct.pack(">I", zlib.crc32(body)) + body
    return struct.pack(">qi", offset, len(message)) + message


def test_an_older_format_becomes_the_current_one() -> None:
    for magic in (0, 1):
        scanned, rows = scan(read_batch(legacy_message(magic, 42, b"key", b"value")))
        assert (rows.offsets, rows.keys, rows.has_value) == ([42], [b"key"], [True])
        built = read_batch(keep_records(scanned, rows, [0], None))
        built.check()
        (record,) = built.records()
        assert (built.magic, built.base_offset, built.last_offset) == (2, 42, 42)
        assert (record.offset, record.key, record.value) == (42, b"key", b"value")
        assert record.timestamp == (1234 if magic == 1 else -1)
        assert isinstance(record, Record)
