"""Slow and many: peers that dribble, peers that never read, peers that come and go, and a good client among them.

Deadlines are shorter than a node's, so that the test can wait for them; what they bound is the same. How long the good
client waited is reported, not judged: the machine may be busy. Those who flood take cores too, so the listener and the
good client go first where that is allowed: the figure is of the listener, and not of who else wants its core.
"""

import asyncio
import contextlib
import os
import re
import socket
from pathlib import Path
from typing import Any

import pytest

from odradek.protocol.framing import LENGTH_BYTES
from odradek.protocol.messages.metadata_request import MetadataRequest
from support.figures import report
from support.processes.network import PATIENCE_S, api_versions_bytes, exchange, request_bytes, run, until
from support.processes.network_probe import probing
from support.processes.network_server import Watched, connect, serving
from support.waiting import wait_until

SLOW = UNREAD = 1_000
DROPPED = 10_000

FIRST_REQUEST_MS_MAX = 2_500
IDLE_MS_MAX = 4_000
LIMITS = {
    "first_request_ms_max": FIRST_REQUEST_MS_MAX,
    "idle_ms_max": IDLE_MS_MAX,
    "tick_ms": 100,
    "send_buffer_bytes": 8 * 1024,
    "unsent_bytes_max": 16 * 1024,
}

ANSWERS_ALONE = 500

#: How many peers are there at once differs from round to round, and with it what allocators keep; a leak of 1 KiB a
#: connection would be 12 MiB in every round.
GROWTH_BYTES_MAX = 4 * 1024 * 1024
ROUNDS_MAX = 4


class Awkward(asyncio.Protocol):
    """Counts those that the listener has closed."""

    closed = 0

    def connection_made(self, transport: Any) -> None:
        self.transport = transport

    def connection_lost(self, error: Exception | None) -> None:
        type(self).closed += 1


class Slow(Awkward):
    """A byte a second of a request that would be right."""

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._rest = iter(api_versions_bytes())
        self._dribble()

    def _dribble(self) -> None:
        if not self.transport.is_closing():
            self.transport.write(bytes((next(self._rest),)))
            asyncio.get_running_loop().call_later(1, self._dribble)


class Unread(Awkward):
    """Asks for 200 KB, which is more than fits between the two, and reads nothing."""

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        transport.pause_reading()
        transport.write(request_bytes(MetadataRequest(), 12) * 10)


async def open_many(port: int, kind: type[Awkward], count: int) -> None:
    kind.closed = 0
    for _ in range(count):
        opened = socket.socket()
        opened.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
        opened.setblocking(False)
        loop = asyncio.get_running_loop()
        await loop.sock_connect(opened, ("127.0.0.1", port))
        await loop.create_connection(kind, sock=opened)


def come_and_go(port: int) -> None:
    for _ in range(DROPPED):
        socket.create_connection(("127.0.0.1", port), timeout=PATIENCE_S).close()


async def one_round(server: Watched, quiet: int) -> None:
    """`quiet`: descriptors of a listener that has only the good client."""
    await open_many(server.port, Slow, SLOW)
    await open_many(server.port, Unread, UNREAD)
    await asyncio.to_thread(come_and_go, server.port)
    await until(lambda: Slow.closed == SLOW, "those that dribble are closed by the deadline of the first request")
    # Who reads nothing does not see that it was closed.
    await until(lambda: server.descriptors() <= quiet, "those that never read are closed for being idle")


