"""One message between its bytes and its JSON form, with an error that a person understands."""

from collections.abc import Callable
from typing import Any

from odradek.common.failures import InputError, ProtocolError
from odradek.protocol import codec, json_form, registry
from odradek.protocol.errors import InvalidMessage, UnsupportedVersion
from odradek.protocol.message import Message

#: Takes what a line held, returns it with the missing field added.
Converter = Callable[[object], dict[str, Any]]


class BadMessage(InputError):
    """A line, or the arguments in its place, that names or holds no message."""


def decode_fields(fields: object) -> dict[str, Any]:
    """Adds `json` to `message`, `version` and `hex`."""
    given, message_class, version = _read_fields(fields, "hex")
    text = given["hex"]
    try:
        data = bytes.fromhex(text)
    except (TypeError, ValueError):
        raise BadMessage('"hex" is not an even number of hexadecimal digits') from None
    try:
        message = codec.decode(message_class, version, data)
        return {**given, "json": json_form.to_json(message, version)}
    except (ProtocolError, UnsupportedVersion) as error:
        raise BadMessage(f"{given['message']} version {version}: {error}") from None


def encode_fields(fields: object) -> dict[str, Any]:
    """Adds `hex` to `message`, `version` and `json`."""
    given, message_class, version = _read_fields(fields, "json")
    try:
        message = json_form.from_json(message_class, version, given["json"])
        return {**given, "hex": codec.encode(message, version).hex()}
    except (InvalidMessage, UnsupportedVersion) as error:
        raise BadMessage(f"{given['message']} version {version}: {error}") from None


def _read_fields(fields: object, content: str) -> tuple[dict[str, Any], type[Message], int]:
    if not isinstance(fields, dict):
        raise BadMessage(f'no object with "message", "version" and "{content}"')
    missing = [name for name in ("message", "version", content) if name not in fields]
    if missing:
        raise BadMessage(f'"{missing[0]}" is missing')
    message_class = _class_of(fields["message"])
    version = fields["version"]
    first, last = message_class.VERSIONS
    if not isinstance(version, int) or isinstance(version, bool) or not first <= version <= last:
        raise BadMessage(f"{fields['message']} has the versions {first} to {last}, not {version}")
    return fields, message_class, version


def _class_of(name: object) -> type[Message]:
    if isinstance(name, str):
        try:
            return registry.message_class(name)
        except KeyError:
            pass
    raise BadMessage(f'no message is called "{name}"; names are written as Kafka does, for example ProduceRequest')
