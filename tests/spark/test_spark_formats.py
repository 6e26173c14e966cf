"""Formats and dead letters in a Spark session: what is accepted, what is refused and why, and the way back."""

import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import fastavro
import pytest
from google.protobuf.descriptor_pb2 import FieldDescriptorProto as Proto
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.types import ArrayType, LongType, StructField, StructType

from odradek.common.dead_letter_headers import Reason
from odradek.common.failures import InputError
from odradek.spark import formats
from odradek.spark.dead_letters import accepted, guarded, rejected
from support.fakes.schema_registry import registry_stub
from support.spark import protobuf_files as made_of
from support.spark.session import session

pytestmark = [pytest.mark.slow, pytest.mark.peer]

ORDER = (
    "id BIGINT NOT NULL, name STRING NOT NULL, at TIMESTAMP, size STRUCT<w: DOUBLE NOT NULL, unit: STRING>, "
    "parts ARRAY<STRUCT<sku: STRING NOT NULL, tags: ARRAY<STRING>>>, prices MAP<STRING, DECIMAL(10,2)>, new BOOLEAN"
)


@pytest.fixture(scope="module")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    with session(tmp_path_factory.mktemp("spark")) as spark:
        yield spark


def decoded(spark: SparkSession, values: list[str | bytes | None], format: formats.Format) -> list[Row]:
    data = [each.encode() if isinstance(each, str) else each for each in values]
    rows = spark.createDataFrame(list(enumerate(data)), "n INT, value BINARY")
    found = rows.select("n", formats.decode("value", format).alias("decoded")).orderBy("n").collect()
    return [row["decoded"] for row in found]


def errors(spark: SparkSession, expected: dict[str, str | None], format: formats.Format) -> dict[str, str | None]:
    found = decoded(spark, list(expected), format)
    assert all((row["data"] is None) == (row["error"] is not None) for row in found)
    return dict(zip(expected, (row["error"] for row in found), strict=True))


GOOD = '"id":1,"name":"x"'


def test_json_is_strict(spark: SparkSession) -> None:
    expected = {
        f"{{{GOOD}}}": None,
        f' {{{GOOD},"other":[1]}}\n': None,
        f'{{{GOOD},"at":null,"size":{{"w":1}},"parts":[{{"sku":"a","tags":["t",null]}}],"prices":{{"e":1.5}}}}': None,
        "": "not valid JSON",
        "{": "not valid JSON",
        f"{{{GOOD},}}": "not valid JSON",
        "{'id':1}": "not valid JSON",
        "[" * 5_000: "not valid JSON",
        "null": "not a JSON object: null",
        "5": "not a JSON object",
        f"[{{{GOOD}}}]": "not a JSON object",
        f"{{{GOOD}}} x": "data after the JSON object",
        f"{{{GOOD}}}{{{GOOD}}}": "data after the JSON object",
        f"{{{GOOD}}},{{{GOOD}}}": "data after the JSON object",
        f"{{{GOOD}}}]}} x": "data after the JSON object",
        f'{{{GOOD}}},{{"_odradek_end":1}}]}} x': "data after the JSON object",
        '{"id":1}': "field name is missing or null",
        '{"id":null,"name":"x"}': "field id is missing or null",
        '{"id":"1","name":"x"}': "field id is not of type BIGINT",
        '{"id":1.0,"name":"x"}': "field id is not of type BIGINT",
        '{"id":9223372036854775808,"name":"x"}': "field id is not of type BIGINT",
        '{"id":1,"name":5}': "field name is not of type STRING",
        '{"id":1,"name":{"a":1}}': "field name is not of type STRING",
        f'{{{GOOD},"at":"soon"}}': "field at is not of type TIMESTAMP",
        f'{{{GOOD},"new":"true"}}': "field new is not of type BOOLEAN",
        f'{{{GOOD},"size":{{"w":"1"}}}}': "field size.w is not of type DOUBLE",
        f'{{{GOOD},"size":{{"w":NaN}}}}': "not valid JSON",
        f'{{{GOOD},"size":{{}}}}': "field size.w is missing or null",
        f'{{{GOOD},"size":[{{"w":1}}]}}': "field size is not of type STRUCT<W:DOUBLE,UNIT:STRING>",
        f'{{{GOOD},"parts":[{{"tags":[]}}]}}': "a required field is missing or null in field parts",
        f'{{{GOOD},"parts":[{{"sku":"a","tags":[1]}}]}}': "a value in field parts is not of type STRING",
        f'{{{GOOD},"prices":{{"e":"dear"}}}}': "field prices is not of type MAP<STRING,DECIMAL(10,2)>",
    }
    assert errors(spark, expected, formats.json(ORDER)) == expected
    assert [row["error"] for row in decoded(spark, [None, b'\xff{"id":1}'], formats.json(ORDER))] == [
        "there is no value",
        "not valid UTF-8",
    ]


