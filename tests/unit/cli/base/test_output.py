"""Tables, times and bytes as people see them."""

import pytest

from odradek.cli.base.output import UNKNOWN, format_timestamp, table_lines
from odradek.cli.commands.log.show import show_bytes


def test_numbers_to_the_right_and_text_to_the_left() -> None:
    lines = table_lines(("name", "count"), [("a", 5), ("longer", 1000)], None)
    assert lines == ["name    count", "a           5", "longer   1000"]


def test_a_table_without_rows_is_its_headers() -> None:
    assert table_lines(("name", "count"), [], None) == ["name  count"]


def test_on_a_terminal_lines_are_cut_to_its_width() -> None:
    assert table_lines(("name",), [("x" * 30,)], 10) == ["name", "xxxxxxxxx…"]


def test_numbers_are_never_cut_a_row_becomes_a_list() -> None:
    headers = ("name", "start", "index entries")
    assert table_lines(headers, [("plain-0", 12345, 67890)], 24) == [
        "plain-0",
        "  start 12345,",
        "  index entries 67890",
    ]
    assert table_lines(headers, [("plain-0", 12345, UNKNOWN)], 40)[1] == "plain-0  12345              ?"


def test_a_name_that_would_break_the_line_is_escaped() -> None:
    assert table_lines(("name",), [("two\nlines\x1b[2J",)], None)[1] == "two\\nlines\\x1b[2J"


@pytest.mark.parametrize(
    ("timestamp", "said"),
    [
        (0, "1970-01-01 00:00:00.000+00:00"),
        (1_700_000_000_123, "2023-11-14 22:13:20.123+00:00"),
        (-1, "-1"),
        (2**63 - 1, str(2**63 - 1)),
        (-(2**63), str(-(2**63))),
    ],
)
def test_times(timestamp: int, said: str) -> None:
    assert format_timestamp(timestamp, utc=True) == said


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (None, "null"),
        (b"", '""'),
        (b"plain", '"plain"'),
        ("grün".encode(), '"grün"'),
        (b"\x00\x01", "0x0001"),
        (b"\xff", "0xff"),
        (b"tab\t", "0x74616209"),
        (b"a" * 70, '"' + "a" * 64 + '"… (70 bytes)'),
        (b"\xff" * 70, "0x" + "ff" * 64 + "… (70 bytes)"),
        (("a" * 63 + "é" * 4).encode(), '"' + "a" * 63 + '"… (71 bytes)'),
    ],
)
def test_bytes(data: bytes | None, said: str) -> None:
    assert show_bytes(data) == said
