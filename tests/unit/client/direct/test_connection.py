"""How long a connection waits; what it says and hears is tried in tests/system/test_client_direct.py."""

import socket
from typing import Any

import pytest

from odradek.client.direct.connection import Connection
from odradek.client.errors import Disconnected
from odradek.common.addresses import HostPort


class FakeSocket:
    """Of a peer that hangs up."""

    def __init__(self) -> None:
        self.timeout_s = -1.0

    def settimeout(self, timeout_s: float) -> None:
        self.timeout_s = timeout_s

    def setsockopt(self, *_: object) -> None:
        pass

    def sendall(self, data: bytes) -> None:
        raise ConnectionResetError

    def close(self) -> None:
        pass


@pytest.mark.parametrize(("timeout_ms", "to_connect_s", "to_answer_s"), [(30_000, 10, 30), (2_000, 2, 2)])
def test_a_machine_that_is_gone_is_not_waited_for_as_long_as_an_answer(
    monkeypatch: pytest.MonkeyPatch, timeout_ms: int, to_connect_s: float, to_answer_s: float
) -> None:
    fake, connecting_s = FakeSocket(), []

    def connect(address: Any, timeout_s: float) -> FakeSocket:
        connecting_s.append(timeout_s)
        return fake

    monkeypatch.setattr(socket, "create_connection", connect)
    with pytest.raises(Disconnected):
        Connection(HostPort("h", 1), "me", timeout_ms)
    assert (connecting_s, fake.timeout_s) == ([to_connect_s], to_answer_s)