def test_json_without_unknown_fields(spark: SparkSession) -> None:
    expected = {
        f'{{{GOOD},"size":{{"w":1}},"parts":[{{"sku":"a"}}]}}': None,
        f'{{{GOOD},"other":1}}': "field other is not in the schema",
        f'{{{GOOD},"size":{{"w":1,"x":2}}}}': "field size.x is not in the schema",
        f'{{{GOOD},"parts":[{{"sku":"a","y":1}}]}}': "field parts has fields that are not in the schema",
    }
    assert errors(spark, expected, formats.json(ORDER, unknown_fields=False)) == expected


def test_json_and_csv_there_and_back(spark: SparkSession, tmp_path: Path) -> None:
    row = spark.sql(
        """SELECT 7L id, 'ä"\n' name, TIMESTAMP'2024-02-29 01:02:03.456789' at,
        named_struct('w', 1.5D, 'unit', '') size, array(named_struct('sku', 's', 'tags', array('t'))) parts,
        map('e', 1.50BD) prices, CAST(NULL AS BOOLEAN) new"""
    )
    path = tmp_path / "order.ddl"
    path.write_text(ORDER)
    made = formats.json(schema_file=path)
    value = row.select(formats.encode(F.struct("*"), made).alias("value"))
    assert json.loads(value.first()["value"])["name"] == 'ä"\n'  # type: ignore[index]
    assert value.select(formats.decode("value", made).alias("d")).select("d.data.*").collect() == row.collect()

    lines = formats.csv("id BIGINT, name STRING, at TIMESTAMP, new BOOLEAN", separator=";")
    flat = row.select("id", "name", "at", "new")
    value = flat.select(formats.encode(F.struct("*"), lines).alias("value"))
    assert value.select(formats.decode("value", lines).alias("d")).select("d.data.*").collect() == flat.collect()


def test_csv_is_strict(spark: SparkSession) -> None:
    expected = {
        "1,x,2.5": None,
        '"1","x, ""y""\n",\n': None,
        "1,,": None,
        "": "1 fields, expected 3",
        "1,x": "2 fields, expected 3",
        "1,x,2,3": "4 fields, expected 3",
        "," * 30_000: "30001 fields, expected 3",
        ",x,1": "field id is missing or null",
        "one,x,1": "field id is not of type BIGINT",
        "1,x,much": "field price is not of type DOUBLE",
        '1,"x,1': "quotes that do not enclose a field",
        '1,"x"y,1': "quotes that do not enclose a field",
        '1,x"y"z,1': "quotes that do not enclose a field",
        "1,x,1\n2,y,2": "more than one line",
    }
    assert errors(spark, expected, formats.csv("id BIGINT NOT NULL, name STRING, price DOUBLE")) == expected
    found = decoded(spark, ['"1","x, ""y""\n",\n', ',"",', ",,"], formats.csv("id BIGINT, name STRING, price DOUBLE"))
    assert [row["data"]["name"] for row in found] == ['x, "y"\n', "", None]


def test_schemas_that_are_none(spark: SparkSession, tmp_path: Path) -> None:
    nested = StructType([StructField("x", ArrayType(LongType()))])
    (tmp_path / "x.json").write_text(nested.json())
    assert formats.json(schema_file=tmp_path / "x.json").schema() == nested
    for wrong, said in (
        (lambda: formats.json(), "one of schema and schema_file"),
        (
            lambda: formats.json("id BIGINTEGER").schema(),
            "'id BIGINTEGER' is not a valid schema: field id: unknown type BIGINTEGER. Did you mean INTEGER",
        ),
        (lambda: formats.json("BIGINT").schema(), "expected a struct"),
        (lambda: formats.csv(nested).schema(), "field x: CSV does not support type array"),
        (lambda: formats.csv("id BIGINT", separator=";;"), "separator: ';;' is not a single character"),
    ):
        with pytest.raises(InputError, match=said):
            wrong()


