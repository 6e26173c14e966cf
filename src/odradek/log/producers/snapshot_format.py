"""The producer snapshot file: what a partition knew of its producers at the offset that the file is named after.

    version 2 (always 1) | CRC-32C 4, of everything after it | count 4 | for each producer:
    producer id 8, epoch 2, last sequence 4, last offset 8, offset delta 4, timestamp 8, coordinator epoch 4,
    first offset of the open transaction 8 (-1: none)

Only the last batch of a producer is kept, so right after a restart only that one is known as a duplicate. The file is
written in place under a name of its own; if a crash cuts it short, the CRC tells, and an older one is used.
"""

import struct
from collections.abc import Iterable

from odradek.common.ports import FileSystem
from odradek.log.errors import CorruptSnapshot
from odradek.log.producers.producer_entry import BatchMetadata, ProducerEntry
from odradek.records.crc import crc32c

SNAPSHOT_VERSION = 1

_HEAD = struct.Struct(">hI")
_COUNT = struct.Struct(">i")
_ENTRY = struct.Struct(">qhiqiqiq")
_ENTRIES_AT = _HEAD.size + _COUNT.size
_NO_OFFSET = -1


def encode_snapshot(entries: Iterable[ProducerEntry]) -> bytes:
    packed = [
        _ENTRY.pack(
            entry.producer_id,
            entry.producer_epoch,
            entry.last_sequence,
            entry.last_data_offset,
            entry.last_offset_delta,
            entry.last_timestamp,
            entry.coordinator_epoch,
            _NO_OFFSET if entry.current_txn_first_offset is None else entry.current_txn_first_offset,
        )
        for entry in entries
    ]
    body = b"".join((_COUNT.pack(len(packed)), *packed))
    return _HEAD.pack(SNAPSHOT_VERSION, crc32c(body)) + body


def decode_snapshot(data: bytes, path: str) -> list[ProducerEntry]:
    """Raises CorruptSnapshot; `path` is for its text."""
    if len(data) < _ENTRIES_AT:
        raise CorruptSnapshot(path, len(data), f"{len(data)} bytes are too few for a snapshot")
    version, crc = _HEAD.unpack_from(data)
    if version != SNAPSHOT_VERSION:
        raise CorruptSnapshot(path, 0, f"version {version} is unknown")
    computed = crc32c(memoryview(data)[_HEAD.size :])
    if computed != crc:
        raise CorruptSnapshot(path, 2, f"stored CRC {crc:#010x}, computed {computed:#010x}")
    (count,) = _COUNT.unpack_from(data, _HEAD.size)
    if count < 0 or _ENTRIES_AT + count * _ENTRY.size > len(data):
        raise CorruptSnapshot(path, _HEAD.size, f"{count} producers do not fit into {len(data)} bytes")
    end = _ENTRIES_AT + count * _ENTRY.size
    return [_entry(fields) for fields in _ENTRY.iter_unpack(memoryview(data)[_ENTRIES_AT:end])]


def read_snapshot(files: FileSystem, path: str) -> list[ProducerEntry]:
    return decode_snapshot(files.read_file(path), path)


def write_snapshot(files: FileSystem, path: str, entries: Iterable[ProducerEntry], *, sync: bool) -> None:
    data = encode_snapshot(entries)
    file = files.open(path, create=True)
    try:
        if file.size() > len(data):
            file.truncate(0)
        file.write(0, data)
        if sync:
            file.sync()
    finally:
        file.close()
    if sync:  # a clean stop relies on the name as well: without a snapshot the next start would know no producer
        files.sync_dir(path.rpartition("/")[0])


def _entry(fields: tuple[int, ...]) -> ProducerEntry:
    producer_id, epoch, last_sequence, last_offset, delta, timestamp, coordinator_epoch, first_offset = fields
    batches = [BatchMetadata(last_sequence, last_offset, delta, timestamp)] if last_offset >= 0 else []
    return ProducerEntry(
        producer_id, epoch, coordinator_epoch, timestamp, first_offset if first_offset >= 0 else None, batches
    )
