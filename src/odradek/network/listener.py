"""A listener: a bound socket and its connections, from start to a graceful stop.

One coarse timer looks after the deadlines of all connections: newcomers and those that are being closed at every tick,
the idle ones now and then, so that ten thousand quiet connections cost nothing to speak of.
"""

import asyncio
import errno
import itertools
import socket
import ssl
from collections import Counter
from collections.abc import Iterator, Sequence

from odradek.common.failures import InputError, check
from odradek.network.connection import Connection
from odradek.network.endpoint import Endpoint, logger

#: Kafka's socket.listen.backlog.size.
BACKLOG = 50

#: Closing takes some 30 µs a connection, and others wait meanwhile.
_CLOSED_AT_ONCE = 100
_PAUSE_MS = 10

#: Idle connections are looked for this often within the idle limit.
_IDLE_LOOKS = 10


class Listener:
    def __init__(
        self,
        endpoint: Endpoint,
        host: str,
        port: int,
        *,
        backlog: int = BACKLOG,
        ssl_context: ssl.SSLContext | None = None,
    ) -> None:
        """An empty `host` is every address; port 0 is any free port."""
        self.endpoint = endpoint
        self.host = host
        self.port = port
        self._backlog = backlog
        self._ssl_context = ssl_context
        self._server: asyncio.Server | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._idle_look_ms = 0

    async def start(self) -> None:
        """Bind and accept."""
        await self.bind()
        await self.serve()

    async def bind(self) -> None:
        """Take the port; who connects is refused until `serve`. InputError says what is wrong with the address."""
        loop = asyncio.get_running_loop()
        endpoint = self.endpoint
        endpoint.now_ms = int(loop.time() * 1000)
        try:
            self._server = await loop.create_server(
                lambda: Connection(endpoint),
                self.host or None,
                self.port,
                backlog=self._backlog,
                ssl=self._ssl_context,
                ssl_handshake_timeout=endpoint.limits.first_request_ms_max / 1000 if self._ssl_context else None,
                start_serving=False,
            )
            for bound in self._server.sockets:
                self._set_options(bound)
        except OSError as error:
            raise InputError(self._explained(error)) from None
        self.port = int(self._server.sockets[0].getsockname()[1])

    async def serve(self) -> None:
        check(self._server is not None, "a listener is bound before it serves")
        assert self._server is not None
        loop = asyncio.get_running_loop()
        try:
            await self._server.start_serving()
        except OSError as error:
            raise InputError(self._explained(error)) from None
        self._tick(loop)

    async def stop(self, timeout_ms: int = 10_000) -> None:
        """Accept no more, answer what is in flight, close. What is not done by then is cut off."""
        if self._timer is not None:
            self._timer.cancel()
        if self._server is None:
            return
        self._server.close()
        connections = list(self.endpoint.connections)
        if connections:
            drained = [asyncio.ensure_future(connection.drain()) for connection in connections]
            _, late = await asyncio.wait(drained, timeout=timeout_ms / 1000)
            for connection in list(self.endpoint.connections):
                connection.abort()
            if late:
                logger.warning("listener %s: %d connections were cut off", self.endpoint.name, len(late))
                await asyncio.wait(late)
        await self._server.wait_closed()
        self._server = None

    def _tick(self, loop: asyncio.AbstractEventLoop) -> None:
        limits = self.endpoint.limits
        now_ms = self.endpoint.now_ms = int(loop.time() * 1000)
        self._log_refusals()
        overdue = list(itertools.islice(self._overdue(now_ms), _CLOSED_AT_ONCE))
        self._close(overdue)
        pause_ms = limits.tick_ms if len(overdue) < _CLOSED_AT_ONCE else min(limits.tick_ms, _PAUSE_MS)
        self._timer = loop.call_later(pause_ms / 1000, self._tick, loop)

    def _overdue(self, now_ms: int) -> Iterator[tuple[Connection, str]]:
        """With what they have not done."""
        endpoint, idle_ms_max = self.endpoint, self.endpoint.limits.idle_ms_max
        for connection, deadline in endpoint.deadlines.items():
            if now_ms >= deadline.at_ms and not connection.busy:
                yield connection, deadline.reason
        if idle_ms_max >= 0 and now_ms >= self._idle_look_ms:
            for connection in endpoint.connections:
                if now_ms - connection.last_active_ms >= idle_ms_max and not connection.busy:
                    yield connection, f"idle for {idle_ms_max} ms"
            self._idle_look_ms = now_ms + idle_ms_max // _IDLE_LOOKS

    def _close(self, overdue: Sequence[tuple[Connection, str]]) -> None:
        """One line in the log for one connection, and one for a hundred with the same reason."""
        counts = Counter(reason for _, reason in overdue)
        for reason, count in counts.items():
            if count > 1:
                logger.info("listener %s: closed %d connections: %s", self.endpoint.name, count, reason)
        for connection, reason in overdue:
            if counts[reason] == 1:
                logger.info("connection %s: closed: %s", connection.session.connection_id, reason)
            connection.abort()

    def _log_refusals(self) -> None:
        refusals = self.endpoint.refusals
        if refusals:
            logger.warning("listener %s: refused %d connections: %s", self.endpoint.name, len(refusals), refusals[-1])
            refusals.clear()

    def _set_options(self, bound: socket.socket) -> None:
        """Accepted sockets inherit them; sizes are set before the first connection, as window scaling demands."""
        limits = self.endpoint.limits
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        if limits.receive_buffer_bytes > 0:
            bound.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, limits.receive_buffer_bytes)
        if limits.send_buffer_bytes > 0:
            bound.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, limits.send_buffer_bytes)

    def _explained(self, error: OSError) -> str:
        address = f"{self.endpoint.name}://{self.host}:{self.port}"
        advice = {
            errno.EADDRINUSE: f"port {self.port} is taken. Stop what listens there, or choose another port.",
            errno.EADDRNOTAVAIL: f"{self.host} is no address of this machine. An empty host listens on all of them.",
            errno.EACCES: f"port {self.port} is not for this user. Ports from 1024 on are for everybody.",
        }
        if isinstance(error, socket.gaierror):
            return f"listeners: {address}: the host {self.host} is not known. An address of this machine is needed."
        return f"listeners: {address}: {advice.get(error.errno or 0, str(error))}"
