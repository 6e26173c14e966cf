"""A good client in a process of its own: it asks all the time, and says how long answers took.

Run as a program with a port, it sends ApiVersions on one connection, a millisecond after each answer. For every line on
its standard input, a number of answers, it prints a JSON object of what it saw since the last one, once it has seen so
many.
"""

import json
import os
import select
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from support.processes.network import PATIENCE_S, api_versions_bytes


def ask(stream: Any, request: bytes) -> float:
    started = time.perf_counter()
    stream.write(request)
    stream.flush()
    answer = stream.read(int.from_bytes(stream.read(4), "big"))
    assert answer[:4] == request[8:12], "not the answer to what was asked"
    return (time.perf_counter() - started) * 1000


def main(port: int) -> None:
    taken_ms: list[float] = []
    number = 0
    wanted: int | None = None
    with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE_S) as opened, opened.makefile("rwb") as stream:
        while True:
            number += 1
            taken_ms.append(ask(stream, api_versions_bytes(number)))
            if select.select([sys.stdin], [], [], 0.001)[0]:
                wanted = int(sys.stdin.readline())
            if wanted is not None and len(taken_ms) >= wanted:
                wanted = None
                taken_ms.sort()
                p99 = taken_ms[len(taken_ms) * 99 // 100]
                seen = {"answers": len(taken_ms), "p99_ms": round(p99, 2), "max_ms": round(taken_ms[-1], 2)}
                print(json.dumps(seen), flush=True)
                taken_ms.clear()


class Probe:
    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self._process = process

    @property
    def pid(self) -> int:
        return self._process.pid

    def seen(self, answers: int = 1) -> dict[str, Any]:
        """Since the last time, so many at least. Fails if an answer was wrong or did not come."""
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(f"{answers}\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        assert line, "the good client was not served"
        found: dict[str, Any] = json.loads(line)
        return found


@contextmanager
def probing(port: int) -> Iterator[Probe]:
    process = subprocess.Popen(
        [sys.executable, "-m", "support.processes.network_probe", str(port)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
    )
    try:
        yield Probe(process)
    finally:
        process.kill()
        process.communicate()


if __name__ == "__main__":
    main(int(sys.argv[1]))
