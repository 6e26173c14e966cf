"""Log lines about addresses that cannot be connected to, and since when all of them refuse connections."""

import logging

import pytest

from odradek.client.net.reachability import Reachability
from odradek.common.addresses import HostPort

FIRST, SECOND = HostPort("kafka-1", 9092), HostPort("kafka-2", 9092)


class Watched:
    def __init__(self, caplog: pytest.LogCaptureFixture) -> None:
        self.now_s = 100.0
        self._caplog = caplog
        caplog.set_level(logging.DEBUG, "odradek.client.network")
        self.of = Reachability("consumer billing", lambda: self.now_s)
        self.of.is_starting = False

    def fail(self, address: HostPort = FIRST, reason: str = "connection refused", *, is_refused: bool = True) -> None:
        self.of.connect_failed("node 1", address, reason, is_refused=is_refused)

    def lines(self, level: int) -> list[str]:
        return [record.getMessage() for record in self._caplog.records if record.levelno == level]


@pytest.fixture
def watched(caplog: pytest.LogCaptureFixture) -> Watched:
    return Watched(caplog)


def test_an_unreachable_broker_is_a_warning_with_address_and_reason(watched: Watched) -> None:
    watched.fail()
    assert watched.lines(logging.WARNING) == [
        "[consumer billing] Connection to node 1 (kafka-1:9092) could not be established (attempt 1): "
        "connection refused. The broker may not be available."
    ]


def test_warnings_are_rate_limited_by_address(watched: Watched) -> None:
    for _ in range(100):
        watched.fail()
        watched.now_s += 0.5
    assert len(watched.lines(logging.WARNING)) == 2
    assert "(attempt 61)" in watched.lines(logging.WARNING)[1]
    assert len(watched.lines(logging.DEBUG)) == 98
    watched.fail(SECOND)
    assert "kafka-2:9092" in watched.lines(logging.WARNING)[-1]


def test_a_broker_that_is_back_is_logged_once(watched: Watched) -> None:
    watched.fail()
    watched.now_s += 12
    watched.of.connected("node 1", FIRST)
    assert watched.lines(logging.INFO) == [
        "[consumer billing] Connection to node 1 (kafka-1:9092) is established again, after 12 s and 1 failed attempts."
    ]
    watched.of.connected("node 1", FIRST)
    assert len(watched.lines(logging.INFO)) == 1


def test_a_client_that_starts_raises_instead_of_warning(watched: Watched) -> None:
    watched.of.is_starting = True
    watched.fail()
    assert watched.lines(logging.WARNING) == []
    assert len(watched.lines(logging.DEBUG)) == 1


def test_a_reason_from_the_network_cannot_forge_log_lines(watched: Watched) -> None:
    watched.fail(reason="no\nERROR forged \x1b[31m")
    assert "\\nERROR forged \\x1b[31m" in watched.lines(logging.WARNING)[0]
    assert len(watched.lines(logging.WARNING)[0].splitlines()) == 1


def test_all_refuse_since_the_last_one_began_to(watched: Watched) -> None:
    assert watched.of.all_refused_since_s([FIRST]) is None
    watched.fail(FIRST)
    watched.now_s += 5
    assert watched.of.all_refused_since_s([FIRST]) == 100.0
    assert watched.of.all_refused_since_s([FIRST, SECOND]) is None
    watched.fail(SECOND)
    watched.now_s += 5
    watched.fail(SECOND)
    assert watched.of.all_refused_since_s([FIRST, SECOND]) == 105.0
    watched.fail(SECOND, "no connection in 10000 ms", is_refused=False)  # its machine may be slow
    assert watched.of.all_refused_since_s([FIRST, SECOND]) is None
    watched.of.connected("node 1", FIRST)
    assert watched.of.all_refused_since_s([FIRST]) is None
