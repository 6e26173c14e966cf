r"""Format strings of `consume`, like those of kcat.

%s value, %k key, %h headers, %t topic, %p partition, %o offset, %T timestamp in milliseconds, %S and %K the lengths of
value and key (-1 for null), %% a percent sign; \n, \t, \r, \0, \\ and \xHH have their usual meaning.
"""

import re
from collections.abc import Callable

from odradek.client.consumer.typed_record import ConsumerRecord
from odradek.common.failures import InputError
from odradek.common.printable import printable

Writer = Callable[[ConsumerRecord], bytes]

_NULL = b"null"

_FIELDS: dict[str, Writer] = {
    "s": lambda record: _NULL if record.value is None else record.value,
    "k": lambda record: _NULL if record.key is None else record.key,
    "h": lambda record: b",".join(
        name.encode() + b"=" + (_NULL if data is None else data) for name, data in record.headers
    ),
    "t": lambda record: str(record.topic).encode(),
    "p": lambda record: b"%d" % record.partition,
    "o": lambda record: b"%d" % record.offset,
    "T": lambda record: b"%d" % record.timestamp_ms,
    "S": lambda record: b"%d" % _length(record.value),
    "K": lambda record: b"%d" % _length(record.key),
}

_TOKEN = re.compile(r"%(.?)|\\(x[0-9a-fA-F]{2}|.)", re.DOTALL)
_ESCAPES = {"n": b"\n", "t": b"\t", "r": b"\r", "0": b"\0", "\\": b"\\"}


def compile_format(text: str, *, for_terminal: bool = False) -> Writer:
    """Compile a format string. Raises InputError for an unknown field or escape.

    `for_terminal` escapes control characters of records, but not those of the format itself.
    """
    parts: list[bytes | Writer] = []
    end = 0
    for token in _TOKEN.finditer(text):
        parts.append(text[end : token.start()].encode())
        part = _escape(token[2]) if token[1] is None else _field(token[1])
        parts.append(part if isinstance(part, bytes) or not for_terminal else _for_terminal(part))
        end = token.end()
    parts.append(text[end:].encode())

    def write(record: ConsumerRecord) -> bytes:
        return b"".join(part if isinstance(part, bytes) else part(record) for part in parts)

    return write


def value_line(record: ConsumerRecord) -> bytes:
    return (_NULL if record.value is None else bytes(record.value)) + b"\n"


def printable_value_line(record: ConsumerRecord) -> bytes:
    """Return the value with control characters escaped, for a terminal."""
    return _escaped_bytes(value_line(record))


def _for_terminal(write: Writer) -> Writer:
    return lambda record: _escaped_bytes(write(record))


def _escaped_bytes(data: bytes) -> bytes:
    """Escape control characters but tabs and line breaks: records often are text of several lines."""
    return printable(data.decode(errors="backslashreplace"), keep="\t\n").encode()


def _field(name: str) -> bytes | Writer:
    if name == "%":
        return b"%"
    if name not in _FIELDS:
        fields = ", ".join(f"%{field}" for field in _FIELDS)
        raise InputError(f'-f: unknown field "%{name}". Expected one of {fields}, or %% for a percent sign.')
    return _FIELDS[name]


def _escape(text: str) -> bytes:
    if text.startswith("x") and len(text) > 1:
        return bytes.fromhex(text[1:])
    if text not in _ESCAPES:
        raise InputError(f'-f: unknown escape "\\{text}". Expected one of \\n, \\t, \\r, \\0, \\\\ and \\xHH.')
    return _ESCAPES[text]


def _length(data: bytes | None) -> int:
    return -1 if data is None else len(data)
