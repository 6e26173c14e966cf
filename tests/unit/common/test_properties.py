"""Java's .properties files."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from odradek.common.failures import InputError
from odradek.common.properties import Duplicate, format_properties, parse_properties

TEXT = st.text(st.characters(exclude_categories=("Cs",)), max_size=12)

#: What `java.util.Properties.load` of JDK 17 makes of these.
CASES = [
    ("a=1", {"a": "1"}),
    ("a:1", {"a": "1"}),
    ("a 1", {"a": "1"}),
    ("a \t= 1", {"a": "1"}),
    ("a = : 1", {"a": ": 1"}),
    ("  a=1  ", {"a": "1  "}),
    ("a", {"a": ""}),
    ("a=", {"a": ""}),
    ("=1", {"": "1"}),
    ("# a=1\n  ! b=2\nc=3", {"c": "3"}),
    ("# a=1 \\\nb=2", {"b": "2"}),
    ("a=1,\\\n   2,\\\n\t3", {"a": "1,2,3"}),
    ("a=1\\\n# no comment", {"a": "1# no comment"}),
    ("a=1\\\\\nb=2", {"a": "1\\", "b": "2"}),
    ("a=1\\\n\nb=2", {"a": "1", "b": "2"}),
    ("a\\ b\\=c\\:d=1", {"a b=c:d": "1"}),
    ("a=\\t\\n\\r\\f\\q\\\\", {"a": "\t\n\r\fq\\"}),
    ("a=\\u00e9\\u20AC", {"a": "é€"}),
    ("a=\\ud83d\\ude00", {"a": "😀"}),
    ("a=1\r\nb=2\rc=3", {"a": "1", "b": "2", "c": "3"}),
    ("path=C\\:\\\\logs", {"path": "C:\\logs"}),
    ("a=1\\", {"a": "1"}),
    ("\n\n \t\f\n", {}),
    ("\\\n# comment\na=1", {"a": "1"}),
    ("a=1\n\\", {"a": "1", "": ""}),
]


@pytest.mark.parametrize(("text", "expected"), CASES)
def test_reads_as_java_does(text: str, expected: dict[str, str]) -> None:
    assert parse_properties(text, "p").values == expected


def test_lines_are_those_where_a_key_begins() -> None:
    properties = parse_properties("# head\n\na=1\\\n  2\nb=3\n", "p")
    assert properties.lines == {"a": 3, "b": 5}


def test_the_last_of_a_doubled_key_counts_and_is_reported() -> None:
    properties = parse_properties("a=1\nb=2\na=3\na=4", "p")
    assert properties.values["a"] == "4"
    assert properties.duplicates == [Duplicate("a", 1, 3), Duplicate("a", 3, 4)]


def test_a_broken_escape_is_told_with_file_and_line() -> None:
    with pytest.raises(
        InputError, match=r'^server\.properties:2: "\\u12g4": \\u is followed by four hexadecimal digits'
    ):
        parse_properties("a=1\nb=\\u12g4", "server.properties")


def test_a_complaint_about_a_value_names_its_place() -> None:
    properties = parse_properties("\nnode.id=x", "meta.properties")
    assert str(properties.error("node.id", "wrong")) == "meta.properties:2: node.id: wrong"
    assert str(properties.error("other", "missing")) == "meta.properties: other: missing"


def test_writes_as_java_does() -> None:
    values = {"a b": " c d", "e=f:g": "#h!\t\n\\", "i": "é"}
    assert format_properties(values, ("", "now"), escape_unicode=True) == (
        "#\n#now\na\\ b=\\ c d\ne\\=f\\:g=\\#h\\!\\t\\n\\\\\ni=\\u00E9\n"
    )
    assert format_properties({"i": "é😀"}) == "i=é😀\n"
    assert format_properties({"i": "😀"}, escape_unicode=True) == "i=\\uD83D\\uDE00\n"


@given(st.dictionaries(TEXT, TEXT, max_size=6), st.booleans())
def test_what_is_written_is_read_again(values: dict[str, str], escape_unicode: bool) -> None:
    properties = parse_properties(format_properties(values, escape_unicode=escape_unicode), "p")
    assert properties.values == values
    assert properties.duplicates == []


@given(st.text())
def test_any_text_gives_properties_or_a_complaint(text: str) -> None:
    try:
        parse_properties(text, "p")
    except InputError as error:
        assert str(error).startswith("p:")
