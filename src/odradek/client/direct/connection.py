"""One blocking connection to a node. Requests may be sent ahead; answers come in their order.

For a process whose only work is to move data, such as a worker of Spark: a large answer is received into one buffer of
its size, and decoded from there. A connection that failed in any way is closed and of no use after.
"""

import socket
import struct
from collections import deque
from typing import Any, NamedTuple, Self

from odradek import __version__
from odradek.client.net.versions import version_for
from odradek.common.addresses import HostPort
from odradek.common.failures import ProtocolError
from odradek.errors import Disconnected, RequestTimedOut
from odradek.protocol.error_codes import ErrorCode
from odradek.protocol.framing import FRAME_BYTES_MAX, frame
from odradek.protocol.message import Message
from odradek.protocol.messages.api_versions_request import ApiVersionsRequest
from odradek.protocol.messages.request_header import RequestHeader
from odradek.protocol.requests import parse_response, request_parts
from odradek.protocol.schema import Versions

_SIZE = struct.Struct(">i")

#: The system's timeval: seconds and microseconds.
_TIMEVAL = struct.Struct("@ll")

#: Known to every broker since 2.4, and it tells all versions there are.
_API_VERSIONS_VERSION = 3

#: socket.connection.setup.timeout.ms: a machine that is gone says nothing, and there are others to be asked.
_CONNECT_S_MAX = 10.0

#: What the system may hold for us while we decode the answer before: one large fetch.
_RECEIVE_BUFFER_BYTES = 4 * 1024 * 1024


class _Due(NamedTuple):
    api_key: int
    version: int
    correlation_id: int


class Connection:
    def __init__(self, address: HostPort, client_id: str, timeout_ms: int) -> None:
        """Connects, and learns the node's versions. Raises Disconnected or RequestTimedOut."""
        self.address = address
        self._client_id = client_id
        self._due: deque[_Due] = deque()
        self._correlation_id = 0
        self._versions: dict[int, Versions] = {}
        try:
            self._socket = socket.create_connection(
                (address.host, address.port), min(timeout_ms / 1000, _CONNECT_S_MAX)
            )
        except OSError as error:
            raise Disconnected(f"{address}: {error.strerror or error}") from None
        self._socket.settimeout(None)  # the system keeps the time: Python's own would ask it before each piece
        patience = _TIMEVAL.pack(timeout_ms // 1000, timeout_ms % 1000 * 1000)
        for option in (socket.SO_RCVTIMEO, socket.SO_SNDTIMEO):
            self._socket.setsockopt(socket.SOL_SOCKET, option, patience)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _RECEIVE_BUFFER_BYTES)
        self._learn_versions()

    @property
    def in_flight(self) -> int:
        return len(self._due)

    def fileno(self) -> int:
        """For `select`: there is an answer to be received."""
        return self._socket.fileno()

    def version(self, request: type[Message], last: int) -> int:
        """The highest that both have, and at most `last`. Raises VersionsDiffer."""
        return min(version_for(request, self._versions, self.address), last)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._due.clear()
        self._socket.close()

    def ask(self, request: Message, version: int | None = None) -> Any:
        """The answer to this one request; nothing else may be in flight."""
        self.send(request, version)
        return self.receive()

    def send(self, request: Message, version: int | None = None) -> None:
        """In the highest version that both have, unless one is given."""
        chosen = version_for(request, self._versions, self.address) if version is None else version
        self._correlation_id += 1
        header = RequestHeader(
            request_api_key=request.API_KEY,
            request_api_version=chosen,
            correlation_id=self._correlation_id,
            client_id=self._client_id,
        )
        try:
            self._socket.sendall(b"".join(frame(request_parts(header, request))))
        except OSError as error:
            raise self._broken(error) from None
        self._due.append(_Due(request.API_KEY, chosen, self._correlation_id))

    def receive(self) -> Any:
        """The answer to the oldest request that has none. Raises Disconnected or RequestTimedOut."""
        due = self._due.popleft()
        (size,) = _SIZE.unpack(self._read(_SIZE.size))
        if not 0 < size <= FRAME_BYTES_MAX:
            self.close()
            raise Disconnected(f"{self.address}: an answer of {size} bytes, which is none of Kafka's")
        try:
            header, response = parse_response(self._read(size), due.api_key, due.version)
        except ProtocolError as flaw:
            self.close()
            raise Disconnected(f"{self.address}: the peer broke the protocol: {flaw}") from None
        if header.correlation_id != due.correlation_id:
            self.close()
            raise Disconnected(f"{self.address}: answer {header.correlation_id} where {due.correlation_id} is due")
        return response

    def _learn_versions(self) -> None:
        request = ApiVersionsRequest(client_software_name="odradek", client_software_version=__version__)
        try:
            response = self.ask(request, _API_VERSIONS_VERSION)
            if response.error_code != ErrorCode.NONE:
                raise Disconnected(f"{self.address}: ApiVersions was refused with error {response.error_code}")
        except BaseException:
            self.close()
            raise
        self._versions = {each.api_key: Versions(each.min_version, each.max_version) for each in response.api_keys}

    def _read(self, size: int) -> bytes:
        """In one call of the system and one piece, however large, unless it takes longer than the time-out."""
        pieces: list[bytes] = []
        missing = size
        while missing:
            try:
                piece = self._socket.recv(missing, socket.MSG_WAITALL)
            except OSError as error:
                raise self._broken(error) from None
            if not piece:
                raise self._broken(None)
            pieces.append(piece)
            missing -= len(piece)
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    def _broken(self, error: OSError | None) -> Disconnected | RequestTimedOut:
        self.close()
        if isinstance(error, TimeoutError | BlockingIOError):  # BlockingIOError is how the system's time-outs look
            return RequestTimedOut(f"{self.address}: no answer in time")
        why = (error.strerror or str(error)) if error else "the peer closed the connection"
        return Disconnected(f"{self.address}: {why}")
