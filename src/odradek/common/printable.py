"""Text from elsewhere (names, client ids, error messages, exceptions) made safe for a log or a terminal.

What would break a line, steer a terminal or hide what is written is shown escaped as in Python's literals: control
characters of ASCII and of Unicode, DEL, line and paragraph separators, marks that change the direction of text,
surrogates. A backslash stays as it is: the escaped text is for reading, not for parsing.
"""

import json
import traceback
from collections.abc import Iterator

_CAUSED = "The above exception was the direct cause of the following exception:"
_DURING = "During handling of the above exception, another exception occurred:"


def printable(text: str, keep: str = "") -> str:
    """`keep` are characters that stay although they are not printable, such as a tabulator."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() or char in keep else _escaped(char) for char in text)


def dump_json(document: object, indent: int | None = None) -> str:
    """JSON in ASCII without control characters; `json` leaves DEL as it is."""
    return json.dumps(document, indent=indent).replace("\x7f", "\\u007f")


def printable_json(document: object, indent: int | None = None) -> str:
    """JSON for people: letters of all alphabets as they are, anything that is not printable in JSON's own escapes."""
    text = json.dumps(document, ensure_ascii=False, indent=indent)
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() or char == "\n" else _escaped_json(char) for char in text)


def traceback_lines(error: BaseException) -> list[str]:
    """Lines as `traceback` has them, where the texts of exceptions are escaped and only the lines of code are ours."""
    return list(_chain(error, set()))


def _chain(error: BaseException, seen: set[int]) -> Iterator[str]:
    """The exception after those that it was raised from; each once, since they may refer to each other."""
    seen.add(id(error))
    earlier = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    if earlier is not None and id(earlier) not in seen:
        yield from _chain(earlier, seen)
        yield _CAUSED if error.__cause__ is not None else _DURING
    if error.__traceback__ is not None:
        yield "Traceback (most recent call last):"
        for frame in traceback.format_tb(error.__traceback__):
            yield from (printable(line, keep="\t") for line in frame.splitlines())
    yield _summary(error)
    for note in getattr(error, "__notes__", ()):
        yield printable(str(note))
    if isinstance(error, BaseExceptionGroup):
        for member in error.exceptions:
            if id(member) not in seen:
                yield from (f"  | {line}" for line in _chain(member, seen))


def _summary(error: BaseException) -> str:
    kind = type(error)
    name = kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"
    try:
        text = str(error)
    except Exception:  # noqa: BLE001  whatever it is, it must not replace the error that is reported
        text = "<exception str() failed>"
    return printable(f"{name}: {text}" if text else name)


def _escaped_json(char: str) -> str:
    units = char.encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{units[index : index + 4]}" for index in range(0, len(units), 4))


def _escaped(char: str) -> str:
    return char.encode("unicode_escape").decode()
