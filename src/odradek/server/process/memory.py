"""Memory of large buffers in a node's process.

Requests and fetched records pass through buffers of up to some megabytes that live for a moment. The C library would
give such memory back to the system each time, which hands it out anew page by page, zeroed: half of what a large fetch
costs. So it keeps some of it.
"""

import ctypes

#: glibc's numbers for what `mallopt` sets; a C library that has no such function keeps memory in its own way.
_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3

#: Larger ones still come from the system and go back to it: they are rare.
_KEPT_BUFFER_BYTES = 16 * 1024 * 1024
#: Free memory that is kept at most: the answers of a few consumers that fetch by the megabyte.
_KEPT_BYTES = 32 * 1024 * 1024


def keep_freed_memory() -> None:
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(_MMAP_THRESHOLD, _KEPT_BUFFER_BYTES)
        mallopt(_TRIM_THRESHOLD, _KEPT_BYTES)
