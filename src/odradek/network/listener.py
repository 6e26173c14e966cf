"""A listener: a bound socket and its connections, from start to a graceful stop.

One coarse timer looks after the deadlines of all connections: newcomers and those that are being closed at every tick,
the idle ones now and then, so that ten thousand quiet connections cost nothing to speak of.

Plain connections have transports of ours (see `transport`) where the system has what they need; those of TLS, and all
of them elsewhere, have the loop's. A connection is counted from the moment in which it is accepted.
"""

import asyncio
import errno
import itertools
import socket
import ssl
from collections import Counter
from collections.abc import Iterator, Sequence

from odradek.common.failures import InputError, check
from odradek.network import poller
from odradek.network.acceptor import Acceptor
from odradek.network.binding import bound_sockets
from odradek.network.connection import Connection
from odradek.network.creation_rate import CreationRate
from odradek.network.endpoint import Endpoint, logger
from odradek.network.poller import Poller
from odradek.network.transport import SocketTransport

#: Kafka's socket.listen.backlog.size.
BACKLOG = 50

#: Closing takes some 30 µs a connection, and others wait meanwhile.
_CLOSED_AT_ONCE = 20
_PAUSE_MS = 2

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
        creation_rate: CreationRate | None = None,
    ) -> None:
        """An empty `host` is every address; port 0 is any free port."""
        self.endpoint = endpoint
        self.host = host
        self.port = port
        self._backlog = backlog
        self._ssl_context = ssl_context
        self._creation_rate = creation_rate or CreationRate()
        self._acceptor: Acceptor | None = None
        self._poller: Poller | None = None
        #: Newcomers that the loop has not made connections of yet.
        self._joining: set[asyncio.Task[None]] = set()
        self._timer: asyncio.TimerHandle | None = None
        self._idle_look_ms = 0

    async def start(self) -> None:
        """Bind and accept."""
        await self.bind()
        self.listen()
        self.serve()

    async def bind(self) -> None:
        """Take the port; who connects is refused until `listen`. InputError says what is wrong with the address."""
        limits = self.endpoint.limits
        try:
            bound = await bound_sockets(self.host, self.port, limits.receive_buffer_bytes, limits.send_buffer_bytes)
        except OSError as error:
            raise InputError(self._explained(error)) from None
        loop = asyncio.get_running_loop()
        self._acceptor = Acceptor(bound, self._welcome, lambda: self._creation_rate.taken(loop.time()))
        self.port = int(bound[0].getsockname()[1])

    def listen(self) -> None:
        """Accept connections into the backlog; they are not served until `serve`."""
        check(self._acceptor is not None, "a listener is bound before it listens")
        assert self._acceptor is not None
        try:
            self._acceptor.listen(self._backlog)
        except OSError as error:
            raise InputError(self._explained(error)) from None

    def serve(self) -> None:
        check(self._acceptor is not None, "a listener listens before it serves")
        assert self._acceptor is not None
        loop = asyncio.get_running_loop()
        self._acceptor.start()
        if poller.AVAILABLE and self._ssl_context is None:
            self._poller = Poller(loop)
        self._tick(loop)

    async def stop(self, timeout_ms: int = 10_000) -> None:
        """Accept no more, answer what is in flight, close. What is not done by then is cut off."""
        if self._timer is not None:
            self._timer.cancel()
        if self._acceptor is None:
            return
        self._acceptor.stop()
        self._acceptor = None
        for joining in self._joining:
            joining.cancel()
        await self._drain(timeout_ms)
        if self._poller is not None:
            self._poller.close()
            self._poller = None

    async def _drain(self, timeout_ms: int) -> None:
        connections = list(self.endpoint.connections)
        if not connections:
            return
        drained = [asyncio.ensure_future(connection.drain()) for connection in connections]
        _, late = await asyncio.wait(drained, timeout=timeout_ms / 1000)
        for connection in list(self.endpoint.connections):
            connection.abort()
        if late:
            logger.warning("listener %s: %d connections were cut off", self.endpoint.name, len(late))
            await asyncio.wait(late)

    def _welcome(self, opened: socket.socket, ip: str) -> None:
        quotas = self.endpoint.quotas
        refusal = quotas.refusal(ip)
        if refusal:
            self.endpoint.refusals.append(refusal)
            opened.close()
            return
        connection = Connection(self.endpoint, quotas.opened(ip))
        if self._poller is not None:
            SocketTransport(self._poller, opened, connection)
            return
        joining = asyncio.ensure_future(self._join(opened, connection))
        self._joining.add(joining)
        joining.add_done_callback(self._joining.discard)

    async def _join(self, opened: socket.socket, connection: Connection) -> None:
        """Connect a transport of the event loop; with TLS, after the handshake."""
        handshake_s = self.endpoint.limits.first_request_ms_max / 1000 if self._ssl_context else None
        try:
            await asyncio.get_running_loop().connect_accepted_socket(
                lambda: connection, opened, ssl=self._ssl_context, ssl_handshake_timeout=handshake_s
            )
        except BaseException as error:
            if connection not in self.endpoint.connections:
                self.endpoint.quotas.closed(connection.ip)
            if not isinstance(error, OSError):
                raise

    def _tick(self, loop: asyncio.AbstractEventLoop) -> None:
        limits = self.endpoint.limits
        now_ms = self.endpoint.now_ms = int(loop.time() * 1000)
        self._log_refusals()
        overdue = list(itertools.islice(self._overdue(now_ms), _CLOSED_AT_ONCE))
        self._close(overdue)
        pause_ms = limits.tick_ms if len(overdue) < _CLOSED_AT_ONCE else min(limits.tick_ms, _PAUSE_MS)
        self._timer = loop.call_later(pause_ms / 1000, self._tick, loop)

    def _overdue(self, now_ms: int) -> Iterator[tuple[Connection, str]]:
        """Yield overdue connections with the reason to close them."""
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
