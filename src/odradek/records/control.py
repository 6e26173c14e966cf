"""Control batches: each holds one record for the log itself, which applications never see.

Its key is a version (2 bytes) and a type (2 bytes), its value a message that begins with its version. This module
defines the types, and the one value that the log reads: the end of a transaction. `raft` encodes the values of its own
control records.
"""

import struct
from enum import IntEnum
from typing import NamedTuple

from odradek.common.failures import check
from odradek.records.batch import Batch
from odradek.records.errors import InvalidRecord

_KEY = struct.Struct(">hh")
_MARKER = struct.Struct(">hi")
_VERSION = 0


class ControlType(IntEnum):
    """`UNKNOWN` stands for all later types: they are skipped, not refused."""

    UNKNOWN = -1
    ABORT = 0
    COMMIT = 1
    LEADER_CHANGE = 2
    SNAPSHOT_HEADER = 3
    SNAPSHOT_FOOTER = 4
    KRAFT_VERSION = 5
    KRAFT_VOTERS = 6


class EndTransaction(NamedTuple):
    """Content of a transaction marker; the producer is the batch's."""

    committed: bool
    coordinator_epoch: int


def control_type(key: bytes | None) -> ControlType:
    """Return the type of a control record from its key. A later version of the key begins like the first one."""
    if key is None or len(key) < _KEY.size:
        raise InvalidRecord(
            f"the key of a control record has {_KEY.size} bytes or more, not {0 if key is None else len(key)}"
        )
    version, number = _KEY.unpack_from(key)
    if version < _VERSION:
        raise InvalidRecord(f"the key of a control record has version {version}")
    return ControlType(number) if 0 <= number <= ControlType.KRAFT_VOTERS else ControlType.UNKNOWN


def read_end_transaction(batch: Batch) -> EndTransaction | None:
    """The marker in a control batch, or None if it holds something else (or nothing: the cleaner emptied it)."""
    for record in batch.records():
        kind = control_type(record.key)
        if kind not in (ControlType.ABORT, ControlType.COMMIT):
            return None
        value = record.value
        if value is None or len(value) < _MARKER.size:
            raise InvalidRecord(f"the end of a transaction at offset {record.offset} has no coordinator epoch")
        version, epoch = _MARKER.unpack_from(value)
        if version < _VERSION:
            raise InvalidRecord(f"the end of a transaction at offset {record.offset} has version {version}")
        return EndTransaction(kind == ControlType.COMMIT, epoch)
    return None


def control_key(kind: ControlType) -> bytes:
    check(kind != ControlType.UNKNOWN, "an unknown control record cannot be written")
    return _KEY.pack(_VERSION, kind)


def end_transaction_value(coordinator_epoch: int) -> bytes:
    return _MARKER.pack(_VERSION, coordinator_epoch)
