"""zstd: any number of frames, with or without the size of their content.

The blocks of a frame are walked before it is unfolded: each says how many bytes it has and none unfolds to more than
128 KiB. So where the frame ends and the most that it may give are known without unfolding, and a frame that is cut off
is noticed.
"""

import struct
from collections.abc import Iterator
from typing import NamedTuple

import zstandard

from odradek.common.ports import Buffer
from odradek.records.codecs.bounded import CHUNK_BYTES, KEPT_BYTES, refuse
from odradek.records.errors import InvalidRecord

_MAGIC = 0xFD2FB528
_SKIPPABLE_MAGIC = 0x184D2A50
_SKIPPABLE_MASK = 0xFFFFFFF0

_INT = struct.Struct("<I")
_CHECKSUM_BYTES = 4
_BLOCK_HEADER_BYTES = 3
_LARGEST_BLOCK_BYTES = 128 * 1024

#: The largest window of any level that Kafka offers (22), and what its own reader accepts.
_LARGEST_WINDOW_BYTES = 128 * 1024 * 1024

_RAW, _RLE, _COMPRESSED = 0, 1, 2
_DEFAULT_LEVEL = 3

#: Making one costs ten times what unfolding a batch does, but no two threads may use the same at a time: whoever needs
#: one takes it off this list and puts it back. As many are kept as threads might work at once.
_IDLE: list[zstandard.ZstdDecompressor] = []
_IDLE_MOST = 8


class _Frame(NamedTuple):
    data: memoryview
    at_most_bytes: int  # what it may unfold to
    is_exact: bool


def compress(data: Buffer, level: int | None) -> bytes:
    return zstandard.ZstdCompressor(level=_DEFAULT_LEVEL if level is None else level).compress(data)


def decompress(data: Buffer, limit_bytes: int) -> bytes:
    with memoryview(data) as view:
        try:
            frames = list(_frames(view))
            if sum(frame.at_most_bytes for frame in frames) > min(limit_bytes, KEPT_BYTES):
                frames = _measured(frames, limit_bytes)
            unfolded = [_unfold(frame) for frame in frames]
        except zstandard.ZstdError as error:
            raise InvalidRecord(f"zstd: {error}") from None
    return unfolded[0] if len(unfolded) == 1 else b"".join(unfolded)


def _measured(frames: list[_Frame], limit_bytes: int) -> list[_Frame]:
    """Exact sizes for all, by unfolding into nowhere where none is declared; refused as soon as they do not fit."""
    measured = []
    total_bytes = sum(frame.at_most_bytes for frame in frames if frame.is_exact)
    for frame in frames:
        size = frame.at_most_bytes
        if not frame.is_exact:
            size = 0
            for count in _counts(frame.data):
                size += count
                if total_bytes + size > limit_bytes:
                    raise refuse(limit_bytes)
            total_bytes += size
        measured.append(_Frame(frame.data, size, True))
    if total_bytes > limit_bytes:
        raise refuse(limit_bytes)
    return measured


def _counts(frame: memoryview) -> Iterator[int]:
    scratch = bytearray(CHUNK_BYTES)
    with _new_decompressor().stream_reader(frame) as reader:
        while count := reader.readinto(scratch):
            yield count


def _unfold(frame: _Frame) -> bytes:
    if not frame.at_most_bytes:
        return b""
    decompressor = _take()
    try:
        return decompressor.decompress(frame.data, max_output_size=frame.at_most_bytes)
    finally:
        if len(_IDLE) < _IDLE_MOST:
            _IDLE.append(decompressor)


def _take() -> zstandard.ZstdDecompressor:
    try:
        return _IDLE.pop()
    except IndexError:
        return _new_decompressor()


def _new_decompressor() -> zstandard.ZstdDecompressor:
    return zstandard.ZstdDecompressor(max_window_size=_LARGEST_WINDOW_BYTES)


def _frames(view: memoryview) -> Iterator[_Frame]:
    position = 0
    while position < len(view):
        if len(view) - position < 2 * _INT.size:
            raise InvalidRecord("zstd: the stream ends within a frame's header")
        (magic,) = _INT.unpack_from(view, position)
        if magic & _SKIPPABLE_MASK == _SKIPPABLE_MAGIC:
            position += 2 * _INT.size + int(_INT.unpack_from(view, position + _INT.size)[0])
            continue
        if magic != _MAGIC:
            raise InvalidRecord(f"zstd: no frame begins with {magic:#010x}")
        frame = _frame(view[position:])
        yield frame
        position += len(frame.data)


def _frame(view: memoryview) -> _Frame:
    parameters = zstandard.get_frame_parameters(view)
    position = zstandard.frame_header_size(view)
    at_most_bytes = 0
    is_last = False
    while not is_last:
        if position + _BLOCK_HEADER_BYTES > len(view):
            raise InvalidRecord("zstd: the stream ends within a frame")
        header = int.from_bytes(view[position : position + _BLOCK_HEADER_BYTES], "little")
        is_last, kind, size = bool(header & 1), header >> 1 & 3, header >> 3
        if size > _LARGEST_BLOCK_BYTES:
            raise InvalidRecord(f"zstd: a block of {size} bytes")
        at_most_bytes += size if kind in (_RAW, _RLE) else _LARGEST_BLOCK_BYTES
        position += _BLOCK_HEADER_BYTES + (1 if kind == _RLE else size)
    if parameters.has_checksum:
        position += _CHECKSUM_BYTES
    if position > len(view):
        raise InvalidRecord("zstd: the stream ends within a frame")
    if parameters.content_size == zstandard.CONTENTSIZE_UNKNOWN:
        return _Frame(view[:position], at_most_bytes, False)
    if parameters.content_size > at_most_bytes:
        raise InvalidRecord(f"zstd: a frame claims {parameters.content_size} bytes, but holds {at_most_bytes} at most")
    return _Frame(view[:position], parameters.content_size, True)