@pytest.mark.slow
def test_a_good_client_among_many_bad_ones(tmp_path: Path) -> None:
    with serving(tmp_path, limits=LIMITS) as server, probing(server.port) as probe:
        go_first(server.process.pid, probe.pid)
        probe.seen(ANSWERS_ALONE)
        alone = probe.seen(ANSWERS_ALONE)
        quiet = server.descriptors()
        run(one_round(server, quiet))
        among, sizes = probe.seen(), [server.resident_bytes()]
        while len(sizes) < 2 or (sizes[-1] - sizes[-2] >= GROWTH_BYTES_MAX and len(sizes) < ROUNDS_MAX):
            run(one_round(server, quiet))
            sizes.append(server.resident_bytes())
        wait_until(lambda: sum(closings(server)) >= len(sizes) * (SLOW + UNREAD), "every closed connection is logged")
        server.check_log()
        without_request, idle = closings(server)
    report(
        "slow and many connections",
        rounds=len(sizes),
        slow=SLOW,
        never_reading=UNREAD,
        opened_and_dropped=DROPPED,
        alone=alone,
        among_them=among,
        p99_ratio=round(among["p99_ms"] / alone["p99_ms"], 1),
        memory_mib=[size // 2**20 for size in sizes],
    )
    assert without_request >= len(sizes) * SLOW
    # On a busy machine a request may arrive so late that its connection is closed as one without a request.
    assert idle > 0 and without_request + idle >= len(sizes) * (SLOW + UNREAD)
    assert sizes[-1] - sizes[-2] < GROWTH_BYTES_MAX


def go_first(*pids: int) -> None:
    with contextlib.suppress(PermissionError):
        for pid in pids:
            os.sched_setscheduler(pid, os.SCHED_RR, os.sched_param(1))


def closings(server: Watched) -> tuple[int, int]:
    """Return how many connections were closed because no request came, and because they were idle."""
    log = server.log.read_text()
    without_request = logged_as_closed(log, f"no request in {FIRST_REQUEST_MS_MAX} ms")
    return without_request, logged_as_closed(log, f"idle for {IDLE_MS_MAX} ms")


def logged_as_closed(log: str, reason: str) -> int:
    """How many: a line is for one connection, or says for how many."""
    many = sum(int(count) for count in re.findall(rf"closed (\d+) connections: {reason}", log))
    return many + log.count(f": closed: {reason}")


def test_an_address_has_its_share_and_others_theirs(tmp_path: Path) -> None:
    with serving(tmp_path, per_ip_max=100) as server, contextlib.ExitStack() as opened:
        quiet = server.descriptors()
        connections = [
            opened.enter_context(socket.create_connection(("127.0.0.1", server.port), timeout=60)) for _ in range(150)
        ]
        served = sum(is_served(connection) for connection in connections)
        assert served == 100
        assert server.descriptors() <= quiet + 100
        with socket.create_connection(("127.0.0.1", server.port), timeout=60, source_address=("127.0.0.2", 0)) as other:
            assert is_served(other)
        for connection in connections:
            connection.close()
        server.until(lambda: server.descriptors() <= quiet, "they are gone")
        assert exchange(server.port, api_versions_bytes())
        server.check_log()


def test_a_listener_outlives_a_flood_that_takes_all_its_descriptors(tmp_path: Path) -> None:
    with serving(tmp_path, descriptors_max=64) as server:
        quiet = server.descriptors()
        with connect(server.port) as good:
            assert is_served(good)
            for _ in range(3):
                with contextlib.ExitStack() as opened:
                    for _ in range(200):
                        opened.enter_context(flooding(server.port))
                    server.until(lambda: server.descriptors() >= 63, "no descriptor is left")
                    assert is_served(good)
                server.until(lambda: server.descriptors() <= quiet + 1, "the flood is over")
                with connect(server.port) as late:
                    assert is_served(late)
        assert server.process.poll() is None


def flooding(port: int) -> socket.socket:
    """On its way; whether it arrives is not waited for."""
    opened = socket.socket()
    opened.setblocking(False)
    opened.connect_ex(("127.0.0.1", port))
    return opened


def is_served(connection: socket.socket) -> bool:
    try:
        connection.sendall(api_versions_bytes())
        return len(connection.recv(65536)) > LENGTH_BYTES
    except ConnectionError:
        return False
