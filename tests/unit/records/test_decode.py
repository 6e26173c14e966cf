"""Records one after the other, plain and compiled; lenient where Kafka is."""

import random
from typing import Any

import pytest

from odradek.records import batch_walk
from odradek.records import decode as imported
from odradek.records.batch import HEADER_BYTES
from odradek.records.builder import varint
from odradek.records.errors import InvalidRecord
from odradek.records.record import Header, Record, TimestampType
from support.builders.records import SAMPLE, build, headers_of, plain

PLAIN = plain("decode")
MODULES = [PLAIN, imported]


def decoded(module: Any, data: bytes, count: int) -> list[Record] | str:
    try:
        return list(module.decode_records(data, count, 100, 1000, None, -1))
    except InvalidRecord as error:
        return error.message


def one(body: bytes) -> bytes:
    return varint(len(body)) + body


@pytest.mark.parametrize("module", MODULES, ids=["plain", "imported"])
def test_the_sample(module: Any) -> None:
    base = SAMPLE[0].timestamp
    records = module.decode_records(build(SAMPLE)[HEADER_BYTES:], len(SAMPLE), 7, base, None, 3)
    assert list(records) == [
        Record(7 + i, made.timestamp, TimestampType.CREATE_TIME, made.key, made.value, headers_of(made), 3 + i)
        for i, made in enumerate(SAMPLE)
    ]


@pytest.mark.parametrize("module", MODULES, ids=["plain", "imported"])
def test_any_negative_length_is_null_and_gaps_in_offsets_are_fine(module: Any) -> None:
    (record,) = module.decode_records(one(b"\x00\x00\x14\x03\x05\x00"), 1, 100, 0, None, -1)
    assert (record.offset, record.key, record.value) == (110, None, None)


@pytest.mark.parametrize("module", MODULES, ids=["plain", "imported"])
def test_a_header_key_that_is_no_utf8_survives(module: Any) -> None:
    (record,) = module.decode_records(one(b"\x00\x00\x00\x01\x01\x02\x04\xff\xfe\x01"), 1, 0, 0, None, -1)
    assert record.headers == (Header(b"\xff\xfe".decode("utf-8", "surrogateescape"), None),)
    assert record.headers[0].key.encode("utf-8", "surrogateescape") == b"\xff\xfe"


@pytest.mark.parametrize("module", MODULES, ids=["plain", "imported"])
@pytest.mark.parametrize(
    ("data", "count", "said"),
    [
        (b"", 1, "record 0: the batch ends within it"),
        (b"", -1, "a batch of -1 records"),
        (one(b"\x00\x00\x00\x01\x01\x00") + b"!", 1, "1 bytes after the last of 1 records"),
        (one(b"\x00\x00\x00\x01\x01\x00!"), 1, "record 0: its length is off by -1"),
        (one(b"\x00\x00\x00\x08k"), 1, "record 0: the batch ends within it"),
        (b"\x7e\x00", 1, "record 0: length 63, but 1 bytes are left"),
        (b"\x01\x00", 1, "record 0: length -1"),
        (one(b"\x00\x00\x00\x01\x01\x7e"), 1, "63 headers in 0 bytes"),
        (one(b"\x00\x00\x00\x01\x01\x01"), 1, "-1 headers in 0 bytes"),
        (one(b"\x00\x00\x00\x01\x01\x02\x01\x00"), 1, "a header without a key"),
        (one(b"\x00\x00\x00\x01\x01\x02\x02h\x7e"), 1, "a header reaches beyond its record"),
        (one(b"\x00" + b"\x80" * 9 + b"\x02\x00\x01\x01\x00"), 1, "more than 64 bits"),
        (one(b"\x00" + b"\x80" * 11 + b"\x00\x00\x01\x01\x00"), 1, "more than 64 bits"),
        (one(b"\x00\x00\x80\x80\x80\x80\x10\x01\x01\x00"), 1, "more than 32 bits"),
    ],
)
def test_what_cannot_be_read_is_named(module: Any, data: bytes, count: int, said: str) -> None:
    message = decoded(module, data, count)
    assert isinstance(message, str) and said in message


def test_both_read_the_same_of_mutated_payloads_and_all_that_the_walk_lets_in() -> None:
    payload = build(SAMPLE[:12])[HEADER_BYTES:]
    source = random.Random(20_240_602)
    let_in = 0
    for _ in range(5_000):
        mutated = bytearray(payload)
        for _ in range(source.randint(1, 2)):
            mutated[source.randrange(min(len(mutated), 300))] = source.randrange(256)
        data = bytes(mutated)
        mine, other = (decoded(module, data, 12) for module in MODULES)
        assert mine == other
        try:
            walked = batch_walk.walk(data, 0, len(data), 12)
        except InvalidRecord:
            continue
        let_in += 1
        assert not isinstance(mine, str)
        assert max(record.timestamp for record in mine) == 1000 + walked.max_timestamp_delta
        assert [record.offset for record in mine] == list(range(100, 112))
    assert let_in > 0
