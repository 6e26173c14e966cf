"""Small requests, new connections and idle ones: a node beside Apache Kafka's, the same client for both.

Both are whole nodes, broker and controller in one, with their default settings; it is the broker's listener that is
asked. The client sends and receives raw bytes and decodes nothing. It has a core of its own only where there are two.
"""

import contextlib
import shutil
import socket
import statistics
import subprocess
import time
from collections.abc import Iterator

from helpers.nodes import HOST, Kind, Node
from odradek.protocol.framing import FrameReader, frame
from odradek.protocol.messages.api_versions_request import ApiVersionsRequest
from odradek.protocol.messages.request_header import RequestHeader
from odradek.protocol.requests import request_parts
from quorums import KINDS, cluster_of, resident_bytes, spec
from rows import Row

IN_FLIGHT = (1, 5, 50)
ROUNDS = 5
ROUND_SECONDS = 0.5
#: So that a JVM has compiled what it is measured at.
WARM_UP_SECONDS = 4.0

CONNECTIONS_A_ROUND = 500
IDLE_CONNECTIONS = 2_000

_START_TIMEOUT_S = 120


def run() -> Iterator[Row]:
    measured = {kind: measure(kind) for kind in KINDS}
    for operation, ours in measured[Kind.ODRADEK].items():
        is_rate = operation != MEMORY
        yield Row(
            operation=operation,
            ours=ours,
            peer=measured[Kind.KAFKA][operation],
            unit="/s" if is_rate else "KiB",
            is_rate=is_rate,
            note="" if is_rate else "Odradek: resident; Apache Kafka: live objects in the heap, where jcmd can tell",
        )


CONNECTIONS = "connect, ApiVersions, close"
MEMORY = f"memory of an idle connection, of {IDLE_CONNECTIONS:,}"


def measure(kind: Kind) -> dict[str, float]:
    with cluster_of(spec(kind, roles="broker,controller")) as cluster:
        cluster.start()
        node = cluster[1]
        wait_for(node)
        requests_per_second(node.broker_port, 50, rounds=1, round_seconds=WARM_UP_SECONDS)
        connections_per_second(node.broker_port)
        return {
            **{
                f"ApiVersions v4, {in_flight} in flight": requests_per_second(node.broker_port, in_flight)
                for in_flight in IN_FLIGHT
            },
            CONNECTIONS: statistics.median(connections_per_second(node.broker_port) for _ in range(ROUNDS)),
            MEMORY: idle_connection_bytes(node) / 1024,
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


def requests_per_second(
    port: int, in_flight: int, *, rounds: int = ROUNDS, round_seconds: float = ROUND_SECONDS
) -> float:
    """One connection that keeps `in_flight` requests on their way."""
    with connected(port) as connection:
        return statistics.median(_round(connection, in_flight, round_seconds) for _ in range(rounds))


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


def connections_per_second(port: int) -> float:
    """One after the other, each asked once: nobody connects to say nothing."""
    started = time.perf_counter()
    for _ in range(CONNECTIONS_A_ROUND):
        with connected(port) as connection:
            ask(connection)
    return CONNECTIONS_A_ROUND / (time.perf_counter() - started)


def idle_connection_bytes(node: Node) -> float:
    with contextlib.ExitStack() as idle:
        before = held_bytes(node)
        for _ in range(IDLE_CONNECTIONS):
            ask(idle.enter_context(connected(node.broker_port)))
        return (held_bytes(node) - before) / IDLE_CONNECTIONS


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
    for row in run():
        print(f"{row['operation']:48} {row['ours']:12,.1f} {row['peer']:12,.1f} {row['unit']}")
