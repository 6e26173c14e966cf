"""A producer's packing, plain and compiled: the bytes are the builder's."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from odradek.records import record_packer as imported
from odradek.records.batch import HEADER_BYTES, Compression, read_batch
from odradek.records.builder import BatchBuilder, batch_of_payload, encode_headers
from odradek.records.compression import compress
from support.builders.records import CODECS, SAMPLE, Made, made_records, plain

PLAIN = plain("record_packer")
MODULES = [PLAIN, imported]
NO_LIMIT = 1 << 30


def built(records: list[Made], producer: tuple[int, int, int] = (-1, -1, -1)) -> bytes:
    producer_id, producer_epoch, base_sequence = producer
    builder = BatchBuilder(producer_id=producer_id, producer_epoch=producer_epoch, base_sequence=base_sequence)
    for record in records:
        builder.append(record.timestamp, record.key, record.value, record.headers)
    return builder.build()


@pytest.mark.parametrize("module", MODULES, ids=["plain", "imported"])
@given(records=made_records())
def test_the_same_bytes_as_the_builders(module: Any, records: list[Made]) -> None:
    packer = module.RecordPacker(NO_LIMIT)
    for index, record in enumerate(records):
        assert packer.append(record.timestamp, record.key, record.value, record.headers) == index
    expected = built(records)
    assert (packer.count, packer.size_bytes) == (len(records), len(expected) - HEADER_BYTES)
    assert packer.take() == expected[HEADER_BYTES:]


@pytest.mark.parametrize("module", MODULES, ids=["plain", "imported"])
def test_many_records_and_large_ones(module: Any) -> None:
    records = [Made(1_000 + index * 7, None, bytes(index % 40 * 100)) for index in range(3_000)]
    packer = module.RecordPacker(NO_LIMIT)
    for record in records:
        packer.append(record.timestamp, record.key, record.value, record.headers)
    assert packer.take() == built(records)[HEADER_BYTES:]


@pytest.mark.parametrize("module", MODULES, ids=["plain", "imported"])
@given(sizes=st.lists(st.integers(0, 3_000), min_size=1, max_size=40), limit=st.integers(1, 20_000))
def test_values_at_once_are_values_one_by_one_up_to_the_limit(module: Any, sizes: list[int], limit: int) -> None:
    values, at = [bytes([index % 256]) * size for index, size in enumerate(sizes)], 0
    while at < len(values):
        at_once, one_by_one, start = module.RecordPacker(limit), module.RecordPacker(limit), at
        at = at_once.append_values(values, at, 77)
        while start < len(values) and one_by_one.append(77, None, values[start], ()) >= 0:
            start += 1
        assert (at, at_once.count, at_once.size_bytes) == (start, one_by_one.count, one_by_one.size_bytes)
        assert at_once.size_bytes <= limit or at_once.count == 1
        assert at_once.take() == one_by_one.take()


@pytest.mark.parametrize("module", MODULES, ids=["plain", "imported"])
def test_a_batch_that_was_taken_takes_no_more(module: Any) -> None:
    packer = module.RecordPacker(NO_LIMIT)
    packer.append(1, None, b"v", ())
    packer.take()
    assert packer.append(1, None, b"v", ()) == -1
    assert packer.append_values([b"v"], 0, 1) == 0
    assert packer.count == 1


@pytest.mark.parametrize("module", MODULES, ids=["plain", "imported"])
def test_headers_and_the_overhead_of_a_record(module: Any) -> None:
    headers = (("name", b"value"), ("ümlaut", None), ("", b""))
    assert module.headers_bytes(headers) == encode_headers(headers)
    packer = module.RecordPacker(NO_LIMIT)
    packer.append(0, None, None, ())
    packer.append((1 << 62) - 1, b"k" * 70_000, b"v" * 3_000_000, ())
    assert packer.size_bytes <= 2 * module.RECORD_OVERHEAD_BYTES + 3_070_000


@pytest.mark.parametrize("codec", CODECS)
def test_a_batch_of_what_is_packed(codec: Compression) -> None:
    packer = imported.RecordPacker(NO_LIMIT)
    for record in SAMPLE:
        packer.append(record.timestamp, record.key, record.value, record.headers)
    data = batch_of_payload(
        compress(codec, packer.take()),
        packer.count,
        compression=codec,
        base_timestamp=packer.base_timestamp,
        max_timestamp=packer.max_timestamp,
        producer=(1 << 40, 3, 17),
        is_transactional=True,
    )
    batch = read_batch(data)
    batch.check()
    assert (batch.producer_id, batch.producer_epoch, batch.base_sequence) == (1 << 40, 3, 17)
    assert (batch.is_transactional, batch.compression, batch.count) == (True, codec, len(SAMPLE))
    assert batch.max_timestamp == max(record.timestamp for record in SAMPLE)
    assert [(each.key, each.value) for each in batch.records()] == [(each.key, each.value) for each in SAMPLE]
    if codec == Compression.NONE:
        assert batch.payload() == built(list(SAMPLE))[HEADER_BYTES:]
