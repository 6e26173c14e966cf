"""Unfolding what does not say how large it will be, without memory for more than the limit."""

from collections.abc import Callable, Iterator
from io import BytesIO

from odradek.records.errors import ExpandedTooLarge

#: Output that is kept while its full size is unknown. Batches of common sizes stay below it and are unfolded once;
#: larger ones are first measured, then unfolded again: twice the time, but a bomb never gets more memory than this.
KEPT_BYTES = 4 * 1024 * 1024

#: What is unfolded at a time.
CHUNK_BYTES = 256 * 1024


def refuse(limit_bytes: int) -> ExpandedTooLarge:
    return ExpandedTooLarge(f"a compressed batch unfolds to more than {limit_bytes} bytes")


def collect(unfold: Callable[[], Iterator[bytes]], limit_bytes: int) -> bytes:
    """All chunks of `unfold()`, which is called once or twice and gives the same each time."""
    pieces_read: list[bytes] = []
    total_bytes = 0
    for chunk in unfold():
        total_bytes += len(chunk)
        if total_bytes > limit_bytes:
            raise refuse(limit_bytes)
        if total_bytes <= KEPT_BYTES:
            pieces_read.append(chunk)
        else:
            pieces_read.clear()
    if total_bytes <= KEPT_BYTES:
        return pieces_read[0] if len(pieces_read) == 1 else b"".join(pieces_read)
    # Chunk behind chunk: to join them would take as much again.
    output = BytesIO()
    output.writelines(unfold())
    return output.getvalue()
