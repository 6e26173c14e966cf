"""Avro's types and values, beside what fastavro itself writes and reads."""

import io
import json
from datetime import UTC, date, datetime, time
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import UUID

import fastavro
import pyarrow as pa
import pytest
from pyspark.sql.pandas.types import to_arrow_type

from odradek.client.schema_registry.registry import SchemaRegistry
from odradek.common.failures import InputError
from odradek.spark.formats.arrow_results import decoded_array
from odradek.spark.formats.avro_format import avro, avro_decoder, avro_encoder
from support.fakes.schema_registry import registry_stub

ORDER: dict[str, Any] = {
    "type": "record",
    "name": "Order",
    "namespace": "shop",
    "fields": [
        {"name": "id", "type": "long"},
        {"name": "price", "type": {"type": "bytes", "logicalType": "decimal", "precision": 10, "scale": 2}},
        {"name": "day", "type": {"type": "int", "logicalType": "date"}},
        {"name": "at", "type": {"type": "long", "logicalType": "timestamp-micros"}},
        {"name": "at_ms", "type": ["null", {"type": "long", "logicalType": "timestamp-millis"}], "default": None},
        {"name": "local", "type": {"type": "long", "logicalType": "local-timestamp-micros"}},
        {"name": "clock", "type": {"type": "int", "logicalType": "time-millis"}},
        {"name": "token", "type": ["null", {"type": "string", "logicalType": "uuid"}]},
        {"name": "state", "type": {"type": "enum", "name": "State", "symbols": ["NEW", "PAID"]}},
        {"name": "was", "type": ["null", "State"], "default": None},
        {"name": "hash", "type": {"type": "fixed", "name": "Hash", "size": 4}},
        {"name": "tags", "type": {"type": "map", "values": {"type": "array", "items": "string"}}},
        {
            "name": "lines",
            "type": {
                "type": "array",
                "items": {
                    "type": "record",
                    "name": "Line",
                    "fields": [{"name": "sku", "type": "string"}, {"name": "count", "type": ["int", "long"]}],
                },
            },
        },
    ],
}
ROW = {
    "id": 7,
    "price": Decimal("12.50"),
    "day": date(2024, 2, 29),
    "at": datetime(2024, 2, 29, 1, 2, 3, 456789, tzinfo=UTC),
    "at_ms": None,
    "local": datetime(2024, 2, 29, 1, 2, 3),
    "clock": time(1, 2, 3, 4000),
    "token": UUID(int=5),
    "state": "PAID",
    "was": "NEW",
    "hash": b"abcd",
    "tags": {"a": ["x", "y"]},
    "lines": [{"sku": "s", "count": 1 << 40}],
}
COLUMNS = (
    "struct<id:bigint,price:decimal(10,2),day:date,at:timestamp,at_ms:timestamp,local:timestamp_ntz,clock:int,"
    "token:string,state:string,was:string,hash:binary,tags:map<string,array<string>>,"
    "lines:array<struct<sku:string,count:bigint>>>"
)


def written(schema: Any, row: Any) -> bytes:
    target = io.BytesIO()
    fastavro.schemaless_writer(target, fastavro.parse_schema(schema), row)
    return target.getvalue()


def test_every_type_to_sparks_and_back() -> None:
    made = avro(schema=ORDER)
    assert made.schema().simpleString() == COLUMNS
    data = written(ORDER, ROW)
    kind = to_arrow_type(made.schema(), timezone="UTC")
    found = decoded_array(pa.array([data, None], pa.binary()), avro_decoder(made.texts, None), kind)
    rows = found.field("data").to_pylist()
    as_arrow = {**ROW, "clock": 3_723_004, "token": str(UUID(int=5)), "tags": [("a", ["x", "y"])]}
    assert (rows, found.field("error").to_pylist()) == ([as_arrow, None], [None, None])
    assert avro_encoder(made.texts, None)(rows[0]) == data


def test_the_schema_in_a_file(tmp_path: Path) -> None:
    path = tmp_path / "order.avsc"
    path.write_text(json.dumps(ORDER))
    assert avro(schema_file=path).schema() == avro(schema=json.dumps(ORDER)).schema()


