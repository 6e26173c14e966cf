"""Chunks as record batches of Arrow's: the connector's columns, and the types that Spark expects of them."""

from datetime import UTC, datetime, timedelta

import pyarrow as pa
import pytest
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import LongType, StructType

from odradek.common.failures import InputError
from odradek.common.ids import TopicPartition
from odradek.records.builder import BatchBuilder
from odradek.records.columns.record_columns import read_columns
from odradek.records.record import Header, TimestampType
from odradek.spark.source.schema import check_schema, spark_schema, to_arrow

PLACE = TopicPartition("orders", 7)
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def batch_of(builder: BatchBuilder, *, with_headers: bool) -> pa.RecordBatch:
    return to_arrow(PLACE, read_columns(builder.build()), with_headers=with_headers)


@pytest.fixture
def builder() -> BatchBuilder:
    builder = BatchBuilder(base_offset=40)
    builder.append(5, b"k", b"v", [Header("a", b"1"), Header("b", None)])
    builder.append(1_234, None, b"", [])
    builder.append(6, b"", None, [Header("\udcff", b"")])
    return builder


def test_the_columns_are_the_connectors(builder: BatchBuilder) -> None:
    assert batch_of(builder, with_headers=True).to_pydict() == {
        "key": [b"k", None, b""],
        "value": [b"v", b"", None],
        "topic": ["orders"] * 3,
        "partition": [7] * 3,
        "offset": [40, 41, 42],
        "timestamp": [EPOCH + timedelta(milliseconds=each) for each in (5, 1_234, 6)],
        "timestampType": [0] * 3,
        "headers": [
            [{"key": "a", "value": b"1"}, {"key": "b", "value": None}],
            None,
            [{"key": "\ufffd", "value": b""}],
        ],
    }


@pytest.mark.parametrize("with_headers", [False, True])
def test_the_types_are_those_that_spark_expects(builder: BatchBuilder, with_headers: bool) -> None:
    expected = to_arrow_schema(spark_schema(with_headers=with_headers), timezone="UTC")
    found = batch_of(builder, with_headers=with_headers)
    assert found.schema == expected
    found.validate(full=True)


def test_times_that_spark_has_none_for_are_refused() -> None:
    """They would turn into others."""
    builder = BatchBuilder(base_offset=40)
    builder.append(5, None, b"")
    builder.append(1_700_000_000_000_000_000, None, b"")
    with pytest.raises(InputError, match="orders-7: the timestamp of offset 41 is 1700000000000000000 ms"):
        batch_of(builder, with_headers=False)


def test_times_of_the_log_are_marked() -> None:
    builder = BatchBuilder(timestamp_type=TimestampType.LOG_APPEND_TIME, append_time_ms=9_000)
    builder.append(1, None, b"v")
    (row,) = batch_of(builder, with_headers=False).to_pylist()
    assert (row["timestamp"], row["timestampType"]) == (EPOCH + timedelta(seconds=9), 1)


def test_another_schema_is_refused() -> None:
    check_schema(spark_schema(with_headers=True), with_headers=True)
    for wrong in (spark_schema(with_headers=True), StructType().add("offset", LongType())):
        with pytest.raises(InputError, match="omit it, and select from the columns key, value, topic"):
            check_schema(wrong, with_headers=False)
