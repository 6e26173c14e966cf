"""Standard input and files as chunks of bytes, as they come.

A terminal or a pipe is read when there is something, so that Ctrl-C is heard while there is nothing; what the loop
cannot watch, a file for example, has always something.
"""

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Sequence

_CHUNK_BYTES = 256 * 1024

STDIN = "-"


async def chunks(path: str) -> AsyncIterator[bytes]:
    """Raises OSError. `-` is standard input."""
    descriptor = sys.stdin.fileno() if path == STDIN else os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        while True:
            await _readable(descriptor)
            data = os.read(descriptor, _CHUNK_BYTES)
            if not data:
                return
            yield data
    finally:
        if path != STDIN:
            os.close(descriptor)


async def _readable(descriptor: int) -> None:
    loop = asyncio.get_running_loop()
    ready = asyncio.Event()
    try:
        loop.add_reader(descriptor, ready.set)
    except PermissionError:  # a file: nobody need wait for it
        await asyncio.sleep(0)
        return
    try:
        await ready.wait()
    finally:
        loop.remove_reader(descriptor)


async def pieces(path: str, delimiter: bytes) -> AsyncIterator[Sequence[bytes]]:
    """What stands between delimiters, as many at a time as have come. The last one may lack its delimiter."""
    rest = b""
    async for chunk in chunks(path):
        *whole, rest = (rest + chunk).split(delimiter)
        if whole:
            yield whole
    if rest:
        yield [rest]


async def whole(path: str) -> bytes:
    return b"".join([chunk async for chunk in chunks(path)])
