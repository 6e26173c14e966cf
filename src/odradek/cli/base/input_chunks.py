"""Standard input and files, as chunks of bytes.

A terminal or a pipe is only read when it has data, so that Ctrl-C is handled while it has none. A file always has data,
and the event loop cannot watch it.
"""

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Sequence

_CHUNK_BYTES = 256 * 1024

STDIN = "-"


async def chunks(path: str) -> AsyncIterator[bytes]:
    """Yield the content of a file, or of standard input for `-`. Raises OSError."""
    descriptor = sys.stdin.fileno() if path == STDIN else os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        while True:
            await _wait_until_readable(descriptor)
            data = os.read(descriptor, _CHUNK_BYTES)
            if not data:
                return
            yield data
    finally:
        if path != STDIN:
            os.close(descriptor)


async def _wait_until_readable(descriptor: int) -> None:
    loop = asyncio.get_running_loop()
    readable = asyncio.Event()
    try:
        loop.add_reader(descriptor, readable.set)
    except PermissionError:  # a file, which is always readable
        await asyncio.sleep(0)
        return
    try:
        await readable.wait()
    finally:
        loop.remove_reader(descriptor)


async def delimited(path: str, delimiter: bytes) -> AsyncIterator[Sequence[bytes]]:
    """Yield the parts between delimiters, as many at once as are available. The last one may lack its delimiter."""
    rest = b""
    async for chunk in chunks(path):
        *complete, rest = (rest + chunk).split(delimiter)
        if complete:
            yield complete
    if rest:
        yield [rest]


async def read_all(path: str) -> bytes:
    return b"".join([chunk async for chunk in chunks(path)])
