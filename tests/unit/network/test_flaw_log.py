"""Each address has a few lines a minute, and what was left out is counted."""

import logging

import pytest

from odradek.network import flaw_log
from odradek.network.flaw_log import FlawLog


def test_what_is_left_out_is_counted(caplog: pytest.LogCaptureFixture) -> None:
    log = FlawLog()
    with caplog.at_level(logging.WARNING, logger="odradek.network"):
        for _ in range(8):
            log.closed("c", "10.0.0.1", "HTTP", 1_000)
        log.closed("c", "10.0.0.2", "TLS", 1_000)
        log.closed("c", "10.0.0.1", "HTTP", 61_000)
    assert caplog.messages == [
        *["connection c: closed: HTTP"] * 5,
        "connection c: closed: TLS",
        "connection c: closed: HTTP (3 more connections of 10.0.0.1 were closed since the last line)",
    ]


def test_only_so_many_addresses_are_remembered(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(flaw_log, "_ADDRESSES_MAX", 2)
    log = FlawLog()
    with caplog.at_level(logging.WARNING, logger="odradek.network"):
        for address in ("a", "b", "c"):
            for _ in range(6):
                log.closed("c", address, address, 0)
        log.closed("c", "a", "again", 0)
    assert len(caplog.messages) == 16 and caplog.messages[-1].endswith("again")
