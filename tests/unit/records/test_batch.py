"""Batches read from a buffer: fields, what is derived from them, and what damage does."""

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from odradek.common.failures import ApiError
from odradek.records.batch import (
    HEADER,
    HEADER_BYTES,
    Compression,
    TimestampType,
    header_at,
    read_batch,
    read_batches,
    size_at,
)
from odradek.records.builder import BatchBuilder
from odradek.records.errors import CorruptRecord, IncompleteBatch, UnsupportedCompression
from support.builders.records import CODECS, INTS, LONGS, SAMPLE, build

#: The first bytes of a batch are outside of the CRC: base offset, length, leader epoch, magic, the CRC itself.
UNCOVERED_BYTES = 21


@given(
    base_offset=LONGS,
    leader_epoch=INTS,
    attributes=st.integers(0, 127),
    last_offset_delta=INTS,
    base_timestamp=LONGS,
    max_timestamp=LONGS,
    producer_id=LONGS,
    producer_epoch=st.integers(-(1 << 15), (1 << 15) - 1),
    base_sequence=INTS,
    count=INTS,
)
def test_every_field_is_where_the_format_has_it(**fields: int) -> None:
    data = struct.pack(
        ">qiibIhiqqqhii",
        fields["base_offset"],
        HEADER_BYTES - 12,
        fields["leader_epoch"],
        2,
        0xFEEDBEEF,
        fields["attributes"],
        fields["last_offset_delta"],
        fields["base_timestamp"],
        fields["max_timestamp"],
        fields["producer_id"],
        fields["producer_epoch"],
        fields["base_sequence"],
        fields["count"],
    )
    batch = read_batch(data)
    assert {name: getattr(batch, name) for name in fields} == fields
    assert (batch.size_bytes, batch.magic, batch.crc, bytes(batch.buffer)) == (HEADER_BYTES, 2, 0xFEEDBEEF, data)
    assert header_at(data, 0)[0] == fields["base_offset"]


def test_attributes_are_read_bit_by_bit() -> None:
    def with_attributes(attributes: int) -> bytes:
        return HEADER.pack(5, HEADER_BYTES - 12, 0, 2, 0, attributes, 3, 1111, 2222, 7, 0, 9, 0)

    bare = read_batch(with_attributes(0))
    assert (bare.compression, bare.timestamp_type) == (Compression.NONE, TimestampType.CREATE_TIME)
    assert (bare.is_transactional, bare.is_control, bare.delete_horizon_ms) == (False, False, None)
    assert (bare.last_offset, bare.next_offset, bare.last_sequence, bare.has_producer_id) == (8, 9, 12, True)
    assert read_batch(with_attributes(4)).compression == Compression.ZSTD
    assert read_batch(with_attributes(8)).timestamp_type == TimestampType.LOG_APPEND_TIME
    assert read_batch(with_attributes(16)).is_transactional
    assert read_batch(with_attributes(32)).is_control
    assert read_batch(with_attributes(64)).delete_horizon_ms == 1111
    for number in (5, 6, 7):
        with pytest.raises(UnsupportedCompression, match=f"number {number}"):
            _ = read_batch(with_attributes(number)).compression


def test_sequences_start_over_after_the_last_int() -> None:
    builder = BatchBuilder(producer_id=1, producer_epoch=0, base_sequence=(1 << 31) - 2)
    for _ in range(4):
        builder.append(0, None, b"")
    batch = read_batch(builder.build())
    assert batch.last_sequence == 1
    assert [record.sequence for record in batch.records()] == [(1 << 31) - 2, (1 << 31) - 1, 0, 1]


def test_batches_are_views_of_the_buffer_one_after_the_other() -> None:
    buffer = bytearray(build(SAMPLE) + build(SAMPLE, base_offset=155))
    first, second = read_batches(buffer)
    assert (first.base_offset, second.base_offset) == (0, 155)
    assert second.buffer.obj is buffer
    assert [batch.base_offset for batch in read_batches(buffer, first.size_bytes)] == [155]
    assert list(read_batches(buffer, 0, first.size_bytes + second.size_bytes - 1))[-1].base_offset == 0


def test_an_incomplete_batch_at_the_end_is_left_out_at_every_length() -> None:
    data = build(SAMPLE[:4])
    for length in range(len(data)):
        assert list(read_batches(data[:length])) == []
        assert len(list(read_batches(data + data[:length]))) == 1
        with pytest.raises(IncompleteBatch):
            read_batch(data[:length])


@pytest.mark.parametrize("length", [-(1 << 31), -1, 0, 13])
def test_a_length_that_no_batch_can_have_is_corrupt(length: int) -> None:
    data = bytearray(build(SAMPLE[:1]))
    struct.pack_into(">i", data, 8, length)
    with pytest.raises(CorruptRecord, match=f"length of {length} "):
        read_batch(data)
    with pytest.raises(CorruptRecord):
        list(read_batches(data))
    with pytest.raises(CorruptRecord):
        size_at(data, 0)


def test_a_length_or_magic_that_does_not_fit_the_format_is_corrupt() -> None:
    data = bytearray(build(SAMPLE[:1]))
    struct.pack_into(">i", data, 8, HEADER_BYTES - 13)
    with pytest.raises(CorruptRecord, match="60 bytes, but magic 2 needs 61"):
        read_batch(data)
    data = bytearray(build(SAMPLE[:1]))
    data[16] = 3
    with pytest.raises(CorruptRecord, match="magic 3"):
        read_batch(data)


def test_a_huge_length_is_only_incomplete() -> None:
    data = bytearray(build(SAMPLE[:1]))
    struct.pack_into(">i", data, 8, (1 << 31) - 1)
    with pytest.raises(IncompleteBatch):
        read_batch(data)
    assert list(read_batches(data)) == []


def test_a_wrong_crc_names_both() -> None:
    data = bytearray(build(SAMPLE[:1]))
    data[-1] ^= 1
    with pytest.raises(CorruptRecord, match=r"offset 0: stored CRC 0x\w{8}, computed 0x\w{8}"):
        read_batch(data).check()


@pytest.mark.parametrize("codec", CODECS)
def test_any_changed_bit_is_noticed_or_changes_nothing_that_is_read(codec: Compression) -> None:
    """Only the base offset and the leader epoch, which leaders write, may change unnoticed."""
    data = build(SAMPLE[:4], codec, base_offset=1000)
    want = [(record.offset, record[1:]) for record in read_batch(data).records()]
    for position in range(len(data)):
        for bit in range(8):
            mutated = bytearray(data)
            mutated[position] ^= 1 << bit
            try:
                batch = read_batch(mutated)
                batch.check()
                got = [(record.offset, record[1:]) for record in batch.records()]
            except ApiError:
                continue
            assert position < UNCOVERED_BYTES
            shift = batch.base_offset - 1000
            assert [(offset - shift, rest) for offset, rest in got] == want


@given(junk=st.binary(max_size=200))
def test_junk_is_a_batch_or_an_api_error(junk: bytes) -> None:
    try:
        for batch in read_batches(junk):
            batch.check()
            list(batch.records())
    except ApiError:
        pass
