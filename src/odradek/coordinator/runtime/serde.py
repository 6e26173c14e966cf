"""Records of the internal topics as bytes, and the batches that they travel in.

A key begins with the type of the record (16 bits), a value with its version; then their fields follow. Types are
numbered by each coordinator for itself, so whoever reads says whose they are: Kafka's module, "group-coordinator",
"transaction-coordinator" or "share-coordinator". What lies behind the last known field is ignored, as Kafka does.
"""

import struct
from collections.abc import Callable, Iterable, Sequence

from odradek.common.failures import ProtocolError
from odradek.common.ports import Buffer
from odradek.coordinator.runtime.shard import NOBODY, CoordinatorRecord, Writer
from odradek.metadata.internal_topics import CONSUMER_OFFSETS, SHARE_GROUP_STATE, TRANSACTION_STATE
from odradek.protocol import codec
from odradek.protocol.message import Message
from odradek.protocol.registry import record_class
from odradek.records.batch import NO_PRODUCER_ID
from odradek.records.builder import BatchBuilder
from odradek.records.compression import Compression
from odradek.records.record import NO_SEQUENCE

#: Nobody checks the sequences of what a coordinator writes; Kafka's number every batch from 0, but this one's not.
_TRANSACTIONS = "transaction-coordinator"
_ALL_BATCHES = 0

#: Whose records the internal topics hold.
_MODULES = {
    CONSUMER_OFFSETS: "group-coordinator",
    TRANSACTION_STATE: _TRANSACTIONS,
    SHARE_GROUP_STATE: "share-coordinator",
}

#: Keys in one batch, half of the million bytes that it may have.
_TOMBSTONES_BYTES = 500_000

_PREFIX = struct.Struct(">h")
_KEY_VERSION = 0

#: By module, type and version, those met so far: a coordinator that loads decodes many records of few kinds.
_DECODERS: dict[tuple[str, str, int, int], Callable[[Buffer, int], tuple[Message, int]]] = {}


class UnknownRecordType(ProtocolError):
    """Left behind by a newer version of the software; it may be skipped."""

    def __init__(self, record_type: int) -> None:
        super().__init__(f"no kind of record has the type {record_type}")
        self.record_type = record_type


def module_of(topic: str) -> str:
    return _MODULES[topic]


def encode_key(record: CoordinatorRecord) -> bytes:
    return _PREFIX.pack(record.key.API_KEY) + codec.encode(record.key, _KEY_VERSION)


def encode_value(record: CoordinatorRecord) -> bytes | None:
    if record.value is None:
        return None
    return _PREFIX.pack(record.value_version) + codec.encode(record.value, record.value_version)


def first_batch(tombstones: Sequence[CoordinatorRecord]) -> tuple[CoordinatorRecord, ...]:
    """Return as many records as one batch can hold: ids have any length, and a rejected batch is rejected again."""
    size_bytes = 0
    for count, tombstone in enumerate(tombstones):
        size_bytes += len(encode_key(tombstone))
        if count and size_bytes > _TOMBSTONES_BYTES:
            return tuple(tombstones[:count])
    return tuple(tombstones)


def decode_record(module: str, key: Buffer | None, value: Buffer | None) -> CoordinatorRecord:
    """Raises `UnknownRecordType`, or ProtocolError for anything else that is no record of the module."""
    if key is None:
        raise ProtocolError("a record of a coordinator has no key")
    record_type = _prefix(key, "key")
    decoded_key = _decode(module, "coordinator-key", record_type, _KEY_VERSION, key)
    if value is None:
        return CoordinatorRecord(decoded_key)
    version = _prefix(value, "value")
    return CoordinatorRecord(decoded_key, _decode(module, "coordinator-value", record_type, version, value), version)


def _prefix(data: Buffer, name: str) -> int:
    if len(data) < _PREFIX.size:
        raise ProtocolError(
            f"the {name} of a coordinator's record has {len(data)} bytes, it begins with {_PREFIX.size}"
        )
    return int(_PREFIX.unpack_from(data)[0])


def _decode(module: str, kind: str, record_type: int, version: int, data: Buffer) -> Message:
    decoder = _DECODERS.get((module, kind, record_type, version))
    if decoder is None:
        try:
            key_class = record_class(kind, module, record_type)
        except KeyError:
            raise UnknownRecordType(record_type) from None
        first, last = key_class.VERSIONS
        if not first <= version <= last:
            raise ProtocolError(f"{key_class.__name__} has versions {first} to {last}, not {version}")
        decoder = _DECODERS[module, kind, record_type, version] = codec.decoder(key_class, version)
    return decoder(data, _PREFIX.size)[0]


def build_batch(
    module: str,
    records: Iterable[CoordinatorRecord],
    wall_ms: int,
    writer: Writer = NOBODY,
    compression: Compression = Compression.NONE,
) -> bytes:
    builder = BatchBuilder(
        compression=compression,
        producer_id=writer.producer_id,
        producer_epoch=writer.producer_epoch,
        base_sequence=NO_SEQUENCE if module == _TRANSACTIONS else _ALL_BATCHES,
        is_transactional=writer.producer_id != NO_PRODUCER_ID,
    )
    for record in records:
        builder.append(wall_ms, encode_key(record), encode_value(record))
    return builder.build()
