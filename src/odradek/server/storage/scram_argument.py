"""SCRAM credentials on the command line: `SCRAM-SHA-256=[name=alice,password=secret]`, for a cluster's first users.

The password never leaves this module: a record holds keys that a server can check a password with (RFC 5802).
"""

import base64
import binascii
import hashlib
import hmac
import secrets
from typing import NamedTuple

from odradek.common.failures import InputError
from odradek.protocol.messages.user_scram_credential_record import UserScramCredentialRecord

_SALT_BYTES = 20

#: Fewer are guessed too fast; more would let one login keep a broker busy. Kafka's own limits.
_MIN_ITERATIONS = 4096
_MAX_ITERATIONS = 16384

_KEYS = ("name", "password", "salt", "iterations", "saltedpassword")
_FORM = "It is MECHANISM=[name=…,password=…] or MECHANISM=[name=…,salt=…,saltedpassword=…], iterations=… if wanted."


class _Mechanism(NamedTuple):
    type: int
    hash_name: str


_MECHANISMS = {"SCRAM-SHA-256": _Mechanism(1, "sha256"), "SCRAM-SHA-512": _Mechanism(2, "sha512")}


def parse_scram_argument(text: str) -> UserScramCredentialRecord:
    mechanism_name, _, rest = text.strip().partition("=")
    mechanism = _MECHANISMS.get(mechanism_name)
    if mechanism is None:
        raise InputError(f'--add-scram: "{mechanism_name}" is no mechanism; there are {", ".join(_MECHANISMS)}.')
    if not (rest.startswith("[") and rest.endswith("]")):
        raise InputError(f"--add-scram {mechanism_name}: there is nothing in brackets. {_FORM}")
    parts = _parts(rest[1:-1])
    iterations = _iterations(parts)
    salt = _decode(parts, "salt") or secrets.token_bytes(_SALT_BYTES)
    if "password" in parts:
        salted = hashlib.pbkdf2_hmac(mechanism.hash_name, parts["password"].encode(), salt, iterations)
    else:
        salted = _decode(parts, "saltedpassword") or b""
    client_key = hmac.digest(salted, b"Client Key", mechanism.hash_name)
    return UserScramCredentialRecord(
        name=parts["name"],
        mechanism=mechanism.type,
        salt=salt,
        stored_key=hashlib.new(mechanism.hash_name, client_key).digest(),
        server_key=hmac.digest(salted, b"Server Key", mechanism.hash_name),
        iterations=iterations,
    )


def _parts(text: str) -> dict[str, str]:
    """Never shows a value: it may be a password."""
    parts: dict[str, str] = {}
    for entry in text.split(","):
        key, equals, value = entry.partition("=")
        if not equals or key not in _KEYS:
            raise InputError(f'--add-scram: "{key}" is none of {", ".join(_KEYS)}. {_FORM}')
        quoted = len(value) > 1 and value.startswith('"') and value.endswith('"')
        parts[key] = value[1:-1] if quoted else value
    if "name" not in parts:
        raise InputError(f"--add-scram: the name is missing. {_FORM}")
    if "password" not in parts and not {"saltedpassword", "salt"} <= parts.keys():
        raise InputError(f"--add-scram {parts['name']}: the password is missing. {_FORM}")
    return parts


def _iterations(parts: dict[str, str]) -> int:
    text = parts.get("iterations", str(_MIN_ITERATIONS))
    if not text.isdecimal() or not _MIN_ITERATIONS <= int(text) <= _MAX_ITERATIONS:
        raise InputError(f'--add-scram: iterations="{text}": it is from {_MIN_ITERATIONS} to {_MAX_ITERATIONS}.')
    return int(text)


def _decode(parts: dict[str, str], key: str) -> bytes | None:
    if key not in parts:
        return None
    try:
        return base64.b64decode(parts[key], validate=True)
    except binascii.Error:
        raise InputError(f"--add-scram: {key} is no base64.") from None
