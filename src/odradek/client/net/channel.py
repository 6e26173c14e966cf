"""A channel to one node: connects when it is needed, learns the node's versions, sends, and starts again when it broke.

`send` connects first if there is no connection; who sends meanwhile waits for the same attempt. An attempt that fails,
fails all of them, and the next one is not made before the back-off has passed (exponential, with jitter). Nothing is
sent twice: a request whose connection breaks fails with `Disconnected`, and the caller, who knows whether it may be
repeated, decides. A request that times out takes the connection with it.
"""

import asyncio
import random
import socket
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from odradek import __version__
from odradek.client.net.backoff import Backoff
from odradek.client.net.in_flight_limit import Places
from odradek.client.net.peer_diagnosis import MAY_BE_NO_NODE
from odradek.client.net.versions import version_for
from odradek.client.net.wire import Wire
from odradek.common.failures import ApiError
from odradek.errors import Disconnected, RequestTimedOut
from odradek.protocol.api_keys import ApiKey
from odradek.protocol.error_codes import ErrorCode
from odradek.protocol.framing import FRAME_BYTES_MAX
from odradek.protocol.message import Message
from odradek.protocol.messages.api_versions_request import ApiVersionsRequest
from odradek.protocol.messages.api_versions_response import ApiVersionsResponse
from odradek.protocol.schema import Versions

#: Beyond this a time-out is larger than any limit.
_DOUBLINGS_MAX = 30

#: The newest version that is not under development; a peer that does not have it says which it has.
_API_VERSIONS_VERSION = 4


@dataclass(frozen=True, slots=True)
class FinalizedFeatures:
    """Levels by name; the later epoch is the newer truth."""

    epoch: int = -1
    levels: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ChannelConfig:
    client_id: str = "odradek"
    #: socket.connection.setup.timeout.ms: to connect and to learn the versions.
    connect_timeout_ms: int = 10_000
    #: socket.connection.setup.timeout.max.ms: it doubles with each failure up to this.
    connect_timeout_max_ms: int = 10_000
    #: reconnect.backoff.ms, reconnect.backoff.max.ms
    reconnect_backoff_ms: int = 50
    reconnect_backoff_max_ms: int = 1_000
    #: max.in.flight.requests.per.connection
    in_flight_max: int = 5
    #: send.buffer.bytes, receive.buffer.bytes; -1 leaves them to the system, which tunes them.
    send_buffer_bytes: int = -1
    receive_buffer_bytes: int = -1
    #: A response beyond this is no response.
    response_bytes_max: int = FRAME_BYTES_MAX


class ChannelObserver(Protocol):
    """Hears of what becomes of the connection, at once."""

    def connected(self) -> None: ...

    def connect_failed(self, error: Disconnected) -> None: ...

    def disconnected(self, reason: str) -> None:
        """An established connection was lost; not when we closed it."""


class _Refused(OSError):
    """Nobody listens there."""


