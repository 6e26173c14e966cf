"""One connection: frames come in, handlers are called, answers leave in the order of the requests.

What has arrived waits in `_arrived`; what has begun and is not answered yet is in `_begun`, in order. `_advance` moves
requests from the one to the other as far as the limits allow, and reading is paused for as long as something waits:
so a peer can make a node hold no more than one read, the requests in flight, and the answers that it does not take.

A request begins when (1) the answers before it are being taken, (2) nothing before it asked to be alone (see
`Api.pipelined`), (3) there are not too many in flight here and (4) on the node. Answers that come at once, while
nothing is in flight, are gathered and written together: that is the path of small requests. Who has sent many of them
is served a slice at a time (see `turns`).

An idle connection holds next to nothing: what it has for requests is made with the first of them, or lent.

A request that has begun runs to its end even if its peer goes, except long polls. Where an answer is missing (a long
poll was dropped, a handler was cancelled) the connection ends: peers tell answers by their order. ProtocolError closes
the connection with one line in the log. Nothing a peer does raises out of here.
"""

import asyncio
from collections.abc import Awaitable
from time import perf_counter_ns
from typing import cast

from odradek.api.dispatch.context import Context, Session
from odradek.api.dispatch.error_responses import error_response
from odradek.api.dispatch.registry import Answer, LoadedHandler
from odradek.common.failures import ApiError, Fault, ProtocolError
from odradek.common.ports import Buffer
from odradek.network.answers import Begun, framed_answer
from odradek.network.endpoint import Deadline, Endpoint, logger
from odradek.network.fair_turns import SLICE_NS
from odradek.protocol.api_keys import ApiKey
from odradek.protocol.error_codes import ErrorCode
from odradek.protocol.errors import InvalidMessage
from odradek.protocol.framing import FrameReader
from odradek.protocol.message import Message
from odradek.protocol.requests import parse_request

#: All that is answered before authentication.
_BEFORE_AUTHENTICATION = frozenset({ApiKey.SASL_HANDSHAKE, ApiKey.API_VERSIONS, ApiKey.SASL_AUTHENTICATE})

_KEY_BYTES = 2

_RECEIVE_BYTES_BETWEEN = 64 * 1024

#: Answers up to this are copied into one piece, which costs less than handing many small ones to the loop.
_JOINED_BYTES_MAX = 64 * 1024


