"""Fixes of dead letters: expressions and files, and what becomes of a letter by what they give."""

from pathlib import Path

import pytest

from odradek.common.failures import InputError
from odradek.spark.pipeline.dead_letters.fix import Decision, Drop, Send, Stay, decide, expression_fix, file_fix
from odradek.spark.pipeline.dead_letters.letter import Letter

LETTER = Letter(
    topic="orders.dead",
    partition=0,
    offset=5,
    timestamp_ms=42,
    key=b"k",
    value=b'{"amount": "3,5"}',
    headers=(("source", b"web"),),
    source_topic="orders",
    source_partition=2,
    reason="undecodable",
)


def decided(expression: str, to: str | None = None) -> Decision:
    return decide(expression_fix(expression), LETTER, to)


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("""value.replace(b'"3,5"', b"3.5")""", b'{"amount": 3.5}'),
        ("""json.dumps({**json.loads(value), "id": 1})""", b'{"amount": "3,5", "id": 1}'),
        ("""re.sub(rb'"(\\d+),(\\d+)"', rb"\\1.\\2", value)""", b'{"amount": 3.5}'),
        ("key + headers['source']", b"kweb"),
        ("letter", b'{"amount": "3,5"}'),
        (" 'x' if reason == 'undecodable' and source_topic == 'orders' else None ", b"x"),
    ],
)
def test_values(expression: str, value: bytes) -> None:
    decision = decided(expression)
    assert isinstance(decision, Send)
    record = decision.record
    assert (record.topic, record.partition, record.key, record.value) == ("orders", 2, b"k", value)


def test_other_results() -> None:
    assert decided("None") == Drop()
    assert decided("letter.skip()") == Stay()
    moved = decided("letter.record(topic='elsewhere', key=b'x')", to="ignored")
    assert isinstance(moved, Send) and (moved.record.topic, moved.record.key) == ("elsewhere", b"x")
    to = decided("value", to="elsewhere")
    assert isinstance(to, Send) and (to.record.topic, to.record.partition) == ("elsewhere", None)


@pytest.mark.parametrize(
    ("expression", "error"),
    [
        ("1 / 0", "ZeroDivisionError: division by zero"),
        ("valeu", "NameError: name 'valeu' is not defined"),
        ("7", "TypeError: the fix gives int; bytes, str,"),
        ("letter.record(value=7)", "TypeError: the value of a record is bytes or None, not int"),
        ("letter.record(headers={'a': 1})", "TypeError: headers are pairs"),
    ],
)
def test_a_letter_stays_with_the_error(expression: str, error: str) -> None:
    decision = decided(expression)
    assert isinstance(decision, Stay) and decision.error is not None and decision.error.startswith(error)


def test_a_letter_from_nowhere_needs_a_topic() -> None:
    letter = Letter(
        topic="a", partition=0, offset=0, timestamp_ms=0, key=None, value=b"v", headers=(), reason="unknown"
    )
    decision = decide(expression_fix("value"), letter, None)
    assert isinstance(decision, Stay) and "use --to TOPIC" in (decision.error or "")
    assert isinstance(decide(expression_fix("value"), letter, "orders"), Send)


@pytest.mark.parametrize("text", ["value.", "import os", "a = 1", "value\0"])
def test_what_is_not_an_expression(text: str) -> None:
    with pytest.raises(InputError, match="is not a Python expression"):
        expression_fix(text)


def test_files(tmp_path: Path) -> None:
    path = tmp_path / "fix.py"
    path.write_text("def fix(letter):\n    if letter.offset == 5:\n        raise ValueError('five')\n    return None\n")
    decision = decide(file_fix(str(path)), LETTER, None)
    assert decision == Stay(f"ValueError: five ({path}:3)")


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("def fix(letter:\n", r"fix\.py:1: "),
        ("import nothing_of_this_name\n", r"fix\.py cannot be run: ModuleNotFoundError"),
        ("fixed = 1\n", r"has no function fix\(letter\)"),
    ],
)
def test_files_with_mistakes(tmp_path: Path, text: str, error: str) -> None:
    path = tmp_path / "fix.py"
    path.write_text(text)
    with pytest.raises(InputError, match=error):
        file_fix(str(path))


def test_files_that_are_not_there(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there is no file"):
        file_fix(str(tmp_path / "fix.py"))
    with pytest.raises(InputError, match="is not a Python file"):
        file_fix(str(tmp_path / "fix.txt"))
