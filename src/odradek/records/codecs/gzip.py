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
    rest: Buffer = data
    while True:
        member = isal_zlib.decompressobj(wbits=_GZIP_WRAPPER)
        while not member.eof:
            try:
                chunk = member.decompress(rest, CHUNK_BYTES)
            except igzip_lib.IsalError as error:  # type: ignore[misc]  # the stubs take the class for an instance
                raise InvalidRecord(f"gzip: {error}") from None
            rest = member.unconsumed_tail
            if not chunk and not rest and not member.eof:
                raise InvalidRecord("gzip: the stream ends within a member")
            yield chunk
        rest = member.unused_data
        if rest[: len(_MEMBER_MAGIC)] != _MEMBER_MAGIC:
            return
