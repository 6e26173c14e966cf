"""A listener in a process of its own, which answers every request of Kafka's with the smallest response that there is;
only Metadata has a large one.

Run as a program, it takes a JSON object (`limits`, `per_ip_max`, `security_protocol`, `listener`, `descriptors_max`),
prints its port and serves until it is killed. `serving` starts it and watches it from outside: descriptors,
memory, what it logs.
"""

import asyncio
import json
import logging
import os
import resource
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from odradek.api.dispatch.handler_index import SERVED
from odradek.api.dispatch.registry import Registry, ServedApi
from odradek.network.endpoint import Endpoint
from odradek.network.limits import ConnectionQuotas, Limits
from odradek.network.listener import Listener
from odradek.network.loop import run
from odradek.protocol import api_keys
from odradek.protocol.api_keys import APIS, ApiKey
from odradek.protocol.message import Message
from odradek.protocol.messages.metadata_response import MetadataResponse
from odradek.protocol.registry import response_class
from support.processes.network import PATIENCE_S, api_versions_bytes, exchange, unknown_api_versions_bytes
from support.waiting import wait_until


def answering(key: ApiKey) -> ServedApi:
    """At once, or one turn of the loop later: one in two keys each."""
    smallest = response_class(key)()
    if isinstance(smallest, MetadataResponse):
        smallest.cluster_id = "x" * 20_000

    async def later(context: Any, request: Any) -> Message:
        await asyncio.sleep(0)
        return smallest

    return ServedApi(key, later if key % 2 else lambda context, request: smallest)


async def serve(options: dict[str, Any]) -> None:
    if "descriptors_max" in options:
        resource.setrlimit(resource.RLIMIT_NOFILE, (options["descriptors_max"],) * 2)
    kind = api_keys.ListenerRole(options.get("listener", "broker"))
    versions = [api for api in SERVED if api.key == ApiKey.API_VERSIONS]
    registry = Registry(kind, [*versions, *(answering(key) for key in APIS if key != ApiKey.API_VERSIONS)])
    endpoint = Endpoint(
        "PLAINTEXT",
        registry,
        limits=Limits(**options.get("limits", {})),
        quotas=ConnectionQuotas(per_ip_max=options.get("per_ip_max", 2**31 - 1)),
        security_protocol=options.get("security_protocol", "PLAINTEXT"),
    )
    # As many at a time as a test opens: a client whose attempt is dropped tries again only after a second.
    listener = Listener(endpoint, "", 0, backlog=1_000)
    await listener.start()
    print(listener.port, flush=True)
    await asyncio.Event().wait()


@dataclass(frozen=True, slots=True)
class Watched:
    """A process that listens, seen from outside."""

    port: int
    process: subprocess.Popen[bytes]
    log: Path

    def descriptors(self) -> int:
        return len(os.listdir(f"/proc/{self.process.pid}/fd"))

    def resident_bytes(self) -> int:
        pages = int(Path(f"/proc/{self.process.pid}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE")

    def answers(self) -> bool:
        """A good client gets what it asks for."""
        return exchange(self.port, api_versions_bytes(77))[:4] == (77).to_bytes(4, "big")

    def until(self, condition: Callable[[], bool], what: str) -> None:
        wait_until(condition, what, PATIENCE_S, lambda: self.log.read_text()[-2_000:])

    def check_log(self) -> None:
        """Nothing that a peer does is an error of ours."""
        text = self.log.read_text()
        assert self.process.poll() is None, text[-2_000:]
        for word in ("Traceback", "ERROR", "CRITICAL"):
            assert word not in text, text[max(0, text.index(word) - 500) :][:4_000]


#: Large blocks go back to the system when they are free, so that what is held can be told from what was held once.
_GIVE_BACK_MEMORY = {"MALLOC_MMAP_THRESHOLD_": "8192", "MALLOC_TRIM_THRESHOLD_": "8192"}


@contextmanager
def serving(directory: Path, **options: Any) -> Iterator[Watched]:
    log = directory / "listener.log"
    with log.open("wb") as errors:
        process = subprocess.Popen(
            [sys.executable, "-m", "support.processes.network_server", json.dumps(options)],
            stdout=subprocess.PIPE,
            stderr=errors,
            env={**os.environ, **_GIVE_BACK_MEMORY, "PYTHONPATH": str(Path(__file__).parents[2])},
        )
    try:
        assert process.stdout is not None
        with process.stdout:
            port = process.stdout.readline()
        assert port, log.read_text()
        yield Watched(int(port), process, log)
    finally:
        process.kill()
        process.wait()


def connect(port: int) -> socket.socket:
    return socket.create_connection(("127.0.0.1", port), timeout=PATIENCE_S)


def answer_to(port: int, data: bytes, wait_s: float = PATIENCE_S) -> bytes:
    """What comes back for it on a connection of its own, until the peer closes or is done with it.

    Behind a whole frame goes a question of ours, whose answer shows that the frame was dealt with. It does not come
    where the frame is a request that waits for something, which is left behind after `wait_s`.
    """
    is_whole = int.from_bytes(data[:4], "big", signed=True) == len(data) - 4
    received = b""
    with connect(port) as connection:
        connection.settimeout(wait_s)
        try:
            connection.sendall(data + _LAST_QUESTION if is_whole else data)
            if not is_whole:
                connection.shutdown(socket.SHUT_WR)
            while _LAST_ANSWER not in received and (came := connection.recv(65536)):
                received += came
        except (ConnectionError, TimeoutError):
            pass
    return received.partition(_LAST_ANSWER)[0]


_LAST_QUESTION = unknown_api_versions_bytes(0x4F445241)
#: Correlation id and UNSUPPORTED_VERSION.
_LAST_ANSWER = b"ODRA\x00\x23"


def first_answer(port: int, data: bytes) -> bytes:
    """The same, but it is the peer that ends it; the first that comes back."""
    with connect(port) as connection:
        try:
            connection.sendall(data)
            return connection.recv(65536)
        except ConnectionError:
            return b""


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO, format="%(levelname)s %(name)s %(message)s")
    run(serve(json.loads(sys.argv[1])))
