"""Messages that begin with their own version: what consumers say to each other through their coordinator.

The layout of version 0 begins every other one; what a newer version than ours has more is left unread, as in Kafka.
"""

from typing import TypeVar

from odradek.common.failures import ProtocolError
from odradek.protocol.codec import decode_prefix, encode
from odradek.protocol.message import Message

VERSION_BYTES = 2

M = TypeVar("M", bound=Message)


def prefixed_version(kind: type[Message], data: bytes) -> int:
    """The version to read it in. Raises ProtocolError."""
    version = int.from_bytes(data[:VERSION_BYTES], "big", signed=True)
    if len(data) < VERSION_BYTES or version < 0:
        raise ProtocolError(
            f"a {kind.__name__} begins with its version, not with {data[:VERSION_BYTES].hex() or 'nothing'}"
        )
    return min(version, kind.VERSIONS[1])


def read_prefixed(kind: type[M], data: bytes) -> M:
    """Raises ProtocolError."""
    message, _ = decode_prefix(kind, prefixed_version(kind, data), data, VERSION_BYTES)
    return message


def write_prefixed(message: Message, version: int | None = None) -> bytes:
    """In the latest version unless said otherwise."""
    version = type(message).VERSIONS[1] if version is None else version
    return version.to_bytes(VERSION_BYTES, "big") + encode(message, version)
