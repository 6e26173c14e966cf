"""A plain connection's transport: a socket behind a `Poller`, for a protocol with buffers of its own.

It keeps the contract of asyncio's transports, as far as `Connection` uses it. The loops' own take over a kilobyte a
connection, and read from every socket that is ready before anything else gets its turn; this one takes 300 bytes, and
reads once each time that it is told.

Sockets that nobody wants to read or write are not watched at all: a peer's end is noticed with the next read or write.
"""

import asyncio
import socket
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from typing import Any

from odradek.common.ports import Buffer
from odradek.network.poller import READABLE, WRITABLE, Poller

#: How many pieces the system takes at once: well below every system's IOV_MAX.
_PIECES_AT_ONCE = 256

#: Once that part of the limit is left unsent, the protocol may write again; as asyncio's.
_RESUMED_PART = 4

_WOULD_BLOCK = (BlockingIOError, InterruptedError)


class SocketTransport(asyncio.Transport):
    __slots__ = (
        "_closing",
        "_events",
        "_lost",
        "_poller",
        "_socket",
        "_told",
        "_unsent",
        "_unsent_bytes",
        "_unsent_bytes_max",
        "_writing_paused",
    )

    def __init__(self, poller: Poller, opened: socket.socket, protocol: asyncio.BufferedProtocol) -> None:
        """`opened` does not block. The protocol is told at once, and then reads."""
        self._poller = poller
        self._socket = opened
        #: The protocol.
        self._told = protocol
        #: What is watched for.
        self._events = 0
        self._unsent: deque[Buffer] | None = None
        self._unsent_bytes = 0
        self._unsent_bytes_max = 0
        self._writing_paused = False
        self._closing = False
        self._lost = False
        protocol.connection_made(self)
        if not self._closing:
            self._watch(READABLE)

    # What the protocol calls.

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        try:
            if name == "peername":
                return self._socket.getpeername()
            if name == "sockname":
                return self._socket.getsockname()
        except OSError:
            return default
        return self._socket if name == "socket" else default

    def is_closing(self) -> bool:
        return self._closing

    def is_reading(self) -> bool:
        return bool(self._events & READABLE)

    def pause_reading(self) -> None:
        self._watch(self._events & ~READABLE)

    def resume_reading(self) -> None:
        if not self._closing:
            self._watch(self._events | READABLE)

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        self._unsent_bytes_max = high or 0

    def get_write_buffer_size(self) -> int:
        return self._unsent_bytes

    def write(self, data: Buffer) -> None:
        if self._closing:
            return
        sent = 0
        if self._unsent is None:
            sent = self._attempt(self._socket.send, data)
            if sent == len(data):
                return
        self._keep((data,), sent)

    def writelines(self, pieces: Iterable[Buffer]) -> None:
        if self._closing:
            return
        pieces, sent = list(pieces), 0
        if self._unsent is None:
            sent = self._attempt(self._socket.sendmsg, pieces[:_PIECES_AT_ONCE])
            if sent == sum(map(len, pieces)):
                return
        self._keep(pieces, sent)

    def close(self) -> None:
        """Close after everything that was written has been sent."""
        if self._closing:
            return
        self._closing = True
        self._watch(self._events & ~READABLE)
        if self._unsent is None:
            self._lose(None)

    def abort(self) -> None:
        self._lose(None)

    # What the poller calls.

    def ready(self, events: int) -> None:
        if self._unsent is not None and events & ~READABLE:
            self._send_on()
        if self._events & READABLE and events & ~WRITABLE:
            self._receive()

    def fail(self, error: Exception) -> None:
        self._lose(error)

    def _receive(self) -> None:
        protocol = self._told
        try:
            count = self._socket.recv_into(protocol.get_buffer(-1))
        except _WOULD_BLOCK:
            return
        except OSError as error:
            self._lose(error)
            return
        if count:
            protocol.buffer_updated(count)
        elif not protocol.eof_received():
            self.close()
        else:
            self.pause_reading()

    # Unsent, and the end.

    def _attempt(self, send: Callable[[Any], int], data: Any) -> int:
        """Return how many bytes the system accepted."""
        try:
            return send(data)
        except _WOULD_BLOCK:
            return 0
        except OSError as error:
            self._lose(error)
            return 0

    def _keep(self, pieces: Sequence[Buffer], sent: int) -> None:
        """Those, but for the first `sent` bytes, for when there is room."""
        if self._lost:
            return
        if self._unsent is None:
            self._unsent = deque()
        self._unsent.extend(pieces)
        self._unsent_bytes += sum(map(len, pieces))
        self._drop_sent(sent)
        self._watch(self._events | WRITABLE)
        if self._unsent_bytes > self._unsent_bytes_max and not self._writing_paused:
            self._writing_paused = True
            self._told.pause_writing()

    def _send_on(self) -> None:
        assert self._unsent is not None
        self._drop_sent(self._attempt(self._socket.sendmsg, list(islice(self._unsent, _PIECES_AT_ONCE))))
        if self._lost:
            return
        if not self._unsent:
            self._unsent = None
            self._watch(self._events & ~WRITABLE)
            if self._closing:
                self._lose(None)
                return
        if self._writing_paused and self._unsent_bytes <= self._unsent_bytes_max // _RESUMED_PART:
            self._writing_paused = False
            self._told.resume_writing()

    def _drop_sent(self, sent: int) -> None:
        unsent = self._unsent
        if not sent or unsent is None:
            return
        self._unsent_bytes -= sent
        while unsent and sent >= len(unsent[0]):
            sent -= len(unsent.popleft())
        if sent:
            unsent[0] = memoryview(unsent[0])[sent:]

    def _watch(self, events: int) -> None:
        if events == self._events:
            return
        try:
            self._poller.watch(self._socket.fileno(), self, self._events, events)
        except OSError as error:
            self._lose(error)
        else:
            self._events = events

    def _lose(self, error: Exception | None) -> None:
        """The protocol hears of it a little later, as it would from any transport: never within its own call."""
        if self._lost:
            return
        self._lost = self._closing = True
        self._watch(0)
        self._unsent, self._unsent_bytes = None, 0
        self._poller.loop.call_soon(self._end, error)

    def _end(self, error: Exception | None) -> None:
        """Nothing refers to the protocol afterwards, so that its memory is free without a search for cycles."""
        try:
            self._told.connection_lost(error)
        finally:
            del self._told
            self._socket.close()
