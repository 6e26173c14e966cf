"""A few pages over plain HTTP for those who watch a process: `/metrics` for Prometheus, `/healthz` for others.

GET alone, one request a connection, no authentication: bind it where only those who may see it can connect. Nodes and
consumer services have one each.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import NamedTuple

from odradek.common.addresses import HostPort

#: A request line and headers are far below this, and nobody who asks needs longer.
_REQUEST_BYTES_MAX = 8 * 1024
_REQUEST_TIMEOUT_S = 5

_TEXT = "text/plain; charset=utf-8"
_REASONS = {200: "OK", 400: "Bad Request", 404: "Not Found", 405: "Method Not Allowed", 503: "Service Unavailable"}


class Page(NamedTuple):
    status: int
    body: bytes
    content_type: str = _TEXT


def health_page(ailment: str | None) -> Page:
    """503 with what ails, or 200."""
    return Page(503, f"{ailment}\n".encode()) if ailment else Page(200, b"ok\n")


class HttpPages:
    def __init__(self, address: HostPort, pages: Mapping[str, Callable[[], Awaitable[Page]]]) -> None:
        """`pages` by their paths, made when somebody asks."""
        self._address = address
        self._pages = pages
        self._server: asyncio.Server | None = None
        self.port = address.port

    @property
    def address(self) -> HostPort:
        """Address with the actual port, once started."""
        return HostPort(self._address.host, self.port)

    async def start(self) -> None:
        """Raises OSError if the address cannot be had."""
        self._server = await asyncio.start_server(
            self._serve, self._address.host, self._address.port, limit=_REQUEST_BYTES_MAX
        )
        self.port = int(self._server.sockets[0].getsockname()[1])

    async def stop(self) -> None:
        if self._server is not None:
            self._server.close()
            await self._server.wait_closed()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            async with asyncio.timeout(_REQUEST_TIMEOUT_S):
                head = await reader.readuntil(b"\r\n\r\n")
            page = await self._answer(head)
        except (TimeoutError, asyncio.LimitOverrunError):
            page = Page(400, b"no request\n")
        except (asyncio.IncompleteReadError, OSError):
            writer.close()
            return
        lines = (
            f"HTTP/1.1 {page.status} {_REASONS[page.status]}",
            f"Content-Type: {page.content_type}",
            f"Content-Length: {len(page.body)}",
            "Connection: close",
        )
        writer.write("\r\n".join((*lines, "", "")).encode() + page.body)
        writer.close()

    async def _answer(self, head: bytes) -> Page:
        words = head.split(b"\r\n", 1)[0].decode("latin-1").split(" ")
        if len(words) != 3:
            return Page(400, b"no request\n")
        method, target, _ = words
        if method != "GET":
            return Page(405, b"GET alone\n")
        make = self._pages.get(target.partition("?")[0])
        if make is None:
            return Page(404, f"{' or '.join(self._pages)}\n".encode())
        return await make()
