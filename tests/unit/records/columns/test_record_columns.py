"""Columns agree with reading record by record, for any mix of batches."""

import itertools
import random
from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from odradek.common.failures import ApiError
from odradek.common.ports import Buffer
from odradek.records.aborted import AbortedTransaction
from odradek.records.batch import Compression, TimestampType, offset_after, read_batches
from odradek.records.builder import BatchBuilder, empty_batch, end_transaction_marker, retained_batch
from odradek.records.columns.record_columns import Columns, read_columns
from odradek.records.errors import CorruptRecord, ExpandedTooLarge, InvalidRecord
from odradek.records.record import Record
from support.builders.records import CODECS, SAMPLE, Made, build, made_records


def rows(columns: Columns) -> list[Record]:
    """Put together again what the columns took apart."""
    return [
        Record(int(offset), int(stamp), TimestampType(int(kind)), key, value, columns.headers(i))
        for i, (offset, stamp, kind, key, value) in enumerate(
            zip(
                columns.offset,
                columns.timestamp,
                columns.timestamp_type,
                columns.keys(),
                columns.values(),
                strict=True,
            )
        )
    ]


def one_by_one(chunk: bytes, from_offset: int = 0) -> list[Record]:
    every = [r for batch in read_batches(chunk) if not batch.is_control for r in batch.records()]
    return [record._replace(sequence=-1) for record in every if record.offset >= from_offset]


@given(
    groups=st.lists(st.tuples(made_records(6), st.sampled_from(CODECS)), max_size=4),
    from_offset=st.none() | st.integers(0, 30),
    cut=st.integers(0, 60),
    front=st.integers(0, 20),
)
def test_any_chunk(groups: list[tuple[list[Made], Compression]], from_offset: int | None, cut: int, front: int) -> None:
    chunk, offset = b"", 0
    for records, codec in groups:
        chunk += build(records, codec, offset)
        offset += len(records)
    part = memoryview(bytes(front) + chunk + build(SAMPLE[:1])[:cut])[front:]
    columns = read_columns(part, from_offset=from_offset)
    assert rows(columns) == one_by_one(chunk, from_offset or 0)
    assert columns.consumed_bytes == len(chunk)
    assert columns.next_offset == offset_after(part) == (offset if groups else None)
    assert len(columns.batches) == len(groups)


@pytest.mark.parametrize("codec", CODECS)
def test_as_arrow_has_it(codec: Compression) -> None:
    columns = read_columns(build(SAMPLE, codec) + build(SAMPLE, codec, len(SAMPLE)))
    for array, want in ((columns.arrow_keys(), columns.keys()), (columns.arrow_values(), columns.values())):
        array.validate(full=True)
        assert (array.type, array.to_pylist()) == (pa.binary(), want)
    assert columns.batch_index.tolist() == [0] * len(SAMPLE) + [1] * len(SAMPLE)
    assert columns.has_headers().tolist() == [bool(made.headers) for made in SAMPLE] * 2
    full = read_columns(build([Made(0, b"k", b"v"), Made(0, b"", b"")])).before(1)
    assert (full.arrow_keys().to_pylist(), full.arrow_keys().null_count) == ([b"k"], 0)
    keyless = read_columns(build([Made(0, None, b"")] * 3))
    assert (keyless.arrow_keys().to_pylist(), keyless.arrow_values().to_pylist()) == ([None] * 3, [b""] * 3)


def test_without_compression_nothing_is_copied() -> None:
    chunk = build(SAMPLE)
    assert read_columns(chunk).data is chunk
    answer = b"before" + chunk + b"after"
    columns = read_columns(memoryview(answer)[len("before") : -len("after")])
    assert columns.data is answer
    assert rows(columns) == one_by_one(chunk)


@pytest.mark.parametrize("kind", [bytearray, lambda chunk: memoryview(bytearray(chunk))])
def test_what_may_change_is_copied(kind: Callable[[bytes], Buffer]) -> None:
    chunk = build(SAMPLE)
    assert rows(read_columns(kind(chunk))) == one_by_one(chunk)


