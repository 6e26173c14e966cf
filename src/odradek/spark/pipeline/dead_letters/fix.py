"""Fixes that are applied to a letter before it is sent: nothing, a Python expression, or a function of a file.

An expression sees the names in `expression_names`. A file has a function `fix(letter)`. Both give

    bytes or str        the new value; the rest of the record stays
    letter.record(…)    a record with another value, key, headers, topic, partition or timestamp
    letter              the record as it was
    None                the letter is dropped
    letter.skip()       the letter stays among the dead letters

If they raise an exception, or give anything else, the letter stays among the dead letters, with the error.
"""

import json
import re
import sys
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

from odradek.common.failures import InputError
from odradek.spark.pipeline.dead_letters.letter import FixedRecord, Headers, Letter, Skip

_EXPRESSION = "--fix"


@dataclass(frozen=True, slots=True)
class Send:
    record: FixedRecord


@dataclass(frozen=True, slots=True)
class Drop:
    pass


@dataclass(frozen=True, slots=True)
class Stay:
    #: None: it was not selected, or the fix skipped it.
    error: str | None = None


Decision = Send | Drop | Stay
Fix = Callable[[Letter], Any]


def expression_names(letter: Letter) -> dict[str, Any]:
    return {
        "letter": letter,
        "value": letter.value,
        "key": letter.key,
        "headers": dict(letter.headers),
        "source_topic": letter.source_topic,
        "reason": letter.reason,
        "message": letter.message,
        "json": json,
        "re": re,
    }


def unchanged(letter: Letter) -> Any:
    return letter


def expression_fix(text: str) -> Fix:
    """Raises InputError for what is not a Python expression."""
    try:
        code = compile(text.strip(), _EXPRESSION, "eval")
    except (SyntaxError, ValueError) as error:
        reason = error.msg if isinstance(error, SyntaxError) else str(error)
        raise InputError(f"--fix: {text!r} is not a Python expression: {reason}") from None
    return lambda letter: eval(code, {**expression_names(letter)})


def file_fix(path: str) -> Fix:
    """Raises InputError for a file that cannot be read or run, or has no function fix."""
    spec = spec_from_file_location("odradek_dead_letters_fix", path)
    if not path.endswith(".py") or spec is None or spec.loader is None:
        raise InputError(f"--fix-file: {path} is not a Python file (.py)")
    module = module_from_spec(spec)
    sys.path.insert(0, str(Path(path).resolve().parent))
    try:
        spec.loader.exec_module(module)
    except FileNotFoundError:
        raise InputError(f"--fix-file: there is no file {path}") from None
    except SyntaxError as error:
        raise InputError(f"{path}:{error.lineno}: {error.msg}") from None
    except Exception as error:
        raise InputError(f"{path} cannot be run: {_described(error)}") from error
    fix = getattr(module, "fix", None)
    if not callable(fix):
        raise InputError(f"{path} has no function fix(letter)")
    return fix  # type: ignore[no-any-return]


def decide(fix: Fix, letter: Letter, to: str | None) -> Decision:
    """`to`: the topic for all letters whose fix does not name another one; None for where they came from."""
    try:
        result = fix(letter)
        if result is None:
            return Drop()
        if isinstance(result, Skip):
            return Stay()
        record = _as_record(letter, result, to)
    except Exception as error:  # noqa: BLE001 - the user's code may raise anything; it concerns this letter
        return Stay(_described(error))
    return Send(record)


def _as_record(letter: Letter, result: Any, to: str | None) -> FixedRecord:
    if isinstance(result, Letter):
        result = result.record()
    elif isinstance(result, bytes | str):
        result = letter.record(value=result)
    elif not isinstance(result, FixedRecord):
        raise TypeError(
            f"the fix gives {type(result).__name__}; bytes, str, letter.record(…), letter, None or letter.skip() is "
            "expected"
        )
    return _checked(_to_topic(letter, result, to))


def _to_topic(letter: Letter, record: FixedRecord, to: str | None) -> FixedRecord:
    if to is None or record.topic not in (None, letter.source_topic):
        return record
    partition = record.partition if to == letter.source_topic else None
    return FixedRecord(to, record.value, record.key, record.headers, partition, record.timestamp_ms)


def _checked(record: FixedRecord) -> FixedRecord:
    if record.topic is None:
        raise ValueError("the headers of the letter do not say which topic it came from; use --to TOPIC")
    for name, data in (("value", record.value), ("key", record.key)):
        if not isinstance(data, bytes | None):
            raise TypeError(f"the {name} of a record is bytes or None, not {type(data).__name__}")
    if not _are_headers(record.headers):
        raise TypeError("headers are pairs of a name (str) and a value (bytes or None)")
    return record


def _are_headers(headers: Headers) -> bool:
    return all(
        isinstance(pair, tuple | list)
        and len(pair) == 2
        and isinstance(pair[0], str)
        and isinstance(pair[1], bytes | None)
        for pair in headers
    )


def _described(error: Exception) -> str:
    """The exception with the line of the user's code where it was raised, if it was raised in a file."""
    frames = traceback.extract_tb(error.__traceback__)
    location = next((f" ({frame.filename}:{frame.lineno})" for frame in reversed(frames) if _is_users(frame)), "")
    return f"{type(error).__name__}: {error}{location}"


def _is_users(frame: traceback.FrameSummary) -> bool:
    return frame.filename not in (__file__, _EXPRESSION) and "importlib" not in frame.filename