class Connection(asyncio.BufferedProtocol):
    __slots__ = (
        "_alone",
        "_arrived",
        "_begun",
        "_closed",
        "_flaw",
        "_in_line",
        "_output",
        "_output_bytes",
        "_reader",
        "_reading_paused",
        "_session",
        "_stopping",
        "_transport",
        "_writing_paused",
        "endpoint",
        "ip",
        "last_active_ms",
    )

    def __init__(self, endpoint: Endpoint, ip: str = "") -> None:
        """Counted among those of `ip` by whoever makes it, and no longer once it has ended."""
        self.endpoint = endpoint
        self.last_active_ms = endpoint.now_ms
        self.ip = ip
        self._session: Session | None = None
        self._transport: asyncio.Transport
        #: While a frame is arriving.
        self._reader: FrameReader | None = None
        # Lists, although their heads are taken off: they are short.
        self._arrived: list[bytearray] | None = None
        self._begun: list[Begun] = []
        self._output: list[Buffer] | None = None
        self._output_bytes = 0
        self._flaw: ProtocolError | None = None
        #: Something in flight must be answered before the next request begins.
        self._alone = False
        self._in_line = False
        self._writing_paused = False
        self._reading_paused = False
        self._stopping = False
        self._closed: asyncio.Future[None] | None = None

    # What the loop calls.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self.endpoint.connections[self] = None
        self._set_deadline("no request")
        self._transport.set_write_buffer_limits(high=self.endpoint.limits.unsent_bytes_max)

    def get_buffer(self, sizehint: int) -> memoryview:
        # A little at a time, so that few tiny requests can wait here; all there is room for, within a large one.
        if self._reader is None:
            return self.endpoint.receive_buffer[:_RECEIVE_BYTES_BETWEEN]
        return self._reader.room() or self.endpoint.receive_buffer

    def buffer_updated(self, nbytes: int) -> None:
        self.last_active_ms = self.endpoint.now_ms
        self.endpoint.metrics.received_bytes += nbytes
        if self._flaw is not None or self._stopping:
            return
        self._take(self._reader or self.endpoint.spare_reader, nbytes)
        self._advance()

    def _take(self, reader: FrameReader, nbytes: int) -> None:
        """Cut the bytes that were read into the buffer of `get_buffer` into frames."""
        if self._arrived is None:
            self._arrived = []
        if reader.is_direct:
            frame = reader.received(nbytes)
            if frame is not None:
                self._arrived.append(frame)
        else:
            reader.limit_bytes = self._request_bytes_max
            try:
                self._arrived.extend(reader.feed(self.endpoint.receive_buffer[:nbytes]))
            except ProtocolError as flaw:
                self._flaw = flaw
        self._reader = self.endpoint.take_back(reader)

    def eof_received(self) -> bool:
        """A peer that closes its side has no use for answers: Kafka's clients never half-close."""
        self._leave()
        return False

    def pause_writing(self) -> None:
        self._writing_paused = True

    def resume_writing(self) -> None:
        self._writing_paused = False
        self.last_active_ms = self.endpoint.now_ms
        self._advance()

    def connection_lost(self, exc: Exception | None) -> None:
        endpoint = self.endpoint
        if self not in endpoint.connections:
            return
        del endpoint.connections[self]
        endpoint.deadlines.pop(self, None)
        endpoint.quotas.closed(self.ip)
        endpoint.turns.forget(self)
        if self._in_line:
            endpoint.budget.forget(self._turn)
        self._stopping = True
        self._arrived = self._output = None
        self._drop_long_polls()
        self._tell_of_end()
        if self._closed is not None and not self._closed.done():
            self._closed.set_result(None)

    # What the listener calls.

    @property
    def session(self) -> Session:
        if self._session is None:
            self._session = self._new_session()
        return self._session

    @property
    def busy(self) -> bool:
        """It waits for us, and not we for it: no deadline runs."""
        return not self._stopping and (self._in_line or bool(self._begun))

    async def drain(self) -> None:
        """Begin nothing more, answer what is in flight, close; ends when the connection has."""
        if self not in self.endpoint.connections:
            return
        if self._closed is None:
            self._closed = asyncio.get_running_loop().create_future()
        self._stopping = True
        self._arrived = None
        self._drop_long_polls()
        self._flush()
        await asyncio.shield(self._closed)

    def abort(self) -> None:
        self._transport.abort()

    # From arrived to begun.

    def _advance(self) -> None:
        """Begin what may begin, write what is ready, and read on only if nothing is left waiting."""
        slice_ends_ns = perf_counter_ns() + SLICE_NS
        while self._arrived and self._may_begin():
            request = self._arrived.pop(0)
            try:
                self._begin(request)
            except ProtocolError as flaw:
                self._break(flaw)
            except Exception:  # noqa: BLE001 - a bug of ours, or a handler's module that cannot be read
                logger.exception("connection %s: a request could not begin", self.session.connection_id)
                self._break(ProtocolError("a request could not begin"))
            if self._output_bytes >= self.endpoint.limits.unsent_bytes_max:
                self._flush()
            if self._arrived and perf_counter_ns() >= slice_ends_ns:
                self.endpoint.turns.line_up(self)
                break
        self._flush()
        if not self._arrived:
            self._arrived = None
            if self._flaw is not None:
                self._refuse(self._flaw)
        self._read_on(not self._arrived and not self._writing_paused)

    def go_on(self) -> None:
        """Continue with the requests that the last slice left over."""
        self._advance()

    def _may_begin(self) -> bool:
        if self._writing_paused or self._alone or len(self._begun) >= self.endpoint.limits.in_flight_max:
            return False
        if self._in_line:
            return False
        if self.endpoint.budget.spent:
            assert self._arrived is not None
            api_key = int.from_bytes(self._arrived[0][:_KEY_BYTES], "big")
            if not self.endpoint.registry.is_long_poll(api_key):
                self._in_line = True
                self.endpoint.budget.wait(self._turn)
                return False
        return True

    def _turn(self) -> None:
        """There is room on the node again."""
        self._in_line = False
        self._advance()

    def _begin(self, request: bytearray) -> None:
        endpoint, session = self.endpoint, self._session or self.session
        started_ns = perf_counter_ns()
        quick_result = None if self._begun or not session.authenticated else self._quick(session, request)
        if isinstance(quick_result, bytes):
            endpoint.requests_total += 1
            endpoint.metrics.of(request[1]).count(perf_counter_ns() - started_ns)
            self._put([quick_result])
            if self in endpoint.deadlines:
                del endpoint.deadlines[self]
            return
        header, body = parse_request(request, endpoint.registry.accepted)
        api_key = header.request_api_key
        if not session.authenticated and api_key not in _BEFORE_AUTHENTICATION:
            raise ProtocolError(f"API key {api_key} before authentication")
        endpoint.requests_total += 1
        # An ApiVersions request of an unknown version has no body, and is answered as version 0.
        version = 0 if body is None else header.request_api_version
        context = Context(session, api_key, version, header.correlation_id, header.client_id or "", session.principal)
        context.started_ns = started_ns
        entry = endpoint.registry.entry(api_key)
        try:
            if isinstance(quick_result, Exception):
                raise quick_result
            result = entry.handle(context, body) if quick_result is None else quick_result
        except Exception as error:  # noqa: BLE001 - sorted out there, by kind
            result = self._failed(context, body, error)
        if result is None or isinstance(result, Message):
            self._answer(context, entry, result, body)
        else:
            self._later(Begun(context, entry, body), result, len(request))
        if session.authenticated:
            endpoint.deadlines.pop(self, None)

    def _quick(self, session: Session, request: bytearray) -> bytes | Message | Exception | None:
        """Return the response to a request of the usual kind; None for all others, which take the normal path."""
        if len(request) < _KEY_BYTES or request[0]:
            return None
        quick = self.endpoint.registry.quick.get(request[1])
        if quick is None:
            return None
        try:
            return quick(session, request)
        except Exception as error:  # noqa: BLE001 - as if the handler had raised it
            return error

    def _answer(self, context: Context, entry: LoadedHandler, response: Answer, request: Message | None) -> None:
        """At once; behind those that are not ready yet."""
        pieces = self._encoded(context, entry, response, request)
        if not self._begun:
            self._put(pieces)
            return
        begun = Begun(context, entry)
        begun.answer, begun.done = pieces, True
        self._begun.append(begun)

    def _later(self, begun: Begun, result: Awaitable[Answer], size: int) -> None:
        begun.task = asyncio.ensure_future(result)
        self._begun.append(begun)
        self._alone = not begun.entry.pipelined
        if not begun.entry.long_poll:
            begun.counted_bytes = size
            self.endpoint.budget.take(size)
        begun.task.add_done_callback(lambda task: self._finished(begun, task))

    def _finished(self, begun: Begun, task: "asyncio.Future[Answer]") -> None:
        begun.task = None
        begun.done = True
        begun.answer = self._outcome(begun, task)
        self._put_answers()
        if not begun.entry.pipelined:
            self._alone = False
        self._advance()
        if begun.counted_bytes >= 0:
            self.endpoint.budget.release(begun.counted_bytes)

    def _outcome(self, begun: Begun, task: "asyncio.Future[Answer]") -> list[Buffer]:
        begun.dropped = task.cancelled()
        if begun.dropped:
            return []
        error, context, request = task.exception(), begun.context, begun.request
        response = self._failed(context, request, error) if isinstance(error, Exception) else task.result()
        return self._encoded(context, begun.entry, response, request)

    def _put_answers(self) -> None:
        """Write the responses that are ready, in order, up to the first that is not."""
        while self._begun and self._begun[0].done:
            begun = self._begun.pop(0)
            if begun.dropped:
                self._begun.clear()
                if not self._stopping:
                    self._break(ProtocolError(f"API key {begun.context.api_key} was given up"))
            self._put(begun.answer)

    def _failed(self, context: Context, request: Message | None, error: Exception) -> Answer:
        """Return the response for an error that a handler raised. The connection closes if there is none, or if there
        must be none, as for a Produce with acks=0."""
        if isinstance(error, ProtocolError):
            self._break(error)
            return None
        if isinstance(error, Fault):
            self.endpoint.on_fault(error)
        elif not isinstance(error, ApiError):
            logger.error("connection %s: API key %s failed", context.connection_id, context.api_key, exc_info=error)
        response = error_response(context.api_key, context.api_version, error, request)
        if response is None:
            self._break(ProtocolError(f"API key {context.api_key} failed and has no answer for that: {error}"))
        return response

    def _encoded(
        self, context: Context, entry: LoadedHandler, response: Answer, request: Message | None
    ) -> list[Buffer]:
        spent_ns = perf_counter_ns() - context.started_ns
        self.endpoint.metrics.answered(context.api_key, spent_ns, response)
        if response is None or self._transport.is_closing():
            return []
        try:
            return framed_answer(context, entry, response)
        except Exception as error:  # noqa: BLE001 - whatever a handler put there, the request is answered
            bug = None if isinstance(error, ApiError | InvalidMessage) else error
            text = "connection %s: an answer that cannot be written: %s"
            logger.error(text, context.connection_id, error, exc_info=bug)
            return self._encoded_failure(context, entry, error, request)

    def _encoded_failure(
        self, context: Context, entry: LoadedHandler, error: Exception, request: Message | None
    ) -> list[Buffer]:
        """Code -1, as Kafka answers when it cannot serialize a response: a message that quotes a long name may be too
        long itself. The connection closes where not even that can be written."""
        failure = error if isinstance(error, ApiError) else ApiError("", ErrorCode.UNKNOWN_SERVER_ERROR)
        response = error_response(context.api_key, context.api_version, failure, request)
        try:
            if response is not None:
                return framed_answer(context, entry, response)
        except Exception:  # noqa: BLE001 - the connection closes instead
            logger.exception(
                "connection %s: API key %s: not even an error can be written", context.connection_id, context.api_key
            )
        self._break(ProtocolError(f"no answer for API key {context.api_key}"))
        return []

    # Out, and the end.

    def _put(self, pieces: list[Buffer]) -> None:
        if self._output is None:
            self._output = pieces
        else:
            self._output += pieces
        self._output_bytes += sum(map(len, pieces))

    def _flush(self) -> None:
        if self._output:
            output, size = self._output, self._output_bytes
            self._output, self._output_bytes = None, 0
            if not self._transport.is_closing():
                self.endpoint.metrics.sent_bytes += size
                if size <= _JOINED_BYTES_MAX:
                    self._transport.write(b"".join(output))
                else:
                    self._transport.writelines(output)
        if self._stopping and not self._begun and not self._transport.is_closing():
            self._transport.close()

    def _read_on(self, reading: bool) -> None:
        if reading is not self._reading_paused or self._transport.is_closing():
            return
        self._reading_paused = not reading
        if reading:
            self._transport.resume_reading()
        else:
            self._transport.pause_reading()

    def _break(self, flaw: ProtocolError) -> None:
        """Nothing more begins; `_advance` closes the connection once it has written what is ready."""
        self._flaw = flaw
        self._arrived = None

    def _refuse(self, flaw: ProtocolError) -> None:
        """Close the connection after the responses that are ready; requests in flight are not waited for."""
        if self._transport.is_closing():
            return
        endpoint, session = self.endpoint, self.session
        endpoint.flaw_log.closed(session.connection_id, session.client_address, endpoint.explain(flaw), endpoint.now_ms)
        self._leave()
        self._transport.close()

    def _leave(self) -> None:
        """Nothing more begins, and what was written is not waited for without end."""
        self._stopping = True
        self._arrived = None
        self._drop_long_polls()
        if self in self.endpoint.connections:
            self._set_deadline("its last answers not taken")

    def _set_deadline(self, reason: str) -> None:
        """Until a request has begun, or until the end."""
        allowed_ms = self.endpoint.limits.first_request_ms_max
        self.endpoint.deadlines[self] = Deadline(self.endpoint.now_ms + allowed_ms, f"{reason} in {allowed_ms} ms")

    def _tell_of_end(self) -> None:
        """Each is told, whatever another one does."""
        if self._session is None:
            return
        for callback in self._session.on_close:
            try:
                callback()
            except Exception:  # noqa: BLE001 - as it says
                logger.exception("connection %s: what follows from its end failed", self.session.connection_id)

    def _drop_long_polls(self) -> None:
        for begun in self._begun:
            if begun.task is not None and begun.entry.long_poll:
                begun.task.cancel()

    @property
    def _request_bytes_max(self) -> int:
        limits = self.endpoint.limits
        if self._session is None:
            is_known = not self.endpoint.needs_authentication
        else:
            is_known = self._session.authenticated
        return limits.request_bytes_max if is_known else limits.unauthenticated_request_bytes_max

    def _new_session(self) -> Session:
        endpoint = self.endpoint
        ends = [self._transport.get_extra_info(name) for name in ("sockname", "peername")]
        between = "-".join(f"{end[0]}:{end[1]}" for end in ends if end)
        return Session(
            connection_id=f"{between}-{next(endpoint.numbers)}",
            listener_name=endpoint.name,
            listener=endpoint.registry.listener,
            security_protocol=endpoint.security_protocol,
            client_address=self.ip,
            registry=endpoint.registry,
            services=endpoint.services,
            authenticated=not endpoint.needs_authentication,
        )
