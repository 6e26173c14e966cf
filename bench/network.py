"""Small requests over a socket: how many ApiVersions requests a listener answers, at 1, 5 and 50 in flight.

The listener runs in a process of its own, so that the client does not take its core. The client sends and receives
raw bytes and decodes nothing. Beside each row stands the floor: the same traffic against a server that sends a fixed
answer for every frame, without looking into it.
"""

import asyncio
import multiprocessing
import socket
import statistics
import struct
import time
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Any, TypedDict

from odradek.api.registry import Registry
from odradek.network.endpoint import Endpoint
from odradek.network.listener import Listener
from odradek.network.loop import run as run_loop
from odradek.protocol import api_keys
from odradek.protocol.framing import FrameReader, frame
from odradek.protocol.messages.api_versions_request import ApiVersionsRequest
from odradek.protocol.messages.request_header import RequestHeader
from odradek.protocol.requests import request_parts

IN_FLIGHT = (1, 5, 50)
ROUNDS = 5
ROUND_SECONDS = 0.4


class Row(TypedDict):
    operation: str
    median_us: float
    floor_us: float | None
    note: str


def request() -> bytes:
    header = RequestHeader(request_api_key=18, request_api_version=4, correlation_id=1, client_id="bench")
    body = ApiVersionsRequest(client_software_name="bench", client_software_version="1")
    return b"".join(frame(request_parts(header, body)))


def serve(ready: Connection) -> None:
    async def main() -> None:
        listener = Listener(Endpoint("PLAINTEXT", Registry(api_keys.Listener.BROKER)), "127.0.0.1", 0)
        await listener.start()
        ready.send(listener.port)
        await asyncio.Event().wait()

    run_loop(main())


class _Fixed(asyncio.Protocol):
    """The floor: frames are counted, and as many fixed answers are sent."""

    def connection_made(self, transport: Any) -> None:
        self._transport = transport
        self._reader = FrameReader()

    def data_received(self, data: bytes) -> None:
        answers = len(list(self._reader.feed(data)))
        self._transport.write((struct.pack(">i", 24) + bytes(24)) * answers)


def serve_fixed(ready: Connection) -> None:
    async def main() -> None:
        server = await asyncio.get_running_loop().create_server(_Fixed, "127.0.0.1", 0)
        ready.send(server.sockets[0].getsockname()[1])
        await server.serve_forever()

    run_loop(main())


def requests_per_second(port: int, in_flight: int) -> float:
    """One connection that keeps `in_flight` requests on their way."""
    sent = request()
    with socket.create_connection(("127.0.0.1", port)) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        rates = []
        for _ in range(ROUNDS):
            connection.sendall(sent * in_flight)
            rates.append(_round(connection, sent, in_flight))
        return statistics.median(rates)


def _round(connection: socket.socket, sent: bytes, in_flight: int) -> float:
    """Ends with nothing on its way."""
    reader, answered, outstanding = FrameReader(), 0, in_flight
    started = time.perf_counter()
    end = started + ROUND_SECONDS
    while outstanding:
        came = sum(1 for _ in reader.feed(connection.recv(65536)))
        answered += came
        outstanding -= came
        if came and time.perf_counter() < end:
            connection.sendall(sent * came)
            outstanding += came
    return answered / (time.perf_counter() - started)


def measured(server: Callable[[Connection], None]) -> list[float]:
    ours, theirs = multiprocessing.Pipe()
    process = multiprocessing.get_context("fork").Process(target=server, args=(theirs,), daemon=True)
    process.start()
    try:
        port = ours.recv()
        return [requests_per_second(port, in_flight) for in_flight in IN_FLIGHT]
    finally:
        process.kill()
        process.join()


def run() -> list[Row]:
    rates, floors = measured(serve), measured(serve_fixed)
    return [
        Row(
            operation=f"ApiVersions v4, {in_flight} in flight",
            median_us=1e6 / rate,
            floor_us=1e6 / floor,
            note=f"{rate:,.0f} requests/s; floor: frames counted, a fixed answer",
        )
        for in_flight, rate, floor in zip(IN_FLIGHT, rates, floors, strict=True)
    ]


if __name__ == "__main__":
    for row in run():
        print(f"{row['operation']:32} {row['median_us']:8.1f} µs  floor {row['floor_us']:8.1f} µs  {row['note']}")