def test_append_time_gaps_and_emptied_batches() -> None:
    stamped = BatchBuilder(timestamp_type=TimestampType.LOG_APPEND_TIME, append_time_ms=99, base_offset=0)
    for made in SAMPLE[:3]:
        stamped.append(made.timestamp, made.key, made.value)
    (original,) = read_batches(build(SAMPLE, Compression.LZ4, base_offset=3))
    cleaned = retained_batch(original, [r for r in original.records() if r.offset % 5 == 0], delete_horizon_ms=12345)
    (later,) = read_batches(build(SAMPLE, base_offset=500))
    chunk = stamped.build() + cleaned + empty_batch(later)
    columns = read_columns(chunk)
    assert rows(columns) == one_by_one(chunk)
    assert columns.timestamp[:3].tolist() == [99] * 3
    assert columns.next_offset == 500 + len(SAMPLE)


def transactional(producer_id: int, base_offset: int, *, is_transactional: bool = True) -> bytes:
    builder = BatchBuilder(
        base_offset=base_offset,
        producer_id=producer_id,
        producer_epoch=0,
        base_sequence=0,
        is_transactional=is_transactional,
    )
    builder.append(0, b"k", b"a")
    builder.append(0, b"k", b"b")
    return builder.build()


def marker(producer_id: int, base_offset: int, *, commit: bool) -> bytes:
    return end_transaction_marker(
        commit=commit,
        timestamp=0,
        producer_id=producer_id,
        producer_epoch=0,
        coordinator_epoch=0,
        base_offset=base_offset,
    )


def test_aborted_transactions_are_left_out_as_consumers_do() -> None:
    parts = [
        transactional(1, 0),  # aborted by the marker at 4
        transactional(2, 2),  # committed
        marker(1, 4, commit=False),
        transactional(1, 5),  # committed by the marker at 10
        marker(2, 7, commit=True),
        transactional(1, 8, is_transactional=False),
        marker(1, 10, commit=True),
        transactional(1, 11),  # aborted beyond this chunk
    ]
    chunk = b"".join(parts)
    aborted = [AbortedTransaction(1, 11), AbortedTransaction(1, 0)]
    assert read_columns(chunk, aborted=aborted).offset.tolist() == [2, 3, 5, 6, 8, 9]
    inside = memoryview(b"before" + chunk)[len("before") :]
    assert rows(read_columns(inside, aborted=aborted)) == rows(read_columns(chunk, aborted=aborted))
    assert read_columns(chunk, aborted=aborted, from_offset=6).offset.tolist() == [6, 8, 9]
    everything = read_columns(chunk)
    assert everything.offset.tolist() == [0, 1, 2, 3, 5, 6, 8, 9, 11, 12]
    sizes = np.cumsum([0] + [len(part) for part in parts]).tolist()
    assert list(everything.control_positions) == [sizes[2], sizes[4], sizes[6]]


def test_nothing_at_all() -> None:
    columns = read_columns(b"")
    assert (len(columns), columns.keys(), columns.next_offset, columns.consumed_bytes) == (0, [], None, 0)
    assert columns.arrow_values().to_pylist() == []
    only_control = read_columns(marker(1, 0, commit=True))
    assert (len(only_control), only_control.control_positions, only_control.next_offset) == (0, (0,), 1)


def test_damage_and_bombs() -> None:
    chunk = bytearray(build(SAMPLE))
    chunk[-1] ^= 1
    with pytest.raises(CorruptRecord):
        read_columns(chunk)
    with pytest.raises(ExpandedTooLarge):
        read_columns(build([Made(0, None, bytes(100_000))], Compression.GZIP), limit_bytes=99_000)


def test_mutated_records_give_what_one_by_one_gives_or_an_api_error() -> None:
    """Without the CRC's protection. The columns look at headers later, so they may accept more at first."""
    chunk = build(SAMPLE[:12])
    source = random.Random(5)
    agreed = 0
    for _ in range(3000):
        mutated = bytearray(chunk)
        for _ in range(source.randint(1, 2)):
            mutated[61 + source.randrange(300)] = source.randrange(256)
        data = bytes(mutated)
        try:
            want = one_by_one(data, -(1 << 62))
        except InvalidRecord:
            want = None
        try:
            got = rows(read_columns(data, check=False))
        except ApiError:
            got = None
        if want is not None and all(a.offset < b.offset for a, b in itertools.pairwise(want)):
            assert got == want
            agreed += 1
    assert agreed > 50
