"""Records of the metadata log as bytes: a frame version, the kind, the version of the kind, and the body.

The first three are unsigned varints. Kinds are Kafka's API keys of metadata records. A record travels with the version
it was written in, because a snapshot or a log is written for readers of a certain `metadata.version`.
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

#: Those met so far by key and version: loading a snapshot decodes a hundred thousand records of a few kinds.
_DECODERS: dict[tuple[int, int], Callable[[Buffer, int], tuple[Message, int]]] = {}


#: What stands before the body, by key and version.
_PREFIXES: dict[tuple[int, int], bytes] = {}


class MetadataRecord(NamedTuple):
    """A named tuple, not a data class: a snapshot holds a hundred thousand of them."""

    message: Message
    version: int


def encode_record(record: MetadataRecord) -> bytes:
    message, version = record
    kind = (message.API_KEY, version)
    prefix = _PREFIXES.get(kind)
    if prefix is None:
        prefix = _PREFIXES[kind] = _FRAME + write_uvarint(message.API_KEY) + write_uvarint(version)
    return prefix + codec.encode(message, version)


def decode_record(data: Buffer) -> MetadataRecord:
    """Raises ProtocolError for anything but one whole record of a known kind and version."""
    if len(data) >= 3 and data[0] == FRAME_VERSION and data[1] < 128 and data[2] < 128:
        decoder = _DECODERS.get((data[1], data[2]))
        if decoder is not None:
            message, end = decoder(data, 3)
            if end != len(data):
                raise ProtocolError(f"metadata record: {len(data) - end} bytes are left over")
            return MetadataRecord(message, data[2])
    return _decode_other(data)


def _decode_other(data: Buffer) -> MetadataRecord:
    """The first of its kind and version, or one written in an unusual way, or none at all."""
    frame, position = read_uvarint(data, 0)
    if frame != FRAME_VERSION:
        raise ProtocolError(f"metadata record: frame version {frame}, only {FRAME_VERSION} is known")
    key, position = read_uvarint(data, position)
    version, position = read_uvarint(data, position)
    try:
        kind = record_class("metadata", "metadata", key)
    except KeyError:
        raise ProtocolError(f"metadata record: no kind of record has the key {key}") from None
    first, last = kind.VERSIONS
    if not first <= version <= last:
        raise ProtocolError(f"metadata record: {kind.__name__} has versions {first} to {last}, not {version}")
    _DECODERS[key, version] = codec.decoder(kind, version)
    return MetadataRecord(codec.decode(kind, version, data, position), version)
