"""A record as one line of JSON, out of `consume` and into `produce`.

    {"topic": "orders", "partition": 0, "offset": 7, "timestamp": 1767225600000, "timestamp_type": 1,
     "key": "k", "value": "hello", "headers": [["source", "web"]], "leader_epoch": 0}

Bytes that are text stand there as text, others as `{"hex": "ff00"}`. What is read needs no more than a value; a value
that is neither is sent as its own JSON.
"""

import json
from typing import Any

from odradek.cli.commands.log.show import CLIENT_TIMESTAMP_TYPE
from odradek.cli.commands.produce.record_input import Outgoing
from odradek.client.consumer.typed_record import ConsumerRecord
from odradek.common.failures import InputError
from odradek.common.printable import printable_json

_HEX = "hex"
_KNOWN = ("topic", "partition", "offset", "timestamp", "timestamp_type", "key", "value", "headers", "leader_epoch")


def record_line(record: ConsumerRecord) -> str:
    return printable_json(
        {
            "topic": record.topic,
            "partition": record.partition,
            "offset": record.offset,
            "timestamp": record.timestamp_ms,
            "timestamp_type": CLIENT_TIMESTAMP_TYPE[record.timestamp_type],
            "key": shown_bytes(record.key),
            "value": shown_bytes(record.value),
            "headers": [[name, shown_bytes(data)] for name, data in record.headers],
            "leader_epoch": record.leader_epoch,
        }
    )


def parse_record(line: bytes) -> Outgoing:
    """Raises InputError saying what is wrong with the line."""
    try:
        document = json.loads(line)
    except ValueError as error:
        raise InputError(f"it is no JSON: {error}") from None
    if not isinstance(document, dict):
        raise InputError('it is no object. Right would be {"key": "k", "value": "hello"}.')
    unknown = [name for name in document if name not in _KNOWN]
    if unknown:
        raise InputError(f'"{unknown[0]}" is no part of a record; there are {", ".join(_KNOWN)}.')
    return Outgoing(
        _bytes(document.get("value")),
        _bytes(document.get("key")),
        _headers(document.get("headers")),
        _whole(document, "partition"),
        _whole(document, "timestamp"),
    )


def shown_bytes(data: bytes | None) -> object:
    if data is None:
        return None
    try:
        return data.decode()
    except UnicodeDecodeError:
        return {_HEX: data.hex()}


def _bytes(value: Any) -> bytes | None:
    if value is None:
        return None
    if isinstance(value, str):
        return value.encode()
    if isinstance(value, dict) and list(value) == [_HEX]:
        try:
            return bytes.fromhex(value[_HEX])
        except (ValueError, TypeError):
            raise InputError(f"{value[_HEX]!r} is not hexadecimal.") from None
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()


def _headers(given: Any) -> tuple[tuple[str, bytes | None], ...]:
    pairs = list(given.items()) if isinstance(given, dict) else given or []
    if not all(isinstance(pair, list | tuple) and len(pair) == 2 and isinstance(pair[0], str) for pair in pairs):
        raise InputError('"headers" is no list of names and values. Right would be [["source", "web"]].')
    return tuple((name, _bytes(value)) for name, value in pairs)


def _whole(document: dict[str, Any], name: str) -> int | None:
    value = document.get(name)
    if value is not None and (not isinstance(value, int) or isinstance(value, bool) or value < 0):
        raise InputError(f'"{name}" is {value!r}, and should be a number from 0 on.')
    return value
