"""Records as lines of JSON, for `consume` and `produce`.

    {"topic": "orders", "partition": 0, "offset": 7, "timestamp": 1767225600000, "timestamp_type": 1,
     "key": "k", "value": "hello", "headers": [["source", "web"]], "leader_epoch": 0}

Bytes are written as text if they are UTF-8, else as `{"hex": "ff00"}`. In the input all fields are optional; a value
that is neither text nor hex is sent as its JSON.
"""

import json
from typing import Any

from odradek.cli.commands.log.show import CLIENT_TIMESTAMP_TYPE
from odradek.cli.commands.produce.record_input import OutputRecord
from odradek.client.consumer.typed_record import ConsumerRecord
from odradek.common.failures import InputError
from odradek.common.printable import printable_json

_HEX = "hex"
_FIELDS = ("topic", "partition", "offset", "timestamp", "timestamp_type", "key", "value", "headers", "leader_epoch")


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


def parse_record(line: bytes) -> OutputRecord:
    """Parse a line. Raises InputError if it is malformed."""
    try:
        document = json.loads(line)
    except ValueError as error:
        raise InputError(f"not valid JSON: {error}") from None
    if not isinstance(document, dict):
        raise InputError('not an object. Expected {"key": "k", "value": "hello"}.')
    unknown = [name for name in document if name not in _FIELDS]
    if unknown:
        raise InputError(f'unknown field "{unknown[0]}". Expected {", ".join(_FIELDS)}.')
    return OutputRecord(
        _bytes(document.get("value")),
        _bytes(document.get("key")),
        _headers(document.get("headers")),
        _integer(document, "partition"),
        _integer(document, "timestamp"),
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


def _headers(value: Any) -> tuple[tuple[str, bytes | None], ...]:
    pairs = list(value.items()) if isinstance(value, dict) else value or []
    if not all(isinstance(pair, list | tuple) and len(pair) == 2 and isinstance(pair[0], str) for pair in pairs):
        raise InputError('"headers" is not a list of pairs. Expected [["source", "web"]].')
    return tuple((name, _bytes(data)) for name, data in pairs)


def _integer(document: dict[str, Any], name: str) -> int | None:
    value = document.get(name)
    if value is not None and (not isinstance(value, int) or isinstance(value, bool) or value < 0):
        raise InputError(f'"{name}" is {value!r}. Expected an integer of at least 0.')
    return value
