"""Records of batches, plain and compiled, beside the decoder of the log; lenient where Kafka is."""

import copy
import pickle
from typing import Any

import pytest
from hypothesis import given

from odradek.client.consumer import record as imported
from odradek.records.batch import HEADER_BYTES, read_batch
from odradek.records.builder import varint
from odradek.records.errors import InvalidRecord
from odradek.records.record import TimestampType
from support.builders.records import SAMPLE, Made, build, made_records, plain

PLAIN = plain("record", "client/consumer")
MODULES = pytest.mark.parametrize("module", [PLAIN, imported], ids=["plain", "imported"])


def rows_of(module: Any, data: bytes, count: int, from_offset: int = 0, **frame: Any) -> list[Any]:
    fields = {"base_offset": 100, "base_timestamp_ms": 1000, "append_time_ms": None, "leader_epoch": 3} | frame
    rows: list[Any] = []
    module.append_rows(rows, module.BatchRows("t", 7, **fields), data, 0, len(data), count, from_offset)
    return rows


def one(body: bytes) -> bytes:
    return varint(len(body)) + body


@MODULES
@given(made_records())
def test_they_are_those_that_the_logs_decoder_finds(module: Any, made: list[Made]) -> None:
    data = build(made, base_offset=40)
    batch = read_batch(data)
    found = rows_of(module, data[HEADER_BYTES:], len(made), base_offset=40, base_timestamp_ms=batch.base_timestamp)
    expected = list(batch.records())
    assert [(r.offset, r.timestamp_ms, r.timestamp_type, r.key, r.value, r.headers) for r in found] == [
        (r.offset, r.timestamp, r.timestamp_type, r.key, r.value, r.headers) for r in expected
    ]
    assert {(r.topic, r.partition, r.leader_epoch) for r in found} == {("t", 7, 3)}


@MODULES
def test_what_lies_before_the_offset_is_left_out(module: Any) -> None:
    data = build(SAMPLE)[HEADER_BYTES:]
    assert [row.offset for row in rows_of(module, data, len(SAMPLE), 252)] == [252, 253, 254]


@MODULES
def test_where_the_log_stamped_them_all_have_its_time(module: Any) -> None:
    rows = rows_of(module, build(SAMPLE)[HEADER_BYTES:], len(SAMPLE), append_time_ms=77)
    assert {(row.timestamp_ms, row.timestamp_type) for row in rows} == {(77, TimestampType.LOG_APPEND_TIME)}


@MODULES
def test_the_largest_and_the_smallest_timestamp(module: Any) -> None:
    largest, smallest = (1 << 63) - 1, -(1 << 63)
    for delta in (largest, smallest):
        zigzag = (delta << 1) ^ (delta >> 63)
        raw = bytearray()
        while zigzag >= 0x80:
            raw.append(zigzag & 0x7F | 0x80)
            zigzag >>= 7
        raw.append(zigzag)
        (row,) = rows_of(module, one(b"\x00" + bytes(raw) + b"\x00\x01\x01\x00"), 1, base_timestamp_ms=0)
        assert row.timestamp_ms == delta


@MODULES
@pytest.mark.parametrize(
    ("data", "count", "said"),
    [
        (b"", 1, "record 0: the batch ends within it"),
        (one(b"\x00\x00\x00\x01\x01\x00") + b"!", 1, "1 bytes after the last of 1 records"),
        (varint(50) + b"\x00\x00\x00\x01\x01\x00", 1, "record 0: length 50, but 6 bytes are left"),
        (one(b"\x00\x00\x00\x01\x0a\x00\x00"), 1, "record 0: the batch ends within it"),
        (one(b"\x00\x00\x00\x01\x01\x00!"), 1, "record 0: its length is off by -1 bytes"),
        (one(b"\x00\x00" + b"\xff" * 5 + b"\x7f\x01\x01\x00"), 1, "a varint of more than 32 bits"),
        (one(b"\x00" + b"\xff" * 9 + b"\x02\x00\x01\x01\x00"), 1, "a varint of more than 64 bits"),
    ],
)
def test_what_is_malformed_is_refused(module: Any, data: bytes, count: int, said: str) -> None:
    with pytest.raises(InvalidRecord) as refused:
        rows_of(module, data, count)
    assert refused.value.message == said


@MODULES
def test_records_before_a_malformed_one_are_there(module: Any) -> None:
    good = one(b"\x00\x00\x00\x01\x02x\x00")
    rows: list[Any] = []
    frame = module.BatchRows("t", 0, None, 0, 0, None)
    with pytest.raises(InvalidRecord):
        module.append_rows(rows, frame, good + b"\x02", 0, len(good) + 1, 2, 0)
    assert [row.value for row in rows] == [b"x"]


@MODULES
def test_a_negative_length_is_null_and_gaps_in_offsets_are_fine(module: Any) -> None:
    (row,) = rows_of(module, one(b"\x00\x00\x14\x03\x05\x00"), 1)
    assert (row.offset, row.key, row.value) == (110, None, None)


def test_a_record_is_a_value() -> None:
    first, second = rows_of(imported, build(SAMPLE)[HEADER_BYTES:], len(SAMPLE))[:2]
    assert pickle.loads(pickle.dumps(first)) == first == copy.copy(first)
    assert first != second and len({first, copy.copy(first), second}) == 2
    assert "topic='t', partition=7, offset=100" in repr(first)
