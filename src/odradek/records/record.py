"""One record, as the formats of all three generations agree on it."""

from enum import IntEnum
from typing import NamedTuple

NO_TIMESTAMP = -1
NO_SEQUENCE = -1

_SEQUENCE_MODULUS = 1 << 31


class TimestampType(IntEnum):
    """Who stamped a record. `NONE` is the oldest format (magic 0), whose records carry no time."""

    NONE = -1
    CREATE_TIME = 0
    LOG_APPEND_TIME = 1


class Header(NamedTuple):
    """Kafka calls the key a string but checks nothing: bytes that are no UTF-8 survive as lone surrogates."""

    key: str
    value: bytes | None


class Record:
    """Key and value are copies of their own: a record may outlive the buffer it came from."""

    __slots__ = ("headers", "key", "offset", "sequence", "timestamp", "timestamp_type", "value")

    def __init__(
        self,
        offset: int,
        timestamp: int,
        timestamp_type: TimestampType,
        key: bytes | None,
        value: bytes | None,
        headers: tuple[Header, ...] = (),
        sequence: int = NO_SEQUENCE,
    ) -> None:
        self.offset = offset
        self.timestamp = timestamp
        self.timestamp_type = timestamp_type
        self.key = key
        self.value = value
        self.headers = headers
        self.sequence = sequence

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Record):
            return NotImplemented
        return all(getattr(self, name) == getattr(other, name) for name in Record.__slots__)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        stamp = f"{self.timestamp} {self.timestamp_type.name}"
        return f"Record({self.offset}, {stamp}, {self.key!r}: {self.value!r}, {self.headers}, sequence {self.sequence})"


def add_to_sequence(sequence: int, steps: int) -> int:
    """Sequence numbers of a producer run from 0 to 2^31 - 1 and start over."""
    return (sequence + steps) % _SEQUENCE_MODULUS
