"""Protobuf's types and values, beside what google.protobuf itself writes and reads."""

import base64
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from google.protobuf import json_format
from google.protobuf.descriptor_pb2 import FieldDescriptorProto as Proto
from pyspark.sql.pandas.types import to_arrow_type

from odradek.common.failures import InputError
from odradek.spark.formats.arrow_results import decoded_array
from odradek.spark.formats.protobuf_descriptors import message_class
from odradek.spark.formats.protobuf_format import ProtobufFormat, protobuf, protobuf_decoder, protobuf_encoder
from support.fakes.schema_registry import registry_stub
from support.spark import protobuf_files as made_of

WELL_KNOWN = tuple(f"google/protobuf/{name}.proto" for name in ("timestamp", "duration", "wrappers", "struct", "empty"))


def shop_file() -> Any:
    line = made_of.message(
        "Line", made_of.field("sku", 1, Proto.TYPE_STRING), made_of.field("count", 2, Proto.TYPE_UINT32)
    )
    order = made_of.message(
        "Order",
        made_of.field("id", 1, Proto.TYPE_INT64),
        made_of.field("total", 2, Proto.TYPE_UINT64),
        made_of.field("note", 3, Proto.TYPE_STRING, optional=True),
        made_of.field("state", 4, "shop.State"),
        made_of.field("at", 5, "google.protobuf.Timestamp"),
        made_of.field("took", 6, "google.protobuf.Duration"),
        made_of.field("rating", 7, "google.protobuf.Int32Value"),
        made_of.field("extra", 8, "google.protobuf.Struct"),
        made_of.field("lines", 9, "shop.Order.Line", repeated=True),
        made_of.field("prices", 10, "shop.Order.PricesEntry", repeated=True),
        made_of.field("by_sku", 11, "shop.Order.BySkuEntry", repeated=True),
        made_of.field("raw", 12, Proto.TYPE_BYTES),
        made_of.field("nothing", 13, "google.protobuf.Empty"),
        made_of.field("scores", 14, Proto.TYPE_FLOAT, repeated=True),
        nested=(
            line,
            made_of.map_entry("PricesEntry", Proto.TYPE_STRING, Proto.TYPE_DOUBLE),
            made_of.map_entry("BySkuEntry", Proto.TYPE_INT32, "shop.Order.Line"),
        ),
    )
    first = made_of.message("First", made_of.field("x", 1, Proto.TYPE_INT32))
    states = made_of.enum("State", "NEW", "PAID")
    return made_of.file("shop.proto", "shop", first, order, enums=(states,), imports=WELL_KNOWN)


SHOP = made_of.descriptor_set(shop_file())
COLUMNS = (
    "struct<id:bigint,total:decimal(20,0),note:string,state:string,at:timestamp,took:interval day to second,"
    "rating:int,extra:string,lines:array<struct<sku:string,count:bigint>>,prices:map<string,double>,"
    "by_sku:map<int,struct<sku:string,count:bigint>>,raw:binary,scores:array<float>>"
)
ORDER = {
    "id": "-5",
    "total": str((1 << 64) - 1),
    "note": "",
    "state": "PAID",
    "at": "1969-12-31T23:59:58.500001Z",
    "took": "-1.500001s",
    "rating": 0,
    "extra": {"a": [1.5, None]},
    "lines": [{"sku": "s", "count": (1 << 32) - 1}],
    "prices": {"eur": 1.5},
    "bySku": {"3": {"sku": "t"}},
    "raw": "AQI=",
    "scores": [0.5],
}
ROW = {
    "id": -5,
    "total": Decimal((1 << 64) - 1),
    "note": "",
    "state": "PAID",
    "at": datetime(1969, 12, 31, 23, 59, 58, 500001, tzinfo=UTC),
    "took": timedelta(seconds=-1, microseconds=-500001),
    "rating": 0,
    "extra": '{"a": [1.5, null]}',
    "lines": [{"sku": "s", "count": (1 << 32) - 1}],
    "prices": [("eur", 1.5)],
    "by_sku": [(3, {"sku": "t", "count": 0})],
    "raw": b"\1\2",
    "scores": [0.5],
}
UNSET = {
    **dict.fromkeys(ROW),
    "id": 0,
    "total": Decimal(0),
    "state": "NEW",
    "raw": b"",
    **{name: [] for name in ("lines", "prices", "by_sku", "scores")},
}


def order_bytes(fields: dict[str, Any]) -> bytes:
    written = json_format.ParseDict(fields, message_class(SHOP, "shop.Order")())
    data: bytes = written.SerializeToString(deterministic=True)
    return data


def rows_of(made: ProtobufFormat, values: list[bytes]) -> tuple[list[Any], list[str | None]]:
    decode = protobuf_decoder(made.descriptor_set, made.message, made.framed, made.unknown_fields)
    found = decoded_array(pa.array(values, pa.binary()), decode, to_arrow_type(made.schema(), timezone="UTC"))
    return found.field("data").to_pylist(), found.field("error").to_pylist()


