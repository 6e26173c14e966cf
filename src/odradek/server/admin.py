"""The admin port: `/metrics` for Prometheus and `/healthz` for whoever watches over nodes, in plain HTTP.

Off unless `odradek.admin.listener` names an address. It is open from the beginning of a start to the end of a stop, so
that a node which is slow at either can be seen to be alive; `/healthz` says 503 meanwhile, with the reason. There is no
authentication: bind it where only those who may see it can connect.
"""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

from odradek.common.addresses import BadAddress, HostPort, parse_host_port
from odradek.common.failures import InputError
from odradek.server.health import ailment
from odradek.server.loop_delay import LoopDelay
from odradek.server.settings import Settings

if TYPE_CHECKING:
    from odradek.server.metrics import Metrics
    from odradek.server.node import Node

logger = logging.getLogger("odradek.admin")

SETTING = "odradek.admin.listener"

#: A request line and headers are far below this, and nobody who asks needs longer.
_REQUEST_BYTES_MAX = 8 * 1024
_REQUEST_TIMEOUT_S = 5

_TEXT = "text/plain; charset=utf-8"
_REASONS = {200: "OK", 400: "Bad Request", 404: "Not Found", 405: "Method Not Allowed", 503: "Service Unavailable"}


def admin_address(settings: Settings) -> HostPort | None:
    """None if there is to be no admin port."""
    text = settings.optional_text(SETTING) or ""
    try:
        return parse_host_port(text) if text else None
    except BadAddress as error:
        raise InputError(
            f"{settings.where(SETTING)}: {error} An address is host:port, for example 127.0.0.1:9644."
        ) from None


class AdminServer:
    def __init__(self, node: Node, address: HostPort) -> None:
        self._node = node
        self._address = address
        self._delay = LoopDelay()
        self._metrics: Metrics | None = None
        self._server: asyncio.Server | None = None
        self.port = address.port

    async def start(self) -> None:
        try:
            self._server = await asyncio.start_server(
                self._serve, self._address.host, self._address.port, limit=_REQUEST_BYTES_MAX
            )
        except OSError as error:
            where = self._node.config.settings.where(SETTING)
            reason = error.strerror or error
            raise InputError(f"{where}: {self._address}: {reason}. Choose an address that is free.") from None
        self.port = int(self._server.sockets[0].getsockname()[1])
        self._delay.start()
        logger.info("metrics and health on http://%s", HostPort(self._address.host, self.port))

    async def stop(self) -> None:
        self._delay.stop()
        if self._server is not None:
            self._server.close()
            await self._server.wait_closed()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            async with asyncio.timeout(_REQUEST_TIMEOUT_S):
                head = await reader.readuntil(b"\r\n\r\n")
            status, kind, body = await self._answer(head)
        except (TimeoutError, asyncio.LimitOverrunError):
            status, kind, body = 400, _TEXT, b"no request\n"
        except (asyncio.IncompleteReadError, OSError):
            writer.close()
            return
        lines = (
            f"HTTP/1.1 {status} {_REASONS[status]}",
            f"Content-Type: {kind}",
            f"Content-Length: {len(body)}",
            "Connection: close",
        )
        writer.write("\r\n".join((*lines, "", "")).encode() + body)
        writer.close()

    async def _answer(self, head: bytes) -> tuple[int, str, bytes]:
        words = head.split(b"\r\n", 1)[0].decode("latin-1").split(" ")
        if len(words) != 3:
            return 400, _TEXT, b"no request\n"
        method, target, _ = words
        if method != "GET":
            return 405, _TEXT, b"GET alone\n"
        path = target.partition("?")[0]
        if path == "/healthz":
            reason = ailment(self._node)
            return (503, _TEXT, f"{reason}\n".encode()) if reason else (200, _TEXT, b"ok\n")
        if path == "/metrics":
            return await self._measured()
        return 404, _TEXT, b"/metrics or /healthz\n"

    async def _measured(self) -> tuple[int, str, bytes]:
        # Imported by the first who asks: a node that nobody watches needs none of it.
        from odradek.server.metrics import CONTENT_TYPE, Metrics

        if self._metrics is None:
            self._metrics = Metrics(self._node, self._delay)
        return 200, CONTENT_TYPE, await asyncio.to_thread(self._metrics.text)
