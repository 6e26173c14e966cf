"""Serves `/metrics` and `/healthz` of a run over plain HTTP, in a thread with an event loop of its own.

There is no authentication: without a host it listens on the loopback interface alone.
"""

import asyncio
import os
import threading
from collections.abc import Callable
from concurrent.futures import Future

from odradek.common.addresses import NOT_ROUTABLE, BadAddress, HostPort, parse_host_port
from odradek.common.failures import InputError
from odradek.common.metrics_text import CONTENT_TYPE
from odradek.observability.http_pages import HttpPages, Page, health_page
from odradek.spark.pipeline import events
from odradek.spark.pipeline.state import RunState
from odradek.spark.pipeline.watch.metrics import Metrics

_HOST = "127.0.0.1"


def parse_metrics_address(text: str) -> HostPort:
    """Read PORT or HOST:PORT; HOST may be 0.0.0.0. Raises InputError."""
    host, _, port = text.rpartition(":")
    try:
        address = parse_host_port(f"{_HOST if host in ('', NOT_ROUTABLE) else host}:{port}")
    except BadAddress:
        raise InputError(f"--metrics: {text!r} is not an address, such as 9646 or 0.0.0.0:9646") from None
    return HostPort(NOT_ROUTABLE, address.port) if host == NOT_ROUTABLE else address


class MetricsServer:
    """`state` returns the state of the run; it is called in another thread. Use it as a context."""

    def __init__(self, address: HostPort, state: Callable[[], RunState]) -> None:
        self._state = state
        self._metrics = Metrics(state)
        self._pages = HttpPages(address, {"/metrics": self._measure, "/healthz": self._report_health})
        self._thread = threading.Thread(target=self._serve, name="metrics", daemon=True)
        self._started: Future[None] = Future()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stopping: asyncio.Event | None = None

    @property
    def address(self) -> HostPort:
        """Address with the port that is bound, once started."""
        return self._pages.address

    def __enter__(self) -> "MetricsServer":
        """Raises InputError if the address is not available."""
        self._thread.start()
        try:
            self._started.result()
        except OSError as error:
            # asyncio's own text repeats the address.
            reason = os.strerror(error.errno) if error.errno and error.errno > 0 else error
            raise InputError(f"--metrics: {self._pages.address}: {reason}; choose another port") from None
        return self

    def __exit__(self, *_: object) -> None:
        if self._loop is not None and self._stopping is not None:
            self._loop.call_soon_threadsafe(self._stopping.set)
        self._thread.join()

    def _serve(self) -> None:
        asyncio.run(self._serve_pages())

    async def _serve_pages(self) -> None:
        self._loop, self._stopping = asyncio.get_running_loop(), asyncio.Event()
        try:
            await self._pages.start()
        except OSError as error:
            self._started.set_exception(error)
            return
        self._started.set_result(None)
        await self._stopping.wait()
        await self._pages.stop()

    async def _measure(self) -> Page:
        return Page(200, self._metrics.text(), CONTENT_TYPE)

    async def _report_health(self) -> Page:
        state = self._state()
        if state.attempt == 0:
            return health_page("Spark is starting")
        is_well = state.state in (events.RUNNING, "waiting")
        return health_page(None if is_well else f"{state.state}: {state.last_error or 'no error'}")
