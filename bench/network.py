"""Small requests, new connections, many and idle ones: a node beside Apache Kafka's, the same client for both.

Both are whole nodes, broker and controller in one, with their default settings; it is the broker's listener that is
asked. Both run all the time and are asked in turns, so that whatever else the machine does meets both. The client sends
and receives raw bytes and decodes nothing. It has a core of its own only where there are two.
"""

import contextlib
import select
import shutil
import socket
import subprocess
import time
from collections.abc import Callable, Iterator

from odradek.protocol.framing import FrameReader, frame
from odradek.protocol.messages.api_versions_request import ApiVersionsRequest
from odradek.protocol.messages.request_header import RequestHeader
from odradek.protocol.requests import request_parts
from quorums import KINDS, cluster_of, resident_bytes, spec
from rows import Row
from support.processes.nodes import HOST, Kind, Node

IN_FLIGHT = (1, 5, 50)
ROUNDS = 5
ROUND_SECONDS = 0.5
#: So that a JVM has compiled what it is measured at.
WARM_UP_SECONDS = 4.0

CONNECTIONS_A_ROUND = 500
CROWD = 1_000
CROWD_SECONDS = 2.0
IDLE_CONNECTIONS = 2_000

_START_TIMEOUT_S = 120

CONNECTIONS = "connect, ApiVersions, close"
CROWD_RATE = f"ApiVersions v4, {CROWD:,} connections with one in flight each"
CROWD_P99 = f"p99 of these, {CROWD:,} connections"
MEMORY = f"memory of an idle connection, of {IDLE_CONNECTIONS:,}"

_UNITS = {CROWD_P99: "ms", MEMORY: "KiB"}
_NOTES = {
    CROWD_RATE: "the client, one thread, takes about as long for each as we do",
    MEMORY: "Odradek: resident; Apache Kafka: live objects in the heap, where jcmd can tell",
}


Figures = dict[str, float]


def run() -> Iterator[Row]:
    with contextlib.ExitStack() as running:
        nodes = {kind: running.enter_context(started(kind)) for kind in KINDS}
        for node in nodes.values():
            warm_up(node)
        yield from rows(nodes, small_requests)
        yield from rows(nodes, new_connections)
        # Before the crowd, whose memory they would find.
        yield from rows(nodes, idle_connections, rounds=1)
        yield from rows(nodes, crowd)


def rows(nodes: dict[Kind, Node], measure: Callable[[Node], Figures], rounds: int = ROUNDS) -> Iterator[Row]:
    """The best of a few rounds of each: what else the machine does only ever makes one worse."""
    measured = [{kind: measure(node) for kind, node in nodes.items()} for _ in range(rounds)]
    for operation in measured[0][Kind.ODRADEK]:
        unit = _UNITS.get(operation, "/s")
        is_rate = operation not in _UNITS
        best = {kind: (max if is_rate else min)(each[kind][operation] for each in measured) for kind in nodes}
        ours, peer = best[Kind.ODRADEK], best[Kind.KAFKA]
        note = _NOTES.get(operation, "")
        yield Row(operation=operation, ours=ours, peer=peer, unit=unit, is_rate=is_rate, note=note)


@contextlib.contextmanager
def started(kind: Kind) -> Iterator[Node]:
    with cluster_of(spec(kind, roles="broker,controller")) as cluster:
        cluster.start()
        wait_for(cluster[1])
        yield cluster[1]


def warm_up(node: Node) -> None:
    requests_per_second(node.broker_port, 50, round_seconds=WARM_UP_SECONDS)
    new_connections(node)


def small_requests(node: Node) -> Figures:
    return {
        f"ApiVersions v4, {in_flight} in flight": requests_per_second(node.broker_port, in_flight)
        for in_flight in IN_FLIGHT
    }


def wait_for(node: Node) -> None:
    deadline_s = time.monotonic() + _START_TIMEOUT_S
    while True:
        node.check_alive()
        try:
            with connected(node.broker_port) as connection:
                ask(connection)
                return
        except OSError:
            if time.monotonic() > deadline_s:
                raise
            time.sleep(0.05)


def connected(port: int) -> socket.socket:
    connection = socket.create_connection((HOST, port), timeout=_START_TIMEOUT_S)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return connection


def ask(connection: socket.socket) -> None:
    connection.sendall(REQUEST)
    reader = FrameReader()
    while not list(reader.feed(received(connection))):
        pass


