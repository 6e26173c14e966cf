"""One record, as the formats of all three generations agree on it."""

from enum import IntEnum
from typing import NamedTuple

NO_TIMESTAMP = -1
NO_SEQUENCE = -1

_SEQUENCE_MODULUS = 1 << 31


class TimestampType(IntEnum):
    """Origin of a record's timestamp. `NONE` is the oldest format (magic 0), whose records carry no time."""

    NONE = -1
    CREATE_TIME = 0
    LOG_APPEND_TIME = 1


class Header(NamedTuple):
    """Kafka calls the key a string but checks nothing: bytes that are no UTF-8 survive as lone surrogates."""

    key: str
    value: bytes | None


class Record(NamedTuple):
    """Key and value are copies of their own: a record may outlive the buffer it came from.

    A named tuple, since nothing else is made as often: half the cost of an object with slots."""

    offset: int
    timestamp: int
    timestamp_type: TimestampType
    key: bytes | None
    value: bytes | None
    headers: tuple[Header, ...] = ()
    sequence: int = NO_SEQUENCE


def add_to_sequence(sequence: int, steps: int) -> int:
    """Sequence numbers of a producer run from 0 to 2^31 - 1 and start over."""
    return (sequence + steps) % _SEQUENCE_MODULUS
