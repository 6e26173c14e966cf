"""How long a connection waits; what it says and hears is tried in tests/system/test_client_direct.py."""

import socket
import struct
from typing import Any

import pytest

from odradek.client.direct.connection import Connection
from odradek.common.addresses import HostPort
from odradek.errors import Disconnected, RequestTimedOut
from odradek.protocol.codec import encode
from odradek.protocol.messages.api_versions_response import ApiVersion, ApiVersionsResponse
from odradek.protocol.messages.fetch_request import FetchRequest

SECOND_MS = 1000


class FakeSocket:
    """Of a peer that takes what it is told, gives its answer in the pieces it is made of, and hangs up."""

    def __init__(self, *pieces: bytes) -> None:
        self.options: dict[int, object] = {}
        self._pieces = list(pieces)

    def settimeout(self, timeout_s: float | None) -> None:
        assert timeout_s is None, "the system keeps the time"

    def setsockopt(self, _: int, option: int, value: object) -> None:
        self.options[option] = value

    def sendall(self, data: bytes) -> None:
        pass

    def recv(self, size: int, flags: int) -> bytes:
        assert flags == socket.MSG_WAITALL
        piece = self._pieces.pop(0) if self._pieces else b""
        assert len(piece) <= size
        return piece

    def close(self) -> None:
        pass


def connect_to(fake: FakeSocket, monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """How long it was tried to connect, as soon as it was."""
    tried_s: list[float] = []

    def connect(_: Any, timeout_s: float) -> FakeSocket:
        tried_s.append(timeout_s)
        return fake

    monkeypatch.setattr(socket, "create_connection", connect)
    return tried_s


@pytest.mark.parametrize(("timeout_ms", "to_connect_s", "to_answer_s"), [(30_500, 10, 30.5), (2_000, 2, 2)])
def test_a_machine_that_is_gone_is_not_waited_for_as_long_as_an_answer(
    monkeypatch: pytest.MonkeyPatch, timeout_ms: int, to_connect_s: float, to_answer_s: float
) -> None:
    fake = FakeSocket()
    connecting_s = connect_to(fake, monkeypatch)
    with pytest.raises(Disconnected):
        Connection(HostPort("h", 1), "me", timeout_ms)
    assert connecting_s == [to_connect_s]
    for option in (socket.SO_RCVTIMEO, socket.SO_SNDTIMEO):
        timeval = fake.options[option]
        assert isinstance(timeval, bytes)
        seconds, microseconds = struct.unpack("@ll", timeval)
        assert seconds + microseconds / 1e6 == to_answer_s


def test_a_peer_that_says_nothing_is_not_waited_for_for_ever() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent, pytest.raises(RequestTimedOut):
        Connection(HostPort("127.0.0.1", silent.getsockname()[1]), "me", 20)


def test_an_answer_that_is_slow_to_come_is_put_together(monkeypatch: pytest.MonkeyPatch) -> None:
    known = [ApiVersion(api_key=FetchRequest.API_KEY, min_version=4, max_version=5)]
    answer = struct.pack(">i", 1) + encode(ApiVersionsResponse(api_keys=known), 3)
    connect_to(FakeSocket(struct.pack(">i", len(answer)), answer[:3], answer[3:9], answer[9:]), monkeypatch)
    with Connection(HostPort("h", 1), "me", SECOND_MS) as connection:
        assert connection.version(FetchRequest, 99) == 5


def test_a_peer_that_hangs_up_in_the_middle_of_an_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    connect_to(FakeSocket(struct.pack(">i", 100), b"only so much"), monkeypatch)
    with pytest.raises(Disconnected, match="the peer closed the connection"):
        Connection(HostPort("h", 1), "me", SECOND_MS)
