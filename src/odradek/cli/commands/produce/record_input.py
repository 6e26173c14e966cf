"""Conversion of input bytes to records."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from odradek.common.failures import InputError


class OutputRecord(NamedTuple):
    """Record to send."""

    value: bytes | None = None
    key: bytes | None = None
    headers: tuple[tuple[str, bytes | None], ...] = ()
    partition: int | None = None
    timestamp_ms: int | None = None


@dataclass(frozen=True, slots=True)
class RecordForm:
    """Format of records in the input, and the default values of their fields."""

    defaults: OutputRecord
    key_separator: bytes | None = None
    empty_is_null: bool = False

    def record(self, line: bytes) -> OutputRecord:
        """Convert a line. Raises InputError if the separator of key and value is missing."""
        key: bytes | None = self.defaults.key
        value: bytes | None = line
        if self.key_separator is not None:
            key, separator_found, value = line.partition(self.key_separator)
            if not separator_found:
                separator = self.key_separator.decode(errors="backslashreplace")
                raise InputError(f'no key: expected "{separator}" between key and value.')
        if self.empty_is_null:
            key, value = key or None, value or None
        return self.defaults._replace(value=value, key=key)

    def with_defaults(self, record: OutputRecord) -> OutputRecord:
        """Return the record with the defaults of missing fields."""
        defaults = self.defaults
        return OutputRecord(
            record.value,
            defaults.key if record.key is None else record.key,
            record.headers or defaults.headers,
            defaults.partition if record.partition is None else record.partition,
            defaults.timestamp_ms if record.timestamp_ms is None else record.timestamp_ms,
        )


def unescaped(text: str, option: str) -> bytes:
    r"""Return a separator with escapes such as \t, \n and \0 replaced. Raises InputError."""
    try:
        data = text.encode().decode("unicode_escape").encode("latin-1") if "\\" in text else text.encode()
    except UnicodeError:
        raise InputError(f'{option}: "{text}" is malformed. Expected for example "," or "\\t".') from None
    if not data:
        raise InputError(f'{option} is empty. Expected for example "," or "\\t".')
    return data


def parse_lines(
    lines: Sequence[bytes], first_number: int, path: str, parse: Callable[[bytes], OutputRecord]
) -> Iterator[OutputRecord]:
    """Yield the record of each line. Raises InputError with the number of the line."""
    for line_number, line in enumerate(lines, first_number):
        try:
            yield parse(line)
        except InputError as error:
            raise InputError(f"{path}:{line_number}: {error}") from None
