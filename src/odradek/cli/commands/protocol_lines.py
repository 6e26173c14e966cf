"""Conversion of a message between bytes and JSON, with readable errors."""

import json
import re
from collections.abc import Callable
from difflib import get_close_matches
from typing import Any

from odradek.common.failures import InputError, ProtocolError
from odradek.protocol import codec, json_form, registry
from odradek.protocol.errors import InvalidMessage, UnsupportedVersion
from odradek.protocol.message import Message
from odradek.protocol.message_index import MESSAGES

_SHOWN_CHARACTERS = 60
_SHOWN_NAMES = 3
_LONGEST_NAME = 100  # the search for similar names takes quadratic time

#: Returns the object of a line with the missing field added.
Converter = Callable[[object], dict[str, Any]]


class BadMessage(InputError):
    """Malformed message, or name of an unknown one, in a line or in the arguments."""


def decode_fields(fields: object) -> dict[str, Any]:
    """Add `json` to `message`, `version` and `hex`."""
    parsed, message_class, version = _read_fields(fields, "hex")
    text = parsed["hex"]
    try:
        data = bytes.fromhex(text)
    except (TypeError, ValueError):
        raise BadMessage('"hex" is not an even number of hexadecimal digits') from None
    try:
        message = codec.decode(message_class, version, data)
        return {**parsed, "json": json_form.to_json(message, version)}
    except (ProtocolError, UnsupportedVersion) as error:
        raise _bad_message(parsed["message"], version, error) from None


def encode_fields(fields: object) -> dict[str, Any]:
    """Add `hex` to `message`, `version` and `json`."""
    parsed, message_class, version = _read_fields(fields, "json")
    try:
        message = json_form.from_json(message_class, version, parsed["json"])
        return {**parsed, "hex": codec.encode(message, version).hex()}
    except (InvalidMessage, UnsupportedVersion) as error:
        raise _bad_message(parsed["message"], version, error) from None


def _read_fields(fields: object, content: str) -> tuple[dict[str, Any], type[Message], int]:
    if not isinstance(fields, dict):
        raise BadMessage(f'not an object with "message", "version" and "{content}"')
    missing = [name for name in ("message", "version", content) if name not in fields]
    if missing:
        raise BadMessage(f'"{missing[0]}" is missing')
    message_class = _class_of(fields["message"])
    version = fields["version"]
    if not isinstance(version, int) or isinstance(version, bool):
        raise BadMessage(f'"version" must be an integer, not {_quoted(version)}')
    first, last = message_class.VERSIONS
    if not first <= version <= last:
        raise BadMessage(f"{fields['message']} has the versions {first} to {last}, not {_quoted(version)}")
    return fields, message_class, version


def _class_of(name: object) -> type[Message]:
    if not isinstance(name, str):
        raise BadMessage(f'"message" must be a name, not {_quoted(name)}')
    try:
        return registry.message_class(name)
    except KeyError:
        similar = _similar_names(name)
    hint = f"did you mean {' or '.join(similar)}?" if similar else "odradek protocol messages lists them all"
    raise BadMessage(f"unknown message {_quoted(name)}; {hint}")


def _similar_names(name: str) -> list[str]:
    """Return messages that begin with the name, as with that of an API, else messages with similar names."""
    by_lower = {message.lower(): message for message in MESSAGES}
    lower = name.lower()[:_LONGEST_NAME]
    matches = [message for message in by_lower if lower and message.startswith(lower)]
    return [by_lower[match] for match in (matches or get_close_matches(lower, by_lower))[:_SHOWN_NAMES]]


def _bad_message(name: str, version: int, error: Exception) -> BadMessage:
    """Return the error without the name of the message, which its reason may repeat."""
    reason = re.sub(rf"^{name}( v\d+| version \d+)?:? ", "", str(error))
    return BadMessage(f"{name} version {version}: {reason}")


def _quoted(value: object) -> str:
    """Return a value as JSON, truncated."""
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _SHOWN_CHARACTERS else text[: _SHOWN_CHARACTERS - 1] + "…"
