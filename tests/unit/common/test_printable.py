"""Text from elsewhere cannot break a line or steer a terminal, in messages, JSON and tracebacks."""

import json
import logging
import sys

import pytest

from odradek.common.log_format import EscapingFormatter
from odradek.common.printable import dump_json, printable, printable_json, traceback_lines

#: NUL, line breaks of all kinds, a terminal's escape sequence, DEL, C1, a direction override, a lone surrogate.
HOSTILE = "a\n2026-01-01 ERROR forged\x00\r\x0b\x0c\x1b[31m\x7f\x85\x9b\u2028\u2029\u202e\u2066\ufeff\ud800z"


@pytest.mark.parametrize("text", ["orders", "Größe 3, «ok»", "日本語", "a\\nb", "😀", "[red]x[/red]"])
def test_printable_text_stays(text: str) -> None:
    assert printable(text) == text


def test_hostile_text_is_one_printable_line() -> None:
    shown = printable(HOSTILE)
    assert shown.isprintable() and shown.splitlines() == [shown]
    assert shown.startswith(r"a\n2026-01-01 ERROR forged\x00\r\x0b\x0c\x1b[31m\x7f\x85\x9b\u2028\u2029\u202e")
    assert shown.endswith(r"\ud800z")


def test_some_characters_may_be_kept() -> None:
    assert printable("a\tb\nc\r", keep="\t\n") == "a\tb\nc\\r"


def test_json_has_no_control_character_and_the_same_value() -> None:
    document = {"id\x7f": HOSTILE}
    for text in (dump_json(document), printable_json(document)):
        assert text.isprintable() and json.loads(text) == document
    assert json.loads(dump_json(document, indent=2)) == document
    assert printable_json("Größe 😀") == '"Größe 😀"'
    assert json.loads(printable_json("\U000e0001")) == "\U000e0001"


def raised(error: BaseException) -> BaseException:
    try:
        raise error
    except type(error) as caught:
        return caught


def test_a_traceback_keeps_its_own_lines_and_escapes_the_texts() -> None:
    first = raised(ValueError(HOSTILE))
    error = RuntimeError("second\nERROR forged")
    error.__cause__ = first
    error.add_note("note\nERROR forged")
    lines = traceback_lines(raised(error))
    assert all(line.isprintable() for line in lines)
    assert not [line for line in lines if line.startswith(("ERROR", "2026"))]
    assert lines[0] == "Traceback (most recent call last):" and lines.count(lines[0]) == 2
    assert lines[-2:] == [r"RuntimeError: second\nERROR forged", r"note\nERROR forged"]


def test_exceptions_that_refer_to_each_other_and_groups_come_to_an_end() -> None:
    one, two = ValueError("one"), KeyError("two")
    one.__context__, two.__context__ = two, one
    assert traceback_lines(one)[-1] == "ValueError: one"
    group = ExceptionGroup("many", [ValueError("a\nb"), group_member()])
    assert r"  | ValueError: a\nb" in traceback_lines(group)


def group_member() -> Exception:
    return ExceptionGroup("inner", [OSError("c\x00d")])


class Unspeakable(Exception):
    def __str__(self) -> str:
        raise ValueError("no text")


def test_an_exception_without_a_text_is_still_reported() -> None:
    assert traceback_lines(Unspeakable())[-1].endswith("Unspeakable: <exception str() failed>")


def test_a_log_line_is_one_line_whatever_its_arguments_hold() -> None:
    try:
        raise ValueError(HOSTILE)
    except ValueError:
        record = logging.LogRecord("odradek.x", logging.ERROR, __file__, 1, "from %s", (HOSTILE,), sys.exc_info())
    message, *trace = EscapingFormatter("%(levelname)s %(message)s").format(record).split("\n")
    assert message == f"ERROR from {printable(HOSTILE)}"
    assert trace[0] == "Traceback (most recent call last):" and trace[-1] == f"ValueError: {printable(HOSTILE)}"
    assert all(line.isprintable() for line in trace)