def test_avro_with_a_registry(spark: SparkSession) -> None:
    old: dict[str, Any] = {"type": "record", "name": "R", "fields": [{"name": "id", "type": "int"}]}
    fields = [
        {"name": "id", "type": "long"},
        {"name": "at", "type": ["null", {"type": "long", "logicalType": "timestamp-millis"}], "default": None},
        {"name": "price", "type": ["null", {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2}]},
        {"name": "tags", "type": {"type": "map", "values": "string"}, "default": {}},
    ]
    fields[2]["default"] = None
    target = io.BytesIO()
    fastavro.schemaless_writer(target, old, {"id": 5})
    with registry_stub("me", "secret") as stub:
        old_id = stub.register("r-value", json.dumps(old))
        stub.register("r-value", json.dumps({**old, "fields": fields}))
        made = formats.avro(registry=stub.url, subject="r-value", user="me", password="secret")
        first = b"\0" + old_id.to_bytes(4, "big") + target.getvalue()
        found = decoded(spark, [first, first + b"x", b"\0\0\0\0\x63", first[5:], None], made)
        assert found[0] == Row(data=Row(id=5, at=None, price=None, tags={}), error=None)
        assert [row["error"] for row in found[1:]] == [
            "1 bytes follow the Avro value",
            f"{stub.url} has no schema with id 99",
            "1 bytes are too few for the prefix of a schema registry",
            "there is no value",
        ]
        rows = spark.sql(
            "SELECT 7L id, TIMESTAMP'2024-02-29 01:02:03.456' at, 1.50BD price, map('a', 'b') tags"
        ).withColumn("price", F.col("price").cast("decimal(9,2)"))
        there = rows.select(formats.encode(F.struct("*"), made).alias("value"))
        assert there.select(formats.decode("value", made).alias("d")).select("d.data.*").collect() == rows.collect()


def test_protobuf(spark: SparkSession, tmp_path: Path) -> None:
    order = made_of.message(
        "Order",
        made_of.field("id", 1, Proto.TYPE_UINT64),
        made_of.field("at", 2, "google.protobuf.Timestamp"),
        made_of.field("took", 3, "google.protobuf.Duration"),
        made_of.field("names", 4, Proto.TYPE_STRING, repeated=True),
    )
    imports = ("google/protobuf/timestamp.proto", "google/protobuf/duration.proto")
    path = tmp_path / "shop.desc"
    path.write_bytes(made_of.descriptor_set(made_of.file("shop.proto", "shop", order, imports=imports)))
    made = formats.protobuf("shop.Order", descriptor_file=path)
    rows = spark.sql(
        """SELECT CAST(7 AS DECIMAL(20,0)) id, TIMESTAMP'2024-02-29 01:02:03.456789' at, INTERVAL '1' DAY took,
        array('x') names"""
    ).withColumn("took", F.col("took").cast("interval day to second"))
    there = rows.select(formats.encode(F.struct("*"), made).alias("value"))
    assert there.select(formats.decode("value", made).alias("d")).select("d.data.*").collect() == rows.collect()
    assert [row["error"] is None for row in decoded(spark, [b"", b"\xff", None], made)] == [True, False, False]
    tombstones = spark.sql("SELECT CAST(NULL AS BINARY) value").select(formats.decode("value", made, tombstones=True))
    assert tombstones.first()[0] == Row(data=None, error=None)  # type: ignore[index]


def source_rows(spark: SparkSession) -> DataFrame:
    """With the columns that the source has."""
    return spark.sql(
        """SELECT CAST(v AS BINARY) key, CAST(v AS BINARY) value, 'numbers' topic, 3 partition, 10L + n offset,
        TIMESTAMP'2024-01-01 00:00:01.5' + n * INTERVAL '1' SECOND timestamp,
        array(named_struct('key', 'trace', 'value', CAST('t' AS BINARY)),
              named_struct('key', 'odradek-step', 'value', CAST('earlier' AS BINARY))) headers
        FROM VALUES (0, '1'), (1, 'x'), (2, '0') AS t(n, v)"""
    )


def test_rejected_rows_are_dead_letters(spark: SparkSession) -> None:
    halved = guarded(lambda text: 12 // int(text), "INT")
    rows = source_rows(spark).withColumn("halved", halved(F.col("value").cast("string")))
    assert accepted(rows, "halved.error").select("offset", "halved.data").collect() == [Row(offset=10, data=12)]
    found = rejected(rows, "halved.error", step="halving", reason=Reason.FAILED, with_headers=True)
    assert found.columns == ["key", "value", "headers"]
    letters = [
        (bytes(row["value"]), [(header["key"], bytes(header["value"]).decode()) for header in row["headers"]])
        for row in found.collect()
    ]
    assert [value for value, _ in letters] == [b"x", b"0"]
    assert letters[0][1] == [
        ("trace", "t"),
        ("odradek-topic", "numbers"),
        ("odradek-partition", "3"),
        ("odradek-offset", "11"),
        ("odradek-timestamp-ms", "1704067202500"),
        ("odradek-step", "halving"),
        ("odradek-reason", "failed"),
        ("odradek-message", "invalid literal for int() with base 10: 'x'"),
    ]
    assert dict(letters[1][1])["odradek-message"] == "ZeroDivisionError: integer division or modulo by zero"
    plain = rejected(rows.drop("headers"), "halved.error", step="halving").first()
    assert plain is not None and plain["headers"][0]["key"] == "odradek-topic"
