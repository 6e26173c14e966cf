"""One message between its bytes and its JSON form, with an error that a person understands."""

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
_LONGEST_NAME = 100  # looking for what is near takes time with the square of it

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
        raise _bad(given["message"], version, error) from None


def encode_fields(fields: object) -> dict[str, Any]:
    """Adds `hex` to `message`, `version` and `json`."""
    given, message_class, version = _read_fields(fields, "json")
    try:
        message = json_form.from_json(message_class, version, given["json"])
        return {**given, "hex": codec.encode(message, version).hex()}
    except (InvalidMessage, UnsupportedVersion) as error:
        raise _bad(given["message"], version, error) from None


def _read_fields(fields: object, content: str) -> tuple[dict[str, Any], type[Message], int]:
    if not isinstance(fields, dict):
        raise BadMessage(f'no object with "message", "version" and "{content}"')
    missing = [name for name in ("message", "version", content) if name not in fields]
    if missing:
        raise BadMessage(f'"{missing[0]}" is missing')
    message_class = _class_of(fields["message"])
    version = fields["version"]
    if not isinstance(version, int) or isinstance(version, bool):
        raise BadMessage(f'"version" must be a whole number, not {_shown(version)}')
    first, last = message_class.VERSIONS
    if not first <= version <= last:
        raise BadMessage(f"{fields['message']} has the versions {first} to {last}, not {_shown(version)}")
    return fields, message_class, version


def _class_of(name: object) -> type[Message]:
    if not isinstance(name, str):
        raise BadMessage(f'"message" must be a name, not {_shown(name)}')
    try:
        return registry.message_class(name)
    except KeyError:
        near = _nearest(name)
    hint = f"did you mean {' or '.join(near)}?" if near else "odradek protocol messages lists them all"
    raise BadMessage(f"no message is called {_shown(name)}; {hint}")


def _nearest(name: str) -> list[str]:
    """Those that begin alike (an API without Request or Response), else those that are written alike."""
    by_lower = {known.lower(): known for known in MESSAGES}
    lower = name.lower()[:_LONGEST_NAME]
    begins = [known for known in by_lower if lower and known.startswith(lower)]
    return [by_lower[known] for known in (begins or get_close_matches(lower, by_lower))[:_SHOWN_NAMES]]


def _bad(name: str, version: int, error: Exception) -> BadMessage:
    """What the message's own code says may begin with its name again."""
    reason = re.sub(rf"^{name}( v\d+| version \d+)?:? ", "", str(error))
    return BadMessage(f"{name} version {version}: {reason}")


def _shown(value: object) -> str:
    """As it stood in the JSON, and not more of it than a line can hold."""
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _SHOWN_CHARACTERS else text[: _SHOWN_CHARACTERS - 1] + "…"
