"""One outgoing connection: requests leave with rising correlation ids, responses find those who wait for them.

Responses come in the order of the requests, so that only the oldest is expected. A connection is used until it
breaks, and never again after: `Wire.lost` says why, and everybody who waits is told.
"""

import asyncio
import socket
from collections import deque
from collections.abc import Callable
from typing import cast

from odradek.client.net.peer_diagnosis import MAY_BE_NO_NODE
from odradek.common.failures import ApiError, ProtocolError
from odradek.errors import Disconnected, RequestTimedOut
from odradek.protocol.api_keys import ApiKey
from odradek.protocol.error_codes import ErrorCode
from odradek.protocol.framing import FrameReader, OtherProtocol, frame
from odradek.protocol.message import Message
from odradek.protocol.messages.request_header import RequestHeader
from odradek.protocol.requests import parse_response, request_parts

_CORRELATION_ID_MASK = 2**31 - 1

#: Of small responses, and of the beginning of large ones.
_RECEIVE_BYTES = 64 * 1024


class _Expected:
    """A response that is due."""

    __slots__ = ("api_key", "correlation_id", "deadline_s", "response", "version")

    def __init__(
        self,
        api_key: int,
        version: int,
        correlation_id: int,
        deadline_s: float,
        response: "asyncio.Future[Message]",
    ) -> None:
        self.api_key = api_key
        self.version = version
        self.correlation_id = correlation_id
        self.deadline_s = deadline_s
        self.response = response


