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
from odradek.observability.http_pages import HttpPages, Page, health_page
from odradek.server.config.settings import Settings
from odradek.server.metrics.health import health_problem
from odradek.server.metrics.loop_delay import LoopDelay

if TYPE_CHECKING:
    from odradek.server.metrics.metrics_page import Metrics
    from odradek.server.node import Node

logger = logging.getLogger("odradek.admin")

SETTING = "odradek.admin.listener"


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
        self._delay = LoopDelay()
        self._metrics: Metrics | None = None
        self._pages = HttpPages(address, {"/metrics": self._measured, "/healthz": self._healthy})

    @property
    def port(self) -> int:
        return self._pages.port

    async def start(self) -> None:
        try:
            await self._pages.start()
        except OSError as error:
            location = self._node.config.settings.where(SETTING)
            reason = error.strerror or error
            raise InputError(f"{location}: {self._pages.address}: {reason}. Choose an address that is free.") from None
        self._delay.start()
        logger.info("metrics and health on http://%s", self._pages.address)

    async def stop(self) -> None:
        self._delay.stop()
        await self._pages.stop()

    async def _healthy(self) -> Page:
        return health_page(health_problem(self._node))

    async def _measured(self) -> Page:
        # Imported by the first who asks: a node that nobody watches needs none of it.
        from odradek.common.metrics_text import CONTENT_TYPE
        from odradek.server.metrics.metrics_page import Metrics

        if self._metrics is None:
            self._metrics = Metrics(self._node, self._delay)
        return Page(200, await asyncio.to_thread(self._metrics.text), CONTENT_TYPE)