def test_every_type_to_sparks_and_back() -> None:
    made = ProtobufFormat("shop.Order", SHOP)
    assert made.schema().simpleString() == COLUMNS
    data = order_bytes(ORDER)
    assert rows_of(made, [data, b""]) == ([ROW, UNSET], [None, None])
    assert protobuf_encoder(SHOP, "shop.Order", None)(ROW) == data
    assert protobuf_encoder(SHOP, "shop.Order", None)(UNSET) == b""


def test_an_enum_of_a_newer_version_is_its_number() -> None:
    rows, _ = rows_of(ProtobufFormat("shop.Order", SHOP), [b"\x20\x09"])
    assert rows[0]["state"] == "9"
    assert protobuf_encoder(SHOP, "shop.Order", None)({"state": "9"}) == b"\x20\x09"


def test_what_is_no_message_is_refused() -> None:
    made, strict = ProtobufFormat("shop.First", SHOP), ProtobufFormat("shop.First", SHOP, unknown_fields=False)
    good, unknown = b"\x08\x05", b"\x08\x05\x10\x01"
    rows, errors = rows_of(made, [good, unknown, good[:1], b"\xff\xff"])
    assert rows == [{"x": 5}, {"x": 5}, None, None]
    assert [error is not None and error.startswith("not a valid shop.First") for error in errors] == [
        False,
        False,
        True,
        True,
    ]
    rows, errors = rows_of(strict, [good, unknown])
    assert (rows, errors) == ([{"x": 5}, None], [None, "2 bytes of fields that are not in shop.First"])


def test_a_row_that_is_no_message_is_refused() -> None:
    encode = protobuf_encoder(SHOP, "shop.Order", None)
    with pytest.raises(ValueError, match=r"field colour is not in message shop\.Order"):
        encode({"colour": "red"})
    with pytest.raises(ValueError, match=r"LOST is not in enum shop\.State"):
        encode({"state": "LOST"})


def test_a_registrys_schema_and_prefix(tmp_path: Path) -> None:
    common = made_of.file("common.proto", "shop", made_of.message("Money", made_of.field("cents", 1, Proto.TYPE_INT64)))
    bill = made_of.message(
        "Bill",
        made_of.field("total", 1, "shop.Money"),
        nested=(made_of.message("Part", made_of.field("n", 1, Proto.TYPE_INT32)),),
    )
    bills = made_of.file("default", "shop", made_of.message("Other"), bill, imports=("common.proto",))

    def text(file: Any) -> str:
        return base64.b64encode(file.SerializeToString()).decode()

    with registry_stub() as stub:
        stub.register("money", text(common))
        schema_id = stub.register(
            "bills-value", text(bills), ({"name": "common.proto", "subject": "money", "version": 1},)
        )
        made = protobuf("shop.Bill", registry=stub.url, subject="bills-value")
        assert all(asked.endswith("?format=serialized") for asked in stub.asked)
        data = protobuf_encoder(made.descriptor_set, made.message, made.schema_id)({"total": {"cents": 5}})
        assert data == b"\0" + schema_id.to_bytes(4, "big") + b"\2\2" + b"\x0a\x02\x08\x05"
        first = data[:5] + b"\0" + data[7:]
        rows, errors = rows_of(made, [data, first, b"\0\0", b"{}"])
        assert rows == [{"total": {"cents": 5}}, None, None, None]
        assert errors[1] == "message [0] of its schema, but shop.Bill is [1]"
        part = protobuf("shop.Bill.Part", registry=stub.url, subject="bills-value")
        assert protobuf_encoder(part.descriptor_set, part.message, 1)({"n": 1}) == b"\0\0\0\0\1\4\2\0\x08\1"
        path = tmp_path / "shop.desc"
        path.write_bytes(SHOP)
        assert protobuf("shop.First", descriptor_file=path, registry=stub.url).framed


def test_what_cannot_be_a_format(tmp_path: Path) -> None:
    loop = made_of.message("Loop", made_of.field("next", 1, "x.Loop"))
    needy = made_of.file("b.proto", "x", imports=("a.proto",))
    files = {
        "shop": SHOP,
        "loop": made_of.descriptor_set(made_of.file("loop.proto", "x", loop, made_of.message("Hollow"))),
        "needy": made_of.descriptor_set(needy),
        "text": b"syntax = proto3;",
    }
    for name, data in files.items():
        (tmp_path / name).write_bytes(data)
    for name, message, said in (
        ("shop", "Order", "unknown message Order; the messages are shop.First, shop.Order"),
        ("loop", "x.Loop", "x.Loop is recursive"),
        ("loop", "x.Hollow", "no fields"),
        ("needy", "x.Y", "a.proto is imported, but is not in the descriptor set; use protoc --include_imports"),
        ("text", "x.Y", "not a descriptor set"),
        ("none", "x.Y", "No such file"),
    ):
        with pytest.raises(InputError, match=said):
            protobuf(message, descriptor_file=tmp_path / name)
    with pytest.raises(InputError, match="one of descriptor_file and registry with subject"):
        protobuf("x.Y", registry="http://localhost:1")
    with pytest.raises(InputError, match="subject requires a registry"):
        protobuf("shop.Order", descriptor_file=tmp_path / "shop", subject="s")
