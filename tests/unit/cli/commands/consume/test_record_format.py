"""Format strings of `consume`, and lines and JSON of `produce`."""

import json
import re
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from odradek.cli.commands.consume.record_format import compile_format, printable_value_line, value_line
from odradek.cli.commands.consume.record_json import parse_record, record_line
from odradek.cli.commands.produce.record_input import OutputRecord, RecordForm, parse_lines, unescaped
from odradek.client.consumer.record import ConsumerRecord
from odradek.common.failures import InputError
from odradek.records.record import Header, TimestampType


def record(key: bytes | None = b"k", value: bytes | None = b"hello", **headers: bytes | None) -> ConsumerRecord:
    pairs = tuple(Header(name, data) for name, data in headers.items())
    return ConsumerRecord("orders", 3, 42, 1_000, TimestampType.CREATE_TIME, key, value, pairs, 7)


@pytest.mark.parametrize(
    ("form", "written"),
    [
        ("%s\\n", b"hello\n"),
        ("%t/%p %o %T %k: %s", b"orders/3 42 1000 k: hello"),
        ("%S,%K\\t%%\\x41\\\\", b"5,1\t%A\\"),
        ("%h", b"a=1,b=null"),
        ("straße", "straße".encode()),
    ],
)
def test_a_format_string(form: str, written: bytes) -> None:
    assert compile_format(form)(record(a=b"1", b=None)) == written


def test_null_is_told_from_empty_by_its_length() -> None:
    assert compile_format("%s %S %k %K")(record(None, None)) == b"null -1 null -1"
    assert compile_format("%s %S %k %K")(record(b"", b"")) == b" 0  0"


@pytest.mark.parametrize(
    ("form", "said"), [("%q", 'unknown field "%q"'), ("%", 'unknown field "%"'), ("\\q", 'unknown escape "\\q"')]
)
def test_a_wrong_format_string_is_refused(form: str, said: str) -> None:
    with pytest.raises(InputError, match=re.escape(said)):
        compile_format(form)


def test_values_alone_as_they_are_and_for_a_terminal_so_that_nothing_steers_it() -> None:
    raw = record(value=b"\x1b[2J\xff ok")
    assert value_line(raw) == b"\x1b[2J\xff ok\n"
    assert printable_value_line(raw) == b"\\x1b[2J\\xff ok\n"


def test_a_line_of_json_says_all_of_a_record() -> None:
    line = record_line(record(b"\xff", None, source=b"web"))
    assert json.loads(line) == {
        "topic": "orders",
        "partition": 3,
        "offset": 42,
        "timestamp": 1_000,
        "timestamp_type": 1,
        "key": {"hex": "ff"},
        "value": None,
        "headers": [["source", "web"]],
        "leader_epoch": 7,
    }


@given(st.none() | st.binary(), st.none() | st.binary(), st.dictionaries(st.text(), st.none() | st.binary()))
def test_what_consume_writes_produce_reads(
    key: bytes | None, value: bytes | None, headers: dict[str, bytes | None]
) -> None:
    pairs = tuple(Header(name, data) for name, data in headers.items())
    written = ConsumerRecord("orders", 3, 42, 1_000, TimestampType.CREATE_TIME, key, value, pairs, 7)
    assert parse_record(record_line(written).encode()) == OutputRecord(value, key, tuple(headers.items()), 3, 1_000)


def test_json_need_not_say_more_than_a_value_and_may_be_the_value_itself() -> None:
    assert parse_record(b'{"value": {"id": 1}}') == OutputRecord(b'{"id":1}')
    assert parse_record(b'{"value": 5, "headers": {"a": "b"}}') == OutputRecord(b"5", headers=(("a", b"b"),))


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (b"hello", "not valid JSON"),
        (b"[]", "not an object"),
        (b'{"vaule": 1}', 'unknown field "vaule"'),
        (b'{"partition": -1}', '"partition" is -1. Expected an integer of at least 0'),
        (b'{"headers": ["a"]}', '"headers" is not a list of pairs'),
        (b'{"value": {"hex": "f"}}', "'f' is not hexadecimal"),
    ],
)
def test_wrong_json_is_told_with_its_line(line: bytes, said: str) -> None:
    with pytest.raises(InputError, match=re.escape(f"records.jsonl:2: {said}")):
        list(parse_lines([b"{}", line], 1, "records.jsonl", parse_record))


def form(
    common: OutputRecord | None = None, separator: bytes | None = None, *, null: bool = False
) -> Callable[[bytes], OutputRecord]:
    return RecordForm(common or OutputRecord(), separator, null).record


def test_lines() -> None:
    assert form()(b"a:b") == OutputRecord(b"a:b")
    assert form(separator=b":")(b"a:b:c") == OutputRecord(b"b:c", b"a")
    assert form(separator=b":", null=True)(b"a:") == OutputRecord(None, b"a")
    common = OutputRecord(None, b"k", (("h", b"x"),), 2, 5)
    assert form(common)(b"a") == OutputRecord(b"a", b"k", (("h", b"x"),), 2, 5)
    with pytest.raises(InputError, match='no key: expected ":" between key and value'):
        form(separator=b":")(b"abc")


def test_what_a_line_says_itself_counts_more() -> None:
    common = RecordForm(OutputRecord(None, b"k", (("h", b"x"),), 2, 5))
    assert common.with_defaults(OutputRecord(b"v")) == OutputRecord(b"v", b"k", (("h", b"x"),), 2, 5)
    own = OutputRecord(b"v", b"", (("i", None),), 0, 0)
    assert common.with_defaults(own) == own


def test_separators() -> None:
    assert [unescaped(text, "-K") for text in (":", "\\t", "\\0", "::", "→")] == [
        b":",
        b"\t",
        b"\0",
        b"::",
        "→".encode(),
    ]
    for wrong in ("", "\\xZZ"):
        with pytest.raises(InputError, match="-K"):
            unescaped(wrong, "-K")
