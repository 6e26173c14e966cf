"""Encoding of records in the metadata log: a frame version, the record type, its version, and the body.

The first three are unsigned varints. Record types are Kafka's API keys of metadata records. A record is kept with the
version it was written in, because a snapshot or a log is written for readers of a certain `metadata.version`.
"""

from collections.abc import Callable
from typing import NamedTuple

from odradek.common.failures import ProtocolError
from odradek.common.ports import Buffer
from odradek.protocol import codec
from odradek.protocol.message import Message
from odradek.protocol.primitives import read_uvarint, write_uvarint
from odradek.protocol.registry import record_class

FRAME_VERSION = 1

_FRAME = write_uvarint(FRAME_VERSION)

#: Decoders used so far by type and version: loading a snapshot decodes a hundred thousand records of a few types.
_DECODERS: dict[tuple[int, int], Callable[[Buffer, int], tuple[Message, int]]] = {}

#: Bytes before the body, by type and version.
_PREFIXES: dict[tuple[int, int], bytes] = {}


class MetadataRecord(NamedTuple):
    """A named tuple, not a data class: a snapshot holds a hundred thousand of them."""

    message: Message
    version: int


def encode_record(record: MetadataRecord) -> bytes:
    message, version = record
    type_and_version = (message.API_KEY, version)
    prefix = _PREFIXES.get(type_and_version)
    if prefix is None:
        prefix = _PREFIXES[type_and_version] = _FRAME + write_uvarint(message.API_KEY) + write_uvarint(version)
    return prefix + codec.encode(message, version)


def decode_record(data: Buffer) -> MetadataRecord:
    """Decode one record. Raises ProtocolError unless it is complete and its type and version are known."""
    if len(data) >= 3 and data[0] == FRAME_VERSION and data[1] < 128 and data[2] < 128:
        decoder = _DECODERS.get((data[1], data[2]))
        if decoder is not None:
            message, end = decoder(data, 3)
            if end != len(data):
                raise ProtocolError(f"metadata record: {len(data) - end} bytes are left over")
            return MetadataRecord(message, data[2])
    return _decode_other(data)


def _decode_other(data: Buffer) -> MetadataRecord:
    """Decode the first record of its type and version, one with unusually long varints, or a malformed one."""
    frame, position = read_uvarint(data, 0)
    if frame != FRAME_VERSION:
        raise ProtocolError(f"metadata record: frame version {frame}, expected {FRAME_VERSION}")
    key, position = read_uvarint(data, position)
    version, position = read_uvarint(data, position)
    try:
        message_class = record_class("metadata", "metadata", key)
    except KeyError:
        raise ProtocolError(f"metadata record: no record type has the key {key}") from None
    first, last = message_class.VERSIONS
    if not first <= version <= last:
        raise ProtocolError(f"metadata record: {message_class.__name__} has versions {first} to {last}, not {version}")
    _DECODERS[key, version] = codec.decoder(message_class, version)
    return MetadataRecord(codec.decode(message_class, version, data, position), version)