@pytest.mark.parametrize("cut", [1, 5, 20, 40])
def test_cut_and_longer_values_are_refused(cut: int) -> None:
    decode, data = avro_decoder(avro(schema=ORDER).texts, None), written(ORDER, ROW)
    with pytest.raises(Exception):  # noqa: B017 - whatever fastavro raises
        decode(data[:-cut])
    with pytest.raises(ValueError, match=f"{cut} bytes follow"):
        decode(data + b"x" * cut)


def test_a_bad_value_spoils_no_other() -> None:
    schema = {"type": "record", "name": "R", "fields": [ORDER["fields"][1]]}
    made = avro(schema=schema)
    good, wide = written(schema, {"price": Decimal("1.00")}), b"\x20" + b"\x7f" * 16
    values = pa.array([good, wide, b"\x20", good], pa.binary())
    found = decoded_array(values, avro_decoder(made.texts, None), to_arrow_type(made.schema(), timezone="UTC"))
    assert found.field("data").to_pylist() == [{"price": Decimal("1.00")}, None, None, {"price": Decimal("1.00")}]
    assert [error is None for error in found.field("error").to_pylist()] == [True, False, False, True]


def test_values_of_other_versions_are_resolved_by_a_registry() -> None:
    old = {"type": "record", "name": "R", "fields": [{"name": "id", "type": "int"}, {"name": "gone", "type": "string"}]}
    new = {
        "type": "record",
        "name": "R",
        "fields": [{"name": "id", "type": "long"}, {"name": "more", "type": "string", "default": "none"}],
    }
    with registry_stub("u", "p") as stub:
        old_id, new_id = stub.register("r-value", json.dumps(old)), stub.register("r-value", json.dumps(new))
        made = avro(registry=stub.url, subject="r-value", user="u", password="p")
        decode = avro_decoder(made.texts, made.registry)
        data = b"\0" + old_id.to_bytes(4, "big") + written(old, {"id": 5, "gone": "x"})
        assert decode(data) == decode(data) == {"id": 5, "more": "none"}
        assert sum(asked.startswith("/schemas/ids") for asked in stub.asked) == 1
        value = {"id": 6, "more": "z"}
        assert avro_encoder(made.texts, made.schema_id)(value) == prefix_of(new_id) + written(new, value)
        with pytest.raises(ValueError, match="no schema with id 99"):
            decode(prefix_of(99) + b"x")
        assert avro(registry=stub.url, schema=new, subject="r-value", user="u", password="p").schema_id == new_id


def prefix_of(schema_id: int) -> bytes:
    return b"\0" + schema_id.to_bytes(4, "big")


def test_schemas_that_refer_to_others() -> None:
    inner = {"type": "record", "name": "Inner", "fields": [{"name": "x", "type": "int"}]}
    outer = {"type": "record", "name": "Outer", "fields": [{"name": "in", "type": "Inner"}]}
    with registry_stub() as stub:
        stub.register("inner", json.dumps(inner))
        reference = {"name": "Inner", "subject": "inner", "version": 1}
        schema_id = stub.register("outer", json.dumps(outer), (reference,))
        made = avro(registry=stub.url, subject="outer")
        assert made.schema().simpleString() == "struct<in:struct<x:int>>"
        decode = avro_decoder(made.texts, SchemaRegistry(stub.url))
        assert decode(prefix_of(schema_id) + b"\x06") == {"in": {"x": 3}}


def record(*types: Any) -> dict[str, Any]:
    return {"type": "record", "name": "R", "fields": [{"name": f"f{n}", "type": each} for n, each in enumerate(types)]}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({}, "one of schema_file, schema, and registry with subject"),
        ({"registry": "http://localhost:1"}, "one of schema_file, schema, and registry with subject"),
        ({"schema": record("int"), "subject": "s"}, "subject requires a registry"),
        ({"schema": "{}", "schema_file": "x"}, "cannot both be set"),
        ({"schema_file": "/no/such.avsc"}, "cannot be read"),
        ({"schema": "{"}, "invalid Avro schema"),
        ({"schema": {"type": "record", "name": "R", "fields": [{"name": "x", "type": "Y"}]}}, "invalid Avro schema"),
        ({"schema": '"string"'}, "expected a record"),
        ({"schema": record(["int", "string"])}, "union of int or string"),
        ({"schema": record(["null", "R"])}, "R is recursive"),
        ({"schema": record({"type": "bytes", "logicalType": "decimal", "precision": 39})}, "at most 38"),
    ],
)
def test_what_cannot_be_a_format(arguments: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        avro(**arguments)
