"""Rows of ports for clusters that run at the same time."""

import socket
from contextlib import ExitStack

import pytest

from odradek.common.failures import InputError
from odradek.testing import ports
from odradek.testing.ports import PortRow


def test_no_row_is_given_twice_until_it_is_released(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ports, "_FIRST", 14_920)
    monkeypatch.setattr(ports, "_END", 15_000)
    with ExitStack() as stack:
        rows = [PortRow(6), PortRow(6)]
        for row in rows:
            stack.callback(row.release)
        assert {row.first for row in rows} == {14_920, 14_960}
        with pytest.raises(InputError, match="no 6 ports in a row are free between 14920 and 15000"):
            PortRow(6)
        rows[0].release()
        again = PortRow(6)
        stack.callback(again.release)
        assert again.first == rows[0].first


def test_a_row_with_a_port_that_is_taken_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ports, "_FIRST", 14_880)
    monkeypatch.setattr(ports, "_END", 14_920)
    with socket.create_server(("127.0.0.1", 14_882)):
        with pytest.raises(InputError):
            PortRow(3)
        row = PortRow(2)
        row.release()
    assert row.first == 14_880
