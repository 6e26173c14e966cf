"""Java's .properties files, read and written as Java does, with the line of every key.

A logical line is a key, a separator (`=`, `:` or spaces) and a value. A line that ends in an odd number of backslashes
goes on in the next one, whose leading spaces do not count. `#` or `!` in front makes a comment, which never goes on.
`\\t`, `\\n`, `\\r`, `\\f` and `\\uXXXX` are what they are elsewhere; a backslash before anything else is dropped. Bytes
are ISO-8859-1, since that is how Kafka loads its files. Of a key that comes twice the last value counts; `duplicates`
says so, for somebody to be told.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from odradek.common.failures import InputError
from odradek.common.ports import FileSystem

_SPACE = " \t\f"
_LINE_END = re.compile(r"\r\n|\n|\r")
_TRAILING_BACKSLASHES = re.compile(r"\\*\Z")
_HEX = re.compile(r"[0-9a-fA-F]{4}", re.ASCII)
_ESCAPES = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}
_ESCAPED = {"\t": "\\t", "\n": "\\n", "\r": "\\r", "\f": "\\f"}
_UNICODE_DIGITS = 4


class Duplicate(NamedTuple):
    """A key that was given again: the earlier value, on `earlier_line`, does not count."""

    key: str
    earlier_line: int
    line: int


class Properties:
    """Keys and values of one file; `lines` says where each key's last value stands."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.values: dict[str, str] = {}
        self.lines: dict[str, int] = {}
        self.duplicates: list[Duplicate] = []

    def get(self, key: str, default: str | None = None) -> str | None:
        return self.values.get(key, default)

    def error(self, key: str, what: str) -> InputError:
        """The complaint about the value of `key`, with its place."""
        line = self.lines.get(key)
        where = self.path if line is None else f"{self.path}:{line}"
        return InputError(f"{where}: {key}: {what}")

    def put(self, key: str, value: str, line: int) -> None:
        if key in self.lines:
            self.duplicates.append(Duplicate(key, self.lines[key], line))
        self.values[key] = value
        self.lines[key] = line


def read_properties(files: FileSystem, path: str) -> Properties:
    return parse_properties(files.read_file(path).decode("iso-8859-1"), path)


def parse_properties(text: str, path: str) -> Properties:
    """`path` is for messages. Raises InputError for a `\\u` without four hexadecimal digits."""
    properties = Properties(path)
    for number, line in _logical_lines(text):
        key_end = _key_end(line)
        rest = line[key_end:].lstrip(_SPACE)
        if rest[:1] in ("=", ":"):
            rest = rest[1:].lstrip(_SPACE)
        where = f"{path}:{number}"
        properties.put(_unescape(line[:key_end], where), _unescape(rest, where), number)
    return properties


def format_properties(values: Mapping[str, str], comments: Iterable[str] = (), *, escape_unicode: bool = False) -> str:
    """The text of a file, in the order of `values`. With `escape_unicode` it is pure ASCII."""
    lines = [f"#{comment}" for comment in comments]
    lines += [f"{_escape(key, True, escape_unicode)}={_escape(values[key], False, escape_unicode)}" for key in values]
    return "".join(f"{line}\n" for line in lines)


def _logical_lines(text: str) -> Iterator[tuple[int, str]]:
    """Each with the number of its first line; comments and blank lines left out. A line of one backslash joins nothing
    to the next one, which is looked at as if it were the first."""
    joined, start = "", 0
    natural_lines = _LINE_END.split(text)
    for number, natural in enumerate(natural_lines, start=1):
        line = natural.lstrip(_SPACE)
        if not joined:
            if not line or line[0] in "#!":
                continue
            start = number
        trailing = _TRAILING_BACKSLASHES.search(line)
        if trailing is None or len(trailing[0]) % 2 == 0:
            yield start, joined + line
            joined = ""
        elif number < len(natural_lines):
            joined += line[:-1]
        else:
            yield start, joined + line[:-1]


def _key_end(line: str) -> int:
    at = 0
    while at < len(line):
        if line[at] == "\\":
            at += 2
            continue
        if line[at] in "=:" or line[at] in _SPACE:
            return at
        at += 1
    return len(line)


def _unescape(text: str, where: str) -> str:
    if "\\" not in text:
        return text
    parts: list[str] = []
    at = 0
    while at < len(text):
        char = text[at]
        at += 1
        if char == "\\" and at < len(text):
            char = text[at]
            at += 1
            if char == "u":
                digits = text[at : at + _UNICODE_DIGITS]
                if not _HEX.fullmatch(digits):
                    raise InputError(f'{where}: "\\u{digits}": \\u is followed by four hexadecimal digits.')
                char = chr(int(digits, 16))
                at += _UNICODE_DIGITS
            else:
                char = _ESCAPES.get(char, char)
        elif char == "\\":
            break
        parts.append(char)
    # Characters beyond the first plane are written as two halves.
    return "".join(parts).encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")


def _escape(text: str, is_key: bool, escape_unicode: bool) -> str:
    parts: list[str] = []
    for at, char in enumerate(text):
        if char in "\\=:#!" or (char == " " and (is_key or at == 0)):
            parts.append("\\" + char)
        elif char in _ESCAPED:
            parts.append(_ESCAPED[char])
        elif escape_unicode and not " " <= char <= "~":
            encoded = char.encode("utf-16-be", "surrogatepass").hex().upper()
            parts += [f"\\u{encoded[i : i + 4]}" for i in range(0, len(encoded), 4)]
        else:
            parts.append(char)
    return "".join(parts)