class Channel:
    def __init__(
        self,
        host: str,
        port: int,
        config: ChannelConfig | None = None,
        *,
        on_disconnect: Callable[[str], None] = lambda reason: None,
        observer: ChannelObserver | None = None,
        randomness: random.Random | None = None,
    ) -> None:
        """`on_disconnect` is called with the reason when an established connection is lost, at once; not when we close
        it. `observer` hears of that and of each attempt to connect."""
        self.host = host
        self.port = port
        self.config = config or ChannelConfig()
        #: Of the node at the other end, once there was a connection; by API key.
        self.api_versions: Mapping[int, Versions] = {}
        #: Of the cluster, as that node knows them.
        self.features = FinalizedFeatures()
        self._on_disconnect = on_disconnect
        self._observer = observer
        self._random = randomness or random.Random()
        self._wire: Wire | None = None
        self._attempt: asyncio.Task[Wire] | None = None
        self._backoff = Backoff(self.config.reconnect_backoff_ms, self.config.reconnect_backoff_max_ms)
        self._failures = 0
        self._retry_at_s = 0.0
        self._places = Places(self.config.in_flight_max)
        self._closed = False

    @property
    def connected(self) -> bool:
        return self._wire is not None

    @property
    def in_flight(self) -> int:
        """Requests that have no answer yet, with those that wait for the connection."""
        return self._places.taken

    @property
    def is_ready(self) -> bool:
        """Whether `post` would send."""
        return self._wire is not None and self._places.has_room

    @property
    def is_backing_off(self) -> bool:
        """The last attempt failed, or the connection broke, and it is too early for the next one."""
        return self._wire is None and self._retry_at_s > asyncio.get_running_loop().time()

    @property
    def is_failing(self) -> bool:
        """There is no connection since the last attempt failed, or since it broke."""
        return self._wire is None and self._failures > 0

    def post(
        self, request: Message, timeout_ms: float, *, version: int | None = None
    ) -> "asyncio.Future[Message] | None":
        """Sends at once if it is connected and there is a place; else None. Whoever gets the future leaves it alone:
        the place is free again when it is done. Raises VersionsDiffer, and what the codec raises."""
        wire = self._wire
        if wire is None or not self._places.take_now():
            return None
        try:
            response = wire.send(request, self.version_for(request, version), timeout_ms)
        except BaseException:
            self._places.give_back()
            raise
        response.add_done_callback(self._answered)
        return response

    def post_and_forget(self, request: Message, *, version: int | None = None) -> bool:
        """A request that has no response: Produce with acks=0. False, and not sent, unless the peer takes it now."""
        wire = self._wire
        if wire is None or wire.is_blocked:
            return False
        wire.send_and_forget(request, self.version_for(request, version))
        return True

    def begin_to_connect(self) -> None:
        """Unless it is connected, or connecting, or it is too early. What becomes of it is not told."""
        if self._wire is None and not self._closed and not self.is_backing_off:
            self._begin()

    async def ready(self) -> None:
        """Returns when it is connected and there was a place. Raises Disconnected."""
        await self._places.take()
        try:
            await self._connected()
        finally:
            self._places.give_back()

    async def connect(self, timeout_ms: float | None = None) -> None:
        """For those who want to know before they send."""
        if timeout_ms is None:
            await self._connected()
            return
        async with _deadline(asyncio.get_running_loop().time() + timeout_ms / 1000, self):
            await self._connected()

    async def send(self, request: Message, timeout_ms: float, *, version: int | None = None) -> Any:
        """The response. `timeout_ms` is for all of it: connecting, waiting for one's turn, and the answer.

        Raises Disconnected, RequestTimedOut or VersionsDiffer; and UnsupportedVersion of the codec when the version
        cannot say what the request holds.
        """
        loop = asyncio.get_running_loop()
        deadline_s = loop.time() + timeout_ms / 1000
        async with _deadline(deadline_s, self):
            await self._places.take()
            try:
                wire = await self._connected()
                left_ms = (deadline_s - loop.time()) * 1000
                if left_ms <= 0:  # sent now, it would only take the connection from the others
                    raise self.not_sent()
                response = wire.send(request, self.version_for(request, version), left_ms)
            except BaseException:
                self._places.give_back()
                raise
        response.add_done_callback(self._answered)
        return await asyncio.shield(response)

    async def send_and_forget(self, request: Message, timeout_ms: float, *, version: int | None = None) -> None:
        """A request that has no response: Produce with acks=0."""
        async with _deadline(asyncio.get_running_loop().time() + timeout_ms / 1000, self):
            wire = await self._connected()
            await wire.writable()
        wire.send_and_forget(request, self.version_for(request, version))

    def version_for(self, request: Message | type[Message], wanted: int | None = None) -> int:
        """The highest version that both ends have, or the one that is wanted if both have it."""
        return version_for(request, self.api_versions, f"{self.host}:{self.port}", wanted)

    def not_sent(self) -> RequestTimedOut:
        return RequestTimedOut(f"{self.host}:{self.port}: not sent in time")

    async def close(self) -> None:
        """Whoever waits is told; the channel is of no use after."""
        self._closed = True
        if self._attempt is not None:
            self._attempt.cancel()
            await asyncio.wait([self._attempt])
        if self._wire is not None:
            self._wire.close("the channel was closed")
            # The loop takes the socket down in its next round.
            await asyncio.sleep(0)

    async def _connected(self) -> Wire:
        if self._wire is not None:
            return self._wire
        if self._closed:
            raise Disconnected("the channel was closed")
        attempt = self._begin()
        # One who gives up does not take the attempt from the others.
        await asyncio.wait([attempt])
        if attempt.cancelled():
            raise Disconnected("the channel was closed")
        return attempt.result()

    def _begin(self) -> "asyncio.Task[Wire]":
        if self._attempt is None:
            self._attempt = asyncio.ensure_future(self._try_to_connect())
            self._attempt.add_done_callback(self._attempted)
        return self._attempt

    def _answered(self, response: "asyncio.Future[Message]") -> None:
        """The place is free again when the answer is there, not when the caller has lost interest."""
        self._places.give_back()
        if not response.cancelled():
            response.exception()  # a caller that is still there has it

    def _attempted(self, attempt: "asyncio.Task[Wire]") -> None:
        self._attempt = None
        if not attempt.cancelled():
            attempt.exception()  # those who wait have it; there may be none left

    async def _try_to_connect(self) -> Wire:
        loop = asyncio.get_running_loop()
        await asyncio.sleep(max(0.0, self._retry_at_s - loop.time()))
        wire = Wire(self.config.client_id, self.config.response_bytes_max, self._lost)
        timeout_ms = self._connect_timeout_ms()
        is_open = False
        try:
            async with asyncio.timeout(timeout_ms / 1000):
                await self._open(loop, wire)
                wire.set_buffers(self.config.send_buffer_bytes, self.config.receive_buffer_bytes)
                is_open = True
                versions = await self._learn_versions(wire)
                if wire.lost:  # between its answer and our turn
                    raise Disconnected(wire.lost)
        except (OSError, ApiError, ValueError, OverflowError) as error:  # the last two: what is no host, no port
            self._back_off(loop.time())
            wire.close("no versions")
            text = self._explained(error, timeout_ms, is_open=is_open)
            failure = Disconnected(f"{self.host}:{self.port}: {text}", refused=isinstance(error, _Refused))
            if self._observer is not None:
                self._observer.connect_failed(failure)
            raise failure from None
        except asyncio.CancelledError:
            wire.close("the channel was closed")
            raise
        self._failures = 0
        self.api_versions = versions
        self._wire = wire
        if self._observer is not None:
            self._observer.connected()
        return wire

    def _connect_timeout_ms(self) -> int:
        config = self.config
        doubled_ms: int = config.connect_timeout_ms << min(self._failures, _DOUBLINGS_MAX)
        return max(config.connect_timeout_ms, min(doubled_ms, config.connect_timeout_max_ms))

    def _explained(self, error: Exception, timeout_ms: int, *, is_open: bool) -> str:
        """`is_open`: there was a connection, and no answer on it."""
        if isinstance(error, TimeoutError | RequestTimedOut):
            waited = f"in {timeout_ms} ms"
            return f"no answer {waited}; {MAY_BE_NO_NODE}" if is_open else f"no connection {waited}"
        return error.strerror if isinstance(error, OSError) and error.strerror else str(error)

    async def _open(self, loop: asyncio.AbstractEventLoop, wire: Wire) -> None:
        """The addresses of the host, one after the other: only if each of them refuses, nobody listens."""
        failures: list[OSError] = []
        for family, address in await _addresses(self.host, self.port):
            try:
                await loop.create_connection(lambda: wire, address, self.port, family=family)
                return
            except OSError as failure:
                failures.append(failure)
        if all(isinstance(failure, ConnectionRefusedError) for failure in failures):
            raise _Refused("connection refused")
        raise next(failure for failure in failures if not isinstance(failure, ConnectionRefusedError))

    async def _learn_versions(self, wire: Wire) -> Mapping[int, Versions]:
        response = await self._ask_versions(wire, _API_VERSIONS_VERSION)
        if response.error_code == ErrorCode.UNSUPPORTED_VERSION:
            own = [each.max_version for each in response.api_keys if each.api_key == ApiKey.API_VERSIONS]
            response = await self._ask_versions(wire, min(own[0], _API_VERSIONS_VERSION) if own else 0)
        if response.error_code:
            raise Disconnected(f"ApiVersions was refused with error {response.error_code}")
        levels = {each.name: each.max_version_level for each in response.finalized_features}
        self.features = FinalizedFeatures(response.finalized_features_epoch, levels)
        return {each.api_key: Versions(each.min_version, each.max_version) for each in response.api_keys}

    async def _ask_versions(self, wire: Wire, version: int) -> ApiVersionsResponse:
        request = ApiVersionsRequest(client_software_name="odradek", client_software_version=__version__)
        response = await wire.send(request, version, self.config.connect_timeout_ms)
        assert isinstance(response, ApiVersionsResponse)
        return response

    def _back_off(self, now_s: float) -> None:
        self._failures += 1
        self._retry_at_s = now_s + self._backoff.delay_ms(self._failures, self._random) / 1000

    def _lost(self, wire: Wire, reason: str) -> None:
        if wire is not self._wire:
            return
        self._wire = None
        if not self._closed:
            self._back_off(asyncio.get_running_loop().time())
            self._on_disconnect(reason)
            if self._observer is not None:
                self._observer.disconnected(reason)


async def _addresses(host: str, port: int) -> list[tuple[int, str]]:
    """Family and address, in the system's order."""
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return [(family, str(address[0])) for family, _, _, _, address in found]


class _deadline:  # noqa: N801 - used as a statement
    """`asyncio.timeout_at` that raises our own error."""

    def __init__(self, deadline_s: float, channel: Channel) -> None:
        self._timeout = asyncio.timeout_at(deadline_s)
        self._channel = channel

    async def __aenter__(self) -> None:
        await self._timeout.__aenter__()

    async def __aexit__(self, kind: Any, error: Any, traceback: Any) -> None:
        try:
            await self._timeout.__aexit__(kind, error, traceback)
        except TimeoutError:
            raise self._channel.not_sent() from None
