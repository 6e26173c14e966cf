import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    DataType,
    DoubleType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
)

from odradek.common.failures import InputError
from odradek.spark.sink.columns import arrow_records, check_schema, partition_column, rows_by_topic
from odradek.spark.sink.partitioning import RowPartitioner

_HEADERS = ArrayType(StructType().add("key", StringType(), False).add("value", BinaryType()))


def _schema(**types: DataType) -> StructType:
    return StructType([StructField(name, kind) for name, kind in types.items()])


def test_columns_of_the_connector_are_taken_and_others_ignored() -> None:
    text = {"topic": StringType(), "key": BinaryType(), "value": StringType()}
    check_schema(_schema(**text, partition=IntegerType(), headers=_HEADERS, other=DoubleType()), None)


@pytest.mark.parametrize(
    ("types", "topic", "message"),
    [
        ({}, None, "topic option required when no 'topic' attribute is present"),
        (
            {"value": IntegerType()},
            "t",
            r"value attribute unsupported type int\. value must be a\(n\) string or binary",
        ),
        ({"key": LongType()}, "t", "key attribute unsupported type bigint"),
        ({"topic": BinaryType()}, None, r"topic attribute unsupported type binary\. topic must be a\(n\) string"),
        ({"partition": LongType()}, "t", "partition attribute unsupported type bigint"),
        ({"headers": StringType()}, "t", "headers must be .* array<struct<key:string,value:binary>>"),
    ],
)
def test_others_are_refused_in_its_words(types: dict[str, DataType], topic: str | None, message: str) -> None:
    with pytest.raises(InputError, match=message):
        check_schema(_schema(**{"value": StringType(), **types}), topic)


def test_there_must_be_a_value() -> None:
    with pytest.raises(InputError, match="Required attribute 'value' not found"):
        check_schema(_schema(key=StringType()), "t")


def test_a_column_that_is_there_twice_is_refused() -> None:
    """Arrow finds none of two by its name: all values would be null."""
    value = StructField("value", StringType())
    with pytest.raises(InputError, match="there is more than one column value"):
        check_schema(StructType([value, value]), "t")


def test_the_option_goes_before_a_column_of_any_type() -> None:
    check_schema(_schema(value=StringType(), topic=BinaryType()), "t")


def _batch(**columns: object) -> pa.RecordBatch:
    return pa.RecordBatch.from_pydict(columns)


def test_rows_are_parted_by_topic() -> None:
    batch = _batch(topic=["a", "b", "a"], value=["1", "2", "3"])
    assert {each.topic: each.rows.tolist() for each in rows_by_topic(batch, None)} == {"a": [0, 2], "b": [1]}
    assert [(each.topic, len(each.rows)) for each in rows_by_topic(batch, "all")] == [("all", 3)]


def test_a_row_without_a_topic_is_refused() -> None:
    for topics in (["a", None], [None, None]):
        with pytest.raises(InputError, match="contains a null topic"):
            rows_by_topic(_batch(topic=pa.array(topics, pa.string()), value=["1", "2"]), None)


def test_headers_become_pairs() -> None:
    kind = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))
    rows = [[{"key": "a", "value": b"1"}, {"key": "a", "value": None}], None, []]
    records = arrow_records(_batch(value=["x", "y", "z"], headers=pa.array(rows, kind)), 5)
    assert records.headers == [[("a", b"1"), ("a", None)], [], []]
    for header in ({"key": None, "value": b""}, None):
        with pytest.raises(InputError, match="a header has no key"):
            arrow_records(_batch(value=["x"], headers=pa.array([[header]], kind)), 5)


def test_columns_that_are_all_null_are_not_there() -> None:
    records = arrow_records(_batch(key=pa.nulls(2, pa.binary()), value=pa.nulls(2, pa.binary())), 5)
    assert (records.keys, records.values) == (None, None)
    assert partition_column(_batch(value=["x"], partition=pa.array([None], pa.int32()))) is None


def _spread(batch: pa.RecordBatch, count: int, spreading: RowPartitioner) -> dict[int, list[int]]:
    records = arrow_records(batch, 0)
    found = spreading.partitions("t", records, np.arange(batch.num_rows), partition_column(batch), count)
    return {partition: rows.tolist() for partition, rows in found}


def test_a_key_decides_as_in_java() -> None:
    """Hashes of Kafka's own test of murmur2."""
    hashes = {"21": -973932308, "foobar": -790332482, "a-little-bit-long-string": -985981536}
    expected: dict[int, list[int]] = {}
    for row, number in enumerate(hashes.values()):
        expected.setdefault((number & 0x7FFFFFFF) % 8, []).append(row)
    assert _spread(_batch(key=list(hashes), value=["x", "y", "z"]), 8, RowPartitioner(0, 100)) == expected


def test_a_partition_that_is_asked_for_goes_before_the_key() -> None:
    batch = _batch(key=["21", "21"], value=["x", "y"], partition=pa.array([6, None], pa.int32()))
    assert _spread(batch, 8, RowPartitioner(0, 100))[6] == [0]


def test_a_partition_that_is_not_there_is_refused() -> None:
    with pytest.raises(InputError, match=r"a row has partition 3; topic t has 3 partition\(s\), 0 to 2"):
        _spread(_batch(value=["x"], partition=pa.array([3], pa.int32())), 3, RowPartitioner(0, 100))
    with pytest.raises(InputError, match="partition is negative in 1 row"):
        _spread(_batch(value=["x", "y"], partition=pa.array([-1, None], pa.int32())), 3, RowPartitioner(0, 100))


def test_rows_without_a_key_go_in_runs_to_one_partition_after_the_other() -> None:
    """Runs of a batch's size; the next rows go on where these have stopped."""
    spreading, batch = RowPartitioner(1, 100), _batch(value=["x" * 40] * 6)
    assert _spread(batch, 4, spreading) == {1: [0, 1], 2: [2, 3], 3: [4, 5]}
    assert _spread(batch.slice(0, 1), 4, spreading) == {0: [0]}
