"""gzip: one or more members.

Bytes after the last member that do not begin another one are ignored, as Java does."""

import zlib
from collections.abc import Iterator

from isal import igzip_lib, isal_zlib

from odradek.common.ports import Buffer
from odradek.records.codecs.bounded import CHUNK_BYTES, collect
from odradek.records.errors import InvalidRecord

_GZIP_WRAPPER = 31
_MEMBER_MAGIC = b"\x1f\x8b"

#: Small beside a batch, large beside a member's header; a stream of tiny members costs 200 times its size in copies.
_PIECE_BYTES = 4096

#: isal's own scale of 0 to 3; about zlib's level 2 or 3 at several times its speed.
_ISAL_LEVEL = 2


def compress(data: Buffer, level: int | None) -> bytes:
    """A level of Kafka's scale (1 to 9) is zlib's to honour; without one, the faster library decides."""
    if level is None:
        return bytes(isal_zlib.compress(data, _ISAL_LEVEL, wbits=_GZIP_WRAPPER))
    return zlib.compress(data, level, wbits=_GZIP_WRAPPER)


def decompress(data: Buffer, limit_bytes: int) -> bytes:
    return collect(lambda: _unfold(data), limit_bytes)


def _unfold(data: Buffer) -> Iterator[bytes]:
    """Fed piece by piece, since what a member leaves of its input is copied, and there may be very many of them."""
    view, position = memoryview(data), 0
    while True:
        member = isal_zlib.decompressobj(wbits=_GZIP_WRAPPER)
        while not member.eof:
            piece = view[position : position + _PIECE_BYTES]
            try:
                chunk = member.decompress(piece, CHUNK_BYTES)
            except igzip_lib.IsalError as error:  # type: ignore[misc]  # the stubs take the class for an instance
                raise InvalidRecord(f"gzip: {error}") from None
            consumed = len(piece) - len(member.unused_data if member.eof else member.unconsumed_tail)
            position += consumed
            if not chunk and not consumed and not member.eof:
                raise InvalidRecord("gzip: the stream ends within a member")
            if chunk:
                yield chunk
        if view[position : position + len(_MEMBER_MAGIC)] != _MEMBER_MAGIC:
            return
