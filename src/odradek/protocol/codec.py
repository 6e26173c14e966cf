"""Messages to bytes and back."""

from collections.abc import Callable
from typing import TypeVar

from odradek.common.ports import Buffer
from odradek.protocol.message import Message

M = TypeVar("M", bound=Message)


def encode(message: Message, version: int) -> bytes:
    """The body's bytes. Raises InvalidMessage or UnsupportedVersion (naming field and version)."""
    raise NotImplementedError


def encode_parts(message: Message, version: int) -> list[Buffer]:
    """The same as pieces, in order; `records` are among them as they are, uncopied."""
    raise NotImplementedError


def decode(message_class: type[M], version: int, buffer: Buffer, position: int = 0) -> M:
    """The message from `position` to the end of the buffer; bytes left over, as any other flaw, raise ProtocolError."""
    raise NotImplementedError


def decode_prefix(message_class: type[M], version: int, buffer: Buffer, position: int = 0) -> tuple[M, int]:
    """The message that starts at `position`, and where it ends."""
    raise NotImplementedError


def decoder(message_class: type[M], version: int) -> Callable[[Buffer, int], tuple[M, int]]:
    """The function behind `decode_prefix`, for callers that keep it."""
    raise NotImplementedError
