"""Batches built from columns have the builder's bytes, whatever the columns are like."""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from odradek.records.batch import HEADER_BYTES, Compression, read_batch
from odradek.records.builder import BatchBuilder
from odradek.records.columns.column_batches import ArrowRecords, BatchPlan, BuiltBatch, build_batches
from support.builders.records import CODECS, SAMPLE, Made, made_records
from unit.records.client_oracles import READERS, read_as, seen

NO_LIMIT = 1 << 30
BINARIES = (pa.binary(), pa.large_binary())


def arrow(records: Sequence[Made], kind: pa.DataType = BINARIES[0]) -> ArrowRecords:
    """Between two rows that are not theirs, as slices of larger arrays are."""
    around = [Made(5, b"before", b"before"), *records, Made(5, b"after", b"after")]
    has_headers = any(made.headers for made in records)
    return ArrowRecords(
        keys=pa.array([made.key for made in around], kind).slice(1, len(records)),
        values=pa.array([made.value for made in around], kind).slice(1, len(records)),
        timestamps=np.array([made.timestamp for made in records], np.int64),
        headers=[made.headers for made in records] if has_headers else None,
    )


def built(records: Sequence[Made], codec: Compression = Compression.NONE) -> bytes:
    builder = BatchBuilder(compression=codec)
    for made in records:
        builder.append(made.timestamp, made.key, made.value, made.headers)
    return builder.build()


def all_of(records: ArrowRecords, rows: range | list[int], plan: BatchPlan) -> list[BuiltBatch]:
    return list(build_batches(records, rows if isinstance(rows, range) else np.array(rows, np.int64), plan))


@given(records=made_records(), kind=st.sampled_from(BINARIES), data=st.data())
def test_the_same_bytes_as_the_builders(records: list[Made], kind: pa.DataType, data: st.DataObject) -> None:
    columns, plan = arrow(records, kind), BatchPlan(NO_LIMIT)
    (batch,) = all_of(columns, range(len(records)), plan)
    assert (batch.data, batch.count) == (built(records), len(records))
    rows = data.draw(st.lists(st.integers(0, len(records) - 1), min_size=1))
    (batch,) = all_of(columns, rows, plan)
    assert batch.data == built([records[row] for row in rows])


@given(records=made_records(30), limit=st.integers(1, 2_000))
def test_batches_are_as_full_as_the_limit_lets_them(records: list[Made], limit: int) -> None:
    batches = all_of(arrow(records), range(len(records)), BatchPlan(limit))
    at = 0
    for batch in batches:
        own = records[at : at + batch.count]
        at += batch.count
        assert batch.data == built(own)
        assert len(batch.data) <= limit or batch.count == 1
        if at < len(records):
            assert len(built([*own, records[at]])) > limit
    assert at == len(records)


def test_many_records_and_large_ones() -> None:
    records = [Made(1_000 + index * 7, None, bytes(index % 40 * 100)) for index in range(20_000)]
    records.append(Made(-1, b"k" * 70_000, b"v" * 3_000_000))
    (batch,) = all_of(arrow(records), range(len(records)), BatchPlan(NO_LIMIT))
    assert batch.data == built(records)


@pytest.mark.parametrize("with_keys", [True, False])
@pytest.mark.parametrize("with_values", [True, False])
def test_columns_that_are_not_there(with_keys: bool, with_values: bool) -> None:
    records = [Made(77, b"k%d" % i if with_keys else None, b"v" * i if with_values else None) for i in range(300)]
    columns = ArrowRecords(
        keys=pa.array([made.key for made in records], pa.binary()) if with_keys else None,
        values=pa.array([made.value.decode() for made in records if made.value is not None]) if with_values else None,
        timestamps=77,
    )
    (batch,) = all_of(columns, range(300), BatchPlan(NO_LIMIT))
    assert batch.data == built(records)
    (batch,) = all_of(columns, [7, 3], BatchPlan(NO_LIMIT))
    assert batch.data == built([records[7], records[3]])
    assert all_of(columns, range(10, 10), BatchPlan(NO_LIMIT)) == []


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("client", list(READERS))
def test_other_clients_read_them(client: str, codec: Compression) -> None:
    (batch,) = all_of(arrow(SAMPLE), range(len(SAMPLE)), BatchPlan(NO_LIMIT, compression=codec))
    read = [seen(record) for record in read_as(client, batch.data)]
    assert read == [seen(record) for record in read_as(client, built(SAMPLE, codec))]
    assert [value for _, _, _, value, _ in read] == [made.value for made in SAMPLE]


def test_the_producers_marks() -> None:
    plan = BatchPlan(HEADER_BYTES + 40, producer_id=1 << 40, producer_epoch=3, is_transactional=True)
    columns = ArrowRecords(None, pa.array([b"0123456789"] * 5), timestamps=1)
    largest = (1 << 31) - 1
    batches = list(build_batches(columns, range(5), plan, base_sequence=largest - 1))
    assert [batch.count for batch in batches] == [2, 2, 1]
    headers = [read_batch(batch.data) for batch in batches]
    for header in headers:
        header.check()
        assert (header.producer_id, header.producer_epoch, header.is_transactional) == (1 << 40, 3, True)
    assert [header.base_sequence for header in headers] == [largest - 1, 0, 2]
    assert [batch.next_sequence for batch in batches] == [0, 2, 3]
