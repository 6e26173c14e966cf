"""Messages by their types, and types that have no extra installed."""

import dataclasses
import json
import sys
from pathlib import Path
from typing import Any, NamedTuple, TypedDict

import msgspec
import pydantic
import pytest
from google.protobuf.timestamp_pb2 import Timestamp

from odradek.common.failures import InputError
from odradek.service.codecs import codec_for, encode_any, split_optional
from odradek.service.codecs_avro import AvroCodec


@dataclasses.dataclass
class DataOrder:
    number: int
    customer: str


class StructOrder(msgspec.Struct):
    number: int
    customer: str


class ModelOrder(pydantic.BaseModel):
    number: int
    customer: str


class DictOrder(TypedDict):
    number: int
    customer: str


class TupleOrder(NamedTuple):
    number: int
    customer: str


ORDER = b'{"number":7,"customer":"K"}'


@pytest.mark.parametrize(
    ("wanted", "data", "value"),
    [
        (bytes, b"\xff", b"\xff"),
        (str, "ä".encode(), "ä"),
        (dict, ORDER, json.loads(ORDER)),
        (dict[str, int], b'{"a":1}', {"a": 1}),
        (list, b"[1,2]", [1, 2]),
        (int, b"7", 7),
        (float, b"7", 7),
        (Any, b"null", None),
        (DataOrder, ORDER, DataOrder(7, "K")),
        (StructOrder, ORDER, StructOrder(7, "K")),
        (ModelOrder, ORDER, ModelOrder(number=7, customer="K")),
        (DictOrder, ORDER, DictOrder(number=7, customer="K")),
        (TupleOrder, b'[7,"K"]', TupleOrder(7, "K")),
        (Timestamp, Timestamp(seconds=7).SerializeToString(), Timestamp(seconds=7)),
    ],
    ids=lambda each: getattr(each, "__name__", None),
)
def test_each_type_reads_and_writes_its_bytes(wanted: Any, data: bytes, value: object) -> None:
    codec = codec_for(wanted)
    assert codec.decode(data) == value
    assert codec.decode(codec.encode(value)) == value
    assert codec.name


@pytest.mark.parametrize(
    ("wanted", "data"),
    [
        (str, b"\xff"),
        (dict, b"[1]"),
        (dict, b"{"),
        (int, b'"7"'),
        (DataOrder, b'{"number":"seven","customer":"K"}'),
        (StructOrder, b"{}"),
        (ModelOrder, b'{"number":[]}'),
        (Timestamp, b"\xff\xff"),
    ],
    ids=lambda each: getattr(each, "__name__", None),
)
def test_what_is_no_such_message(wanted: Any, data: bytes) -> None:
    with pytest.raises(Exception) as raised:
        codec_for(wanted).decode(data)
    assert str(raised.value)


def test_values_are_written_by_the_type_they_have() -> None:
    assert encode_any(None) is None
    assert encode_any({"a": "ä"}) == '{"a":"ä"}'.encode()
    assert encode_any(DataOrder(7, "K")) == ORDER
    assert encode_any(ModelOrder(number=7, customer="K")) == ORDER


def test_a_type_without_a_codec_is_refused() -> None:
    with pytest.raises(InputError, match=r"Path cannot be read.*codec="):
        codec_for(Path)


def test_optional_messages() -> None:
    assert split_optional(DataOrder | None) == (DataOrder, True)
    assert split_optional(DataOrder) == (DataOrder, False)
    with pytest.raises(InputError, match="one type"):
        split_optional(int | str)


@pytest.mark.parametrize(
    ("module", "make", "extra"),
    [
        ("msgspec.json", lambda: codec_for(DataOrder), r"odradek\[service\]"),
        ("fastavro", lambda: AvroCodec({"type": "string"}), r"odradek\[avro\]"),
    ],
)
def test_an_extra_that_is_not_installed_is_named(
    monkeypatch: pytest.MonkeyPatch, module: str, make: Any, extra: str
) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(InputError, match=extra):
        make()


SCHEMA = {
    "type": "record",
    "name": "Order",
    "fields": [{"name": "number", "type": "long"}, {"name": "customer", "type": "string"}],
}


def test_avro_by_a_schema_file(tmp_path: Path) -> None:
    path = tmp_path / "order.avsc"
    path.write_text(json.dumps(SCHEMA))
    codec = AvroCodec(str(path), DataOrder, dataclasses.asdict)
    data = codec.encode(DataOrder(7, "K"))
    assert data == b"\x0e\x02K"  # zigzag 7, length 1, K: as the Avro specification has it
    assert codec.decode(data) == DataOrder(7, "K")
    assert AvroCodec(SCHEMA).decode(data) == {"number": 7, "customer": "K"}
    assert codec.name == "Avro Order"
    for bad in (b"", b"\x0e", data + b"!"):
        with pytest.raises(Exception):  # noqa: B017 - fastavro's own, or ours
            codec.decode(bad)


def test_avro_schemas_that_are_none(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no\.avsc: No such file"):
        AvroCodec(tmp_path / "no.avsc")
    path = tmp_path / "bad.avsc"
    path.write_text("{")
    with pytest.raises(InputError, match="is no Avro schema"):
        AvroCodec(path)
    with pytest.raises(InputError, match="is no Avro schema"):
        AvroCodec({"type": "recrod"})
