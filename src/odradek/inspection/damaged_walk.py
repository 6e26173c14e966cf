"""Walk the batches of a file although parts of it are damaged.

A damaged batch is named with its position and what is wrong; then the walk goes on with the next batch that is whole.
Where that starts is known if the damaged one has a believable length, and is searched otherwise.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from odradek.records.batch import HEADER_BYTES, MAGIC_AT, MAGIC_V2, Batch, read_batch
from odradek.records.errors import CorruptRecord, UnsupportedCompression

_SEARCH_CHUNK = 1 << 20
_ZEROS = bytes(_SEARCH_CHUNK)


@dataclass(frozen=True, slots=True)
class BatchAt:
    """A batch whose CRC holds."""

    position: int
    batch: Batch


@dataclass(frozen=True, slots=True)
class Damage:
    """From `position` to `end` there is no batch that can be read."""

    position: int
    end: int
    reason: str


def _silent(position: int) -> None:
    """For callers who want to hear of no progress."""


def walk_batches(view: memoryview, advance: Callable[[int], None] = _silent) -> Iterator[BatchAt | Damage]:
    """`advance` hears the position again and again, also while damage is searched through."""
    position = 0
    while position < len(view):
        advance(position)
        try:
            batch = read_batch(view, position)
            batch.check()
        except CorruptRecord as error:
            end = _next_whole(view, position, advance)
            yield Damage(position, end, _reason(view, position, error))
            position = end
            continue
        yield BatchAt(position, batch)
        position += batch.size_bytes


def _is_whole(view: memoryview, position: int) -> bool:
    try:
        batch = read_batch(view, position)
        batch.check()
        return batch.magic != MAGIC_V2 or batch.compression >= 0
    except (CorruptRecord, UnsupportedCompression):
        return False


def _next_whole(view: memoryview, position: int, advance: Callable[[int], None]) -> int:
    """Return the start of the next undamaged batch, or the end of the file."""
    try:
        following = position + read_batch(view, position).size_bytes
        if following == len(view) or _is_whole(view, following):
            return following
    except CorruptRecord:
        pass
    return _search(view, position + 1, advance)


def _search(view: memoryview, start: int, advance: Callable[[int], None]) -> int:
    """Only batches of magic 2 are searched for: the older ones have too little that could be recognised."""
    for chunk_at in range(start + MAGIC_AT, len(view), _SEARCH_CHUNK):
        advance(chunk_at)
        chunk = bytes(view[chunk_at : chunk_at + _SEARCH_CHUNK])
        position = chunk.find(MAGIC_V2)
        while position >= 0:
            candidate = chunk_at + position - MAGIC_AT
            if candidate + HEADER_BYTES <= len(view) and _is_whole(view, candidate):
                return candidate
            position = chunk.find(MAGIC_V2, position + 1)
    return len(view)


def _reason(view: memoryview, position: int, error: CorruptRecord) -> str:
    if not any(view[position : position + HEADER_BYTES]) and used_bytes(view[position:]) == 0:
        return f"{len(view) - position} zero bytes up to the end of the file"
    return error.message


def used_bytes(view: memoryview) -> int:
    """Return the start of the zeros that fill the rest, read in chunks: a file may be larger than memory."""
    for chunk_at in reversed(range(0, len(view), _SEARCH_CHUNK)):
        chunk = bytes(view[chunk_at : chunk_at + _SEARCH_CHUNK])
        if not _ZEROS.startswith(chunk):
            return chunk_at + len(chunk.rstrip(b"\0"))
    return 0
