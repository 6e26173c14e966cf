"""From bytes that were read to records that are sent."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from odradek.common.failures import InputError


class Outgoing(NamedTuple):
    value: bytes | None = None
    key: bytes | None = None
    headers: tuple[tuple[str, bytes | None], ...] = ()
    partition: int | None = None
    timestamp_ms: int | None = None


@dataclass(frozen=True, slots=True)
class RecordForm:
    """How a record stands in what is read, and what all records have where they say nothing else."""

    common: Outgoing
    key_separator: bytes | None = None
    empty_is_null: bool = False

    def record(self, piece: bytes) -> Outgoing:
        """Raises InputError for a line without its separator."""
        key: bytes | None = self.common.key
        value: bytes | None = piece
        if self.key_separator is not None:
            key, found, value = piece.partition(self.key_separator)
            if not found:
                separator = self.key_separator.decode(errors="backslashreplace")
                raise InputError(f'there is no key: "{separator}" should stand between key and value.')
        if self.empty_is_null:
            key, value = key or None, value or None
        return self.common._replace(value=value, key=key)

    def completed(self, record: Outgoing) -> Outgoing:
        """One that says itself what it has."""
        common = self.common
        return Outgoing(
            record.value,
            common.key if record.key is None else record.key,
            record.headers or common.headers,
            common.partition if record.partition is None else record.partition,
            common.timestamp_ms if record.timestamp_ms is None else record.timestamp_ms,
        )


def unescaped(text: str, option: str) -> bytes:
    r"""Of a separator: \t, \n, \0 and the like mean what they mean elsewhere. Raises InputError."""
    try:
        data = text.encode().decode("unicode_escape").encode("latin-1") if "\\" in text else text.encode()
    except UnicodeError:
        raise InputError(f'{option}: "{text}" cannot be read. Right would be for example "," or "\\t".') from None
    if not data:
        raise InputError(f'{option}: it is empty. Right would be for example "," or "\\t".')
    return data


def numbered(pieces: Sequence[bytes], first: int, path: str, parse: Callable[[bytes], Outgoing]) -> Iterator[Outgoing]:
    """Errors say where it was."""
    for number, piece in enumerate(pieces, first):
        try:
            yield parse(piece)
        except InputError as error:
            raise InputError(f"{path}:{number}: {error}") from None