class Wire(asyncio.BufferedProtocol):
    def __init__(self, client_id: str, response_bytes_max: int, on_lost: Callable[["Wire", str], None]) -> None:
        """`on_lost` is called once, when the connection is gone for whatever reason."""
        self.lost = ""
        self._client_id = client_id
        self._on_lost = on_lost
        self._reader = FrameReader(response_bytes_max, is_peer_trusted=True)
        self._buffer = memoryview(bytearray(_RECEIVE_BYTES))
        self._expected: deque[_Expected] = deque()
        self._correlation_id = -1
        #: When it goes off is kept beside it: uvloop's handles do not always know.
        self._timer: asyncio.TimerHandle | None = None
        self._timer_s = 0.0
        self._transport: asyncio.Transport | None = None
        #: There while the peer does not take what is written.
        self._blocked: asyncio.Future[None] | None = None
        self._loop = asyncio.get_running_loop()

    @property
    def in_flight(self) -> int:
        return len(self._expected)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        opened = transport.get_extra_info("socket")
        opened.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        if self.lost:  # given up before it was there
            self._transport.abort()

    def set_buffers(self, send_bytes: int, receive_bytes: int) -> None:
        """-1 leaves one to the system."""
        opened = self._transport.get_extra_info("socket") if self._transport is not None else None
        for option, size in ((socket.SO_SNDBUF, send_bytes), (socket.SO_RCVBUF, receive_bytes)):
            if opened is not None and size >= 0:
                opened.setsockopt(socket.SOL_SOCKET, option, size)

    @property
    def is_blocked(self) -> bool:
        """The peer does not take what is written."""
        return self._blocked is not None

    def send(self, request: Message, version: int, timeout_ms: float) -> "asyncio.Future[Message]":
        """The response, some time. Raises what the codec raises when the version cannot say the request."""
        correlation_id = self._write(request, version)
        response: asyncio.Future[Message] = self._loop.create_future()
        deadline_s = self._loop.time() + timeout_ms / 1000
        self._expected.append(_Expected(request.API_KEY, version, correlation_id, deadline_s, response))
        self._watch(deadline_s)
        return response

    def send_and_forget(self, request: Message, version: int) -> None:
        """For a request that has no response: Produce with acks=0."""
        self._write(request, version)

    async def writable(self) -> None:
        """Returns when the peer takes what is written, or when the connection is gone."""
        if self._blocked is not None:
            await asyncio.shield(self._blocked)

    def pause_writing(self) -> None:
        self._blocked = self._loop.create_future()

    def resume_writing(self) -> None:
        if self._blocked is not None:
            self._blocked.set_result(None)
            self._blocked = None

    def _write(self, request: Message, version: int) -> int:
        """Gives the correlation id."""
        correlation_id = (self._correlation_id + 1) & _CORRELATION_ID_MASK
        header = RequestHeader(
            request_api_key=request.API_KEY,
            request_api_version=version,
            correlation_id=correlation_id,
            client_id=self._client_id,
        )
        pieces = frame(request_parts(header, request))
        if self.lost or self._transport is None:
            raise Disconnected(self.lost or "not connected")
        self._correlation_id = correlation_id
        self._transport.write(b"".join(pieces))
        return correlation_id

    def close(self, reason: str) -> None:
        self._lose(Disconnected(reason))

    def get_buffer(self, sizehint: int) -> memoryview:
        """The rest of a large response is received where it will stay; all else passes through a buffer."""
        return self._reader.room() or self._buffer

    def buffer_updated(self, nbytes: int) -> None:
        reader = self._reader
        try:
            if reader.is_direct:
                frames = reader.received(nbytes)
                if frames is not None:
                    self._receive(frames)
                return
            for received in reader.feed(self._buffer[:nbytes]):
                self._receive(received)
        except ProtocolError as flaw:
            if isinstance(flaw, OtherProtocol):
                reason = f"the peer speaks {flaw.protocol}, not Kafka's protocol"
            else:
                reason = f"the peer broke the protocol: {flaw}"
            self._lose(Disconnected(reason))

    def connection_lost(self, exc: Exception | None) -> None:
        broke = f"the connection broke: {getattr(exc, 'strerror', None) or exc}"
        reason = broke if exc else "the peer closed the connection"
        was_ever_answered = self._correlation_id != 0 or not self._expected
        self._lose(Disconnected(reason if was_ever_answered else f"{reason}; {MAY_BE_NO_NODE}"))

    def _receive(self, received: bytearray) -> None:
        if not self._expected:
            raise ProtocolError("a response that nobody asked for")
        expected = self._expected[0]
        version = expected.version
        if expected.api_key == ApiKey.API_VERSIONS and _is_refused_version(received):
            version = 0
        header, response = parse_response(received, expected.api_key, version)
        if header.correlation_id != expected.correlation_id:
            raise ProtocolError(f"response {header.correlation_id} where {expected.correlation_id} is due")
        self._expected.popleft()
        if not expected.response.done():
            expected.response.set_result(response)

    def _watch(self, deadline_s: float) -> None:
        """One timer, for the earliest deadline."""
        if self._timer is None or deadline_s < self._timer_s:
            if self._timer is not None:
                self._timer.cancel()
            self._timer_s = deadline_s
            self._timer = self._loop.call_at(deadline_s, self._look_at_deadlines)

    def _look_at_deadlines(self) -> None:
        self._timer = None
        if not self._expected:
            return
        earliest = min(self._expected, key=lambda expected: expected.deadline_s)
        if earliest.deadline_s > self._loop.time():
            self._watch(earliest.deadline_s)
            return
        key = ApiKey(earliest.api_key).name
        # What comes after a lost answer cannot be told from it, and a peer that hangs is no use to the others.
        self._lose(RequestTimedOut(f"no response to {key} in time"))

    def _lose(self, error: ApiError) -> None:
        if self.lost:
            return
        self.lost = error.message
        if self._timer is not None:
            self._timer.cancel()
        now_s = self._loop.time()
        expected, self._expected = self._expected, deque()
        for response in expected:
            if not response.response.done():
                late = isinstance(error, RequestTimedOut) and response.deadline_s <= now_s
                response.response.set_exception(error if late else Disconnected(error.message))
        if self._transport is not None:
            self._transport.abort()
        self.resume_writing()
        self._on_lost(self, self.lost)


def _is_refused_version(received: bytearray) -> bool:
    """The error code comes first in every version, behind a header of four bytes."""
    return int.from_bytes(received[4:6], "big") == ErrorCode.UNSUPPORTED_VERSION
