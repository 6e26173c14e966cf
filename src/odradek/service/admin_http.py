"""For those who watch a service: whether it is well, and its figures."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Protocol

from odradek.common.addresses import NOT_ROUTABLE, BadAddress, HostPort, parse_host_port
from odradek.common.failures import InputError
from odradek.observability.http_pages import HttpPages, Page, health_page
from odradek.service.threads import ABANDONED_MAX

if TYPE_CHECKING:
    from odradek.service.group_state import GroupPhase
    from odradek.service.metrics import Measured, Metrics

    class Watched(Measured, Protocol):
        @property
        def is_stopping(self) -> bool: ...

        def since_poll_ms(self) -> int | None: ...

        def group_phase(self) -> GroupPhase | None: ...

        def group_text(self) -> str: ...


logger = logging.getLogger("odradek.service")

#: The loop polls ten times a second, but for the time that a rebalance or a whole batch takes.
_SILENCE_MAX_MS = 60_000


def ailment(service: Watched) -> str | None:
    """Why it should get no more, or be started anew; None while it is well."""
    since_poll_ms = service.since_poll_ms()
    if service.is_stopping:
        return "stopping"
    if since_poll_ms is None:
        return "starting"
    if since_poll_ms > _SILENCE_MAX_MS:
        return f"nothing was polled for {since_poll_ms // 1000} s"
    if service.abandoned >= ABANDONED_MAX:
        return f"{service.abandoned} calls in threads hang"
    return None


def unreadiness(service: Watched) -> str | None:
    """Why no messages are handled now; None while it reads, or is a spare member that has nothing to read."""
    # Imported here: the command lists its subcommands without it.
    from odradek.service.group_state import GroupPhase

    reason = ailment(service)
    if reason is None and service.group_phase() in (GroupPhase.JOINING, GroupPhase.WAITING):
        reason = service.group_text()
    return reason


class Watching:
    """The pages /healthz, /readyz and /metrics, if there is an address for them.

    /healthz is for liveness probes: a service that waits for its group is alive, and a restart would only make it wait
    again. /readyz is for readiness probes: 503 until partitions are assigned.
    """

    def __init__(self, listener: str | None, service: Watched) -> None:
        self._service = service
        self._metrics: Metrics | None = None
        self._pages: HttpPages | None = None
        if listener is not None:
            pages = {"/metrics": self._measured, "/healthz": self._healthy, "/readyz": self._ready}
            self._pages = HttpPages(_address(listener), pages)

    @property
    def address(self) -> HostPort | None:
        return self._pages.address if self._pages is not None else None

    async def start(self) -> None:
        if self._pages is None:
            return
        try:
            await self._pages.start()
        except OSError as error:
            reason = error.strerror or error
            raise InputError(
                f"admin_listener: {self._pages.address}: {reason}. Choose an address that is free."
            ) from None
        logger.info("metrics and health on http://%s", self._pages.address)

    async def stop(self) -> None:
        if self._pages is not None:
            await self._pages.stop()

    async def _healthy(self) -> Page:
        reason = ailment(self._service)
        if reason is None and (waiting := unreadiness(self._service)) is not None:
            return Page(200, f"{waiting}\n".encode())
        return health_page(reason)

    async def _ready(self) -> Page:
        return health_page(unreadiness(self._service))

    async def _measured(self) -> Page:
        # Imported by the first who asks: a service that nobody watches needs none of it.
        from odradek.common.metrics_text import CONTENT_TYPE
        from odradek.service.metrics import Metrics

        if self._metrics is None:
            self._metrics = Metrics(self._service)
        return Page(200, self._metrics.text(), CONTENT_TYPE)


def _address(listener: str) -> HostPort:
    """In a container one listens at all addresses."""
    host, _, port = listener.rpartition(":")
    try:
        address = parse_host_port(f"localhost:{port}" if host == NOT_ROUTABLE else listener)
    except BadAddress as error:
        raise InputError(f"admin_listener: {error} An address is host:port, for example 0.0.0.0:9645.") from None
    return HostPort(host, address.port) if host == NOT_ROUTABLE else address