def received(connection: socket.socket) -> bytes:
    data = connection.recv(65536)
    if not data:
        raise ConnectionError("the node closed the connection")
    return data


def _request() -> bytes:
    header = RequestHeader(request_api_key=18, request_api_version=4, correlation_id=1, client_id="bench")
    body = ApiVersionsRequest(client_software_name="bench", client_software_version="1")
    return b"".join(frame(request_parts(header, body)))


REQUEST = _request()


def requests_per_second(port: int, in_flight: int, round_seconds: float = ROUND_SECONDS) -> float:
    """One connection that keeps `in_flight` requests on their way."""
    with connected(port) as connection:
        return _round(connection, in_flight, round_seconds)


def _round(connection: socket.socket, in_flight: int, round_seconds: float) -> float:
    """Begins and ends with nothing on its way."""
    reader, answered, outstanding = FrameReader(), 0, in_flight
    started = time.perf_counter()
    end = started + round_seconds
    connection.sendall(REQUEST * in_flight)
    while outstanding:
        came = sum(1 for _ in reader.feed(received(connection)))
        answered += came
        outstanding -= came
        if came and time.perf_counter() < end:
            connection.sendall(REQUEST * came)
            outstanding += came
    return answered / (time.perf_counter() - started)


def new_connections(node: Node) -> Figures:
    """One after the other, each asked once: nobody connects to say nothing."""
    started_s = time.perf_counter()
    for _ in range(CONNECTIONS_A_ROUND):
        with connected(node.broker_port) as connection:
            ask(connection)
    return {CONNECTIONS: CONNECTIONS_A_ROUND / (time.perf_counter() - started_s)}


def crowd(node: Node) -> Figures:
    """All connected, and each asks again as soon as it has its answer."""
    with contextlib.ExitStack() as opened, select.epoll() as ready:
        connections = [opened.enter_context(connected(node.broker_port)) for _ in range(CROWD)]
        for connection in connections:
            ask(connection)
            ready.register(connection, select.EPOLLIN)
        taken_s = sorted(_asked_by_all(connections, ready))
    return {CROWD_RATE: len(taken_s) / CROWD_SECONDS, CROWD_P99: taken_s[len(taken_s) * 99 // 100] * 1_000}


def _asked_by_all(connections: list[socket.socket], ready: select.epoll) -> list[float]:
    """How long each answer took, as seen by a client that gets to it late if it is busy with another."""
    by_descriptor = {connection.fileno(): connection for connection in connections}
    asked_s: dict[int, float] = {}
    taken_s: list[float] = []
    for descriptor, connection in by_descriptor.items():
        connection.sendall(REQUEST)
        asked_s[descriptor] = time.perf_counter()
    end_s = time.perf_counter() + CROWD_SECONDS
    while time.perf_counter() < end_s:
        for descriptor, _ in ready.poll(end_s - time.perf_counter()):
            # An answer is small, and comes as a whole.
            received(by_descriptor[descriptor])
            now_s = time.perf_counter()
            taken_s.append(now_s - asked_s[descriptor])
            by_descriptor[descriptor].sendall(REQUEST)
            asked_s[descriptor] = now_s
    return taken_s


def idle_connections(node: Node) -> Figures:
    with contextlib.ExitStack() as idle:
        before = held_bytes(node)
        for _ in range(IDLE_CONNECTIONS):
            ask(idle.enter_context(connected(node.broker_port)))
        return {MEMORY: (held_bytes(node) - before) / IDLE_CONNECTIONS / 1024}


def held_bytes(node: Node) -> int:
    """A JVM's resident memory says how large its heap once was, not what is in it; the histogram collects first."""
    jcmd = shutil.which("jcmd")
    if node.spec.kind is Kind.ODRADEK or jcmd is None or node.process is None:
        return resident_bytes(node)
    command = [jcmd, str(node.process.pid), "GC.class_histogram"]
    histogram = subprocess.run(command, capture_output=True, text=True, check=True, timeout=_START_TIMEOUT_S).stdout
    total = next(line for line in histogram.splitlines() if line.startswith("Total"))
    return int(total.split()[2])


if __name__ == "__main__":
    for line in run():
        print(f"{line['operation']:48} {line['ours']:12,.1f} {line['peer']:12,.1f} {line['unit']}")
