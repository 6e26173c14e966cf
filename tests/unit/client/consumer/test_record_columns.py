"""Chunks as columns, and as Arrow."""

import sys

import pytest

from odradek.client.consumer.completed_fetch import RecordDecoding
from odradek.client.consumer.record_columns import RecordColumns
from odradek.common.failures import InputError
from support.builders.records import SAMPLE, build
from unit.client.consumer.fetches import A0, at_positions, completed, partition_data, values


def columns_of(chunk: bytes, reading: RecordDecoding | None = None) -> RecordColumns:
    fetch = completed(at_positions(0), partition_data(chunk))
    return RecordColumns(A0, fetch.take_columns(), reading or RecordDecoding())


def test_arrow_has_what_the_records_have_nulls_included() -> None:
    batch = columns_of(build(SAMPLE))
    table = batch.to_arrow()
    assert table.schema.names == ["topic", "partition", "offset", "timestamp", "timestamp_type", "key", "value"]
    rows = table.to_pydict()
    assert rows["key"] == [made.key for made in SAMPLE] == batch.keys()
    assert rows["value"] == [made.value for made in SAMPLE] == batch.values()
    assert rows["offset"] == list(range(len(SAMPLE))) and set(rows["topic"]) == {"a"}
    assert [int(stamp.timestamp() * 1000) for stamp in rows["timestamp"][:3]] == [m.timestamp for m in SAMPLE[:3]]
    table.validate(full=True)


def test_headers_and_ends() -> None:
    batch = columns_of(build(SAMPLE))
    assert [header.key for header in batch.headers(0)] == ["trace", "empty", "null"]
    assert (len(batch), batch.next_offset) == (len(SAMPLE), len(SAMPLE))
    assert repr(batch) == f"RecordColumns(a-0, {len(SAMPLE)} records, offsets 0..{len(SAMPLE) - 1})"


def test_deserializers_are_used_when_values_are_asked_for() -> None:
    batch = columns_of(values(b"1", b"22"), RecordDecoding(key_deserializer=bytes.decode, value_deserializer=int))
    assert (batch.keys(), batch.values()) == (["key", "key"], [1, 22])


def test_without_pyarrow_it_is_said_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(InputError, match=r"pip install 'odradek\[arrow\]'"):
        columns_of(values(b"1")).to_arrow()
