"""Read the small files of a data directory for showing and checking: indexes, producer snapshots, quorum state.

The log itself reads these lazily and repairs what it can; here nothing is repaired, and a flaw is a `DamagedFile`
that names the place. Index files of a running node are preallocated: the zeros behind the last entry are no entries.
"""

import json
import struct
from collections.abc import Iterator
from typing import Any

from odradek.common.failures import ApiError, ProtocolError
from odradek.inspection.damaged_walk import used_bytes
from odradek.inspection.safe_reading import as_damage, mapped, read_whole
from odradek.log.errors import CorruptIndex, CorruptSnapshot, DamagedFile
from odradek.log.offsets import AbortedTxn, OffsetPosition, TimestampOffset
from odradek.records.crc import crc32c

_OFFSET_ENTRY = struct.Struct(">ii")
_TIME_ENTRY = struct.Struct(">qi")
_TXN_ENTRY = struct.Struct(">hqqqq")
_SNAPSHOT_HEADER = struct.Struct(">hI")
_SNAPSHOT_VERSION = 1
_TXN_VERSION = 0


def read_offset_index(path: str, base_offset: int) -> Iterator[OffsetPosition]:
    for relative, position in _entries(path, _OFFSET_ENTRY):
        yield OffsetPosition(base_offset + relative, position)


def read_time_index(path: str, base_offset: int) -> Iterator[TimestampOffset]:
    for timestamp, relative in _entries(path, _TIME_ENTRY):
        yield TimestampOffset(timestamp, base_offset + relative)


def read_txn_index(path: str) -> list[AbortedTxn]:
    data = read_whole(path)
    _check_size(path, len(data), _TXN_ENTRY.size)
    aborted = []
    for position in range(0, len(data), _TXN_ENTRY.size):
        version, *fields = _TXN_ENTRY.unpack_from(data, position)
        if version > _TXN_VERSION:
            raise CorruptIndex(path, position, f"an entry of version {version}, only {_TXN_VERSION} is known")
        aborted.append(AbortedTxn(*fields))
    return aborted


def read_producer_snapshot(path: str) -> list[Any]:
    """The entries of a `ProducerSnapshot`, one per producer."""
    from odradek.protocol import codec
    from odradek.protocol.messages.producer_snapshot import ProducerSnapshot

    data = read_whole(path)
    if len(data) < _SNAPSHOT_HEADER.size:
        raise CorruptSnapshot(path, 0, f"{len(data)} bytes are too few for a snapshot")
    version, crc = _SNAPSHOT_HEADER.unpack_from(data)
    if version != _SNAPSHOT_VERSION:
        raise CorruptSnapshot(path, 0, f"version {version}, only {_SNAPSHOT_VERSION} is known")
    computed = crc32c(data[_SNAPSHOT_HEADER.size :])
    if computed != crc:
        raise CorruptSnapshot(path, 2, f"stored CRC {crc:#010x}, computed {computed:#010x}")
    try:
        return list(codec.decode(ProducerSnapshot, version, data, 2).producer_entries)
    except ProtocolError as error:
        raise CorruptSnapshot(path, None, str(error)) from None


def read_quorum_state(path: str) -> dict[str, Any]:
    """The JSON as it is in the file, once it has proved to be a quorum state."""
    from odradek.protocol import json_form
    from odradek.protocol.errors import InvalidMessage
    from odradek.protocol.messages.quorum_state_data import QuorumStateData

    with as_damage(path):
        document = json.loads(read_whole(path))
    if not isinstance(document, dict) or type(document.get("data_version")) is not int:
        raise DamagedFile(path, None, 'no quorum state: no object with a "data_version"')
    content = {name: value for name, value in document.items() if name != "data_version"}
    try:
        json_form.from_json(QuorumStateData, document["data_version"], content)
    except (InvalidMessage, ApiError) as error:
        raise DamagedFile(path, None, f"no quorum state: {error}") from None
    return document


def _check_size(path: str, size_bytes: int, entry_bytes: int) -> None:
    if size_bytes % entry_bytes:
        raise CorruptIndex(path, size_bytes, f"{size_bytes} bytes are no multiple of the {entry_bytes} of an entry")


def _entries(path: str, entry: struct.Struct) -> Iterator[tuple[int, int]]:
    """Up to the last entry that is not all zeros; the very first one may be."""
    with mapped(path) as view:
        _check_size(path, len(view), entry.size)
        used = used_bytes(view)
        used += -used % entry.size
        first_is_zero = not used and len(view) == entry.size
        yield from entry.iter_unpack(view[: entry.size if first_is_zero else used])
