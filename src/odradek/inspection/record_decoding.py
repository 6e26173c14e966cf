"""Records that Kafka writes for itself, in words: the metadata log, the coordinators' topics, control records.

A metadata record's value is a frame: frame version, kind and version as unsigned varints, then the message. A record
of a coordinator has its kind as two bytes before the key's message, and the version as two bytes before the value's.
"""

import struct
from collections.abc import Callable
from functools import cache
from typing import Any

from odradek.common.failures import ApiError, ProtocolError
from odradek.protocol import codec, json_form, registry
from odradek.protocol.message_index import MESSAGES
from odradek.records.batch import Record
from odradek.records.control import ControlType, control_type

Decoder = Callable[[Record], dict[str, Any]]

_SHORT = struct.Struct(">h")
_FRAME_VERSION = 1
_CONTINUED = 0x80
_LONGEST_VARINT = 5

#: Topic -> the part of Kafka that writes it.
_COORDINATORS = {
    "__consumer_offsets": "group-coordinator",
    "__transaction_state": "transaction-coordinator",
    "__share_group_state": "share-coordinator",
}

_CONTROL_MESSAGES = {
    ControlType.ABORT: "EndTxnMarker",
    ControlType.COMMIT: "EndTxnMarker",
    ControlType.LEADER_CHANGE: "LeaderChangeMessage",
    ControlType.SNAPSHOT_HEADER: "SnapshotHeaderRecord",
    ControlType.SNAPSHOT_FOOTER: "SnapshotFooterRecord",
    ControlType.KRAFT_VERSION: "KRaftVersionRecord",
    ControlType.KRAFT_VOTERS: "VotersRecord",
}


class Undecodable(Exception):
    """The record is not what its topic should hold."""


def decoder_for(topic: str) -> Decoder | None:
    """None for a topic whose records are its users' business."""
    if topic == "__cluster_metadata":
        return decode_metadata
    module = _COORDINATORS.get(topic)
    return None if module is None else lambda record: decode_coordinator(record, module)


def decode_metadata(record: Record) -> dict[str, Any]:
    value = record.value or b""
    frame_version, position = _varint(value, 0)
    if frame_version != _FRAME_VERSION:
        raise Undecodable(f"a frame of version {frame_version}, only {_FRAME_VERSION} is known")
    kind, position = _varint(value, position)
    version, position = _varint(value, position)
    name = _names("metadata", "metadata").get(kind)
    if name is None:
        raise Undecodable(f"no metadata record has the number {kind}")
    return _message(name, version, value[position:])


def decode_coordinator(record: Record, module: str) -> dict[str, Any]:
    """The version of a key is the number of its kind; keys themselves never changed."""
    kind = _short(record.key)
    key_name = _names("coordinator-key", module).get(kind)
    value_name = _names("coordinator-value", module).get(kind)
    if key_name is None or value_name is None:
        raise Undecodable(f"no record of the {module} has the number {kind}")
    key = _message(key_name, 0, (record.key or b"")[_SHORT.size :])
    if record.value is None:
        return {"key": key, "value": None}
    return {"key": key, "value": _message(value_name, _short(record.value), record.value[_SHORT.size :])}


def decode_control(record: Record) -> dict[str, Any]:
    try:
        kind = control_type(record.key)
    except ApiError as error:
        raise Undecodable(error.message) from None
    if kind not in _CONTROL_MESSAGES:
        return {"type": kind.name}
    value = record.value or b""
    name = _CONTROL_MESSAGES[kind]
    if name == "EndTxnMarker":  # its version stands before the message, the others carry theirs inside
        return {**_message(name, _short(value), value[_SHORT.size :]), "type": kind.name}
    return {**_message(name, _short(value), value), "type": kind.name}


@cache
def _names(kind: str, module: str) -> dict[int, str]:
    return {key: name for name, (of_kind, of, key, _, _) in MESSAGES.items() if (of_kind, of) == (kind, module)}


def _message(name: str, version: int, data: bytes) -> dict[str, Any]:
    message_class = registry.message_class(name)
    first, last = message_class.VERSIONS
    if not first <= version <= last:
        raise Undecodable(f"{name} has the versions {first} to {last}, not {version}")
    try:
        message = codec.decode(message_class, version, data)
    except ProtocolError as error:
        raise Undecodable(f"{name} version {version}: {error}") from None
    return {"type": name, "version": version, "data": json_form.to_json(message, version)}


def _short(data: bytes | None) -> int:
    if data is None or len(data) < _SHORT.size:
        raise Undecodable("too short to say what it is")
    return int(_SHORT.unpack_from(data)[0])


def _varint(data: bytes, position: int) -> tuple[int, int]:
    value = 0
    for index, byte in enumerate(data[position : position + _LONGEST_VARINT]):
        value |= (byte & ~_CONTINUED) << (7 * index)
        if not byte & _CONTINUED:
            return value, position + index + 1
    raise Undecodable("its frame is cut short")
