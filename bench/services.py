"""Three ways to handle messages, beside each other: a service, the bridge to Celery, a consumer inside a Celery task.

`python bench/services.py` prints the table of docs/service.md. One broker, three partitions, messages of 200 bytes, a
handler that does next to nothing, so that what is measured is the way to it:

* throughput: a backlog, from the first message that is handled to the last;
* latency: from produced to handled, at a steady rate that all three keep up with;
* memory: resident, of all processes of the way, after that;
* after kill -9: from the kill of what handles messages, which is started again at once, to the next message handled.
"""

import argparse
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from odradek.client.blocking import Producer
from odradek.testing import Cluster
from support.waiting import wait_until

BENCH = Path(__file__).parent
ODRADEK = (sys.executable, "-m", "odradek.cli.main")
QUIET = ("--without-gossip", "--without-mingle", "--without-heartbeat", "-l", "WARNING")
WORKER = (sys.executable, "-m", "celery", "-A", "services_shop:celery", "worker", "--pool", "threads", *QUIET)
VALUE = json.dumps({"text": "x" * 186}).encode()


@dataclass(frozen=True, slots=True)
class Way:
    name: str
    #: The first is killed and started again.
    commands: Sequence[Sequence[str]]
    backlog: int


def run_service(variable: str) -> Sequence[str]:
    return (*ODRADEK, "service", "run", f"services_shop:{variable}")


BEAT = (sys.executable, "-m", "celery", "-A", "services_shop:celery", "beat", "-s", "schedule", "--pidfile", "")
WAYS = (
    Way("service", (run_service("app"),), 20_000),
    Way("service, static member", (run_service("static"),), 20_000),
    Way("bridge", ((*WORKER, "-c", "4"), run_service("bridge")), 2_000),
    Way("in a task", ((*WORKER, "-c", "1"), (*BEAT, "-l", "WARNING")), 20_000),
)


class Handled:
    """Lines of when a message was handled, and when it was produced."""

    def __init__(self, directory: Path) -> None:
        self._path = directory / "handled"

    def lines(self, after: int = 0) -> list[tuple[int, int]]:
        if not self._path.exists():
            return []
        whole = self._path.read_bytes().rpartition(b"\n")[0].splitlines()[after:]
        return [(int(first), int(second)) for first, second in map(bytes.split, whole)]


class Running:
    def __init__(self, way: Way, directory: Path, bootstrap: str) -> None:
        self._way = way
        self._directory = directory
        self._environment = os.environ | {
            "BENCH_DIRECTORY": str(directory),
            "BENCH_BOOTSTRAP": bootstrap,
            "PYTHONPATH": str(BENCH),
        }
        self._processes = [self._start(command) for command in way.commands]

    def _start(self, command: Sequence[str]) -> subprocess.Popen[bytes]:
        with (self._directory / "log").open("ab") as log:
            return subprocess.Popen(
                command, stdout=log, stderr=log, cwd=self._directory, env=self._environment, start_new_session=True
            )

    def kill_first(self) -> None:
        self._processes[0].kill()
        self._processes[0].wait()
        self._processes[0] = self._start(self._way.commands[0])

    def supervise(self) -> None:
        """Celery's file queue ends a worker that reads a message which is only half written."""
        for index, command in enumerate(self._way.commands):
            if self._processes[index].poll() is not None:
                self._processes[index] = self._start(command)

    def memory_mb(self) -> float:
        pages = [int(Path(f"/proc/{each.pid}/statm").read_text().split()[1]) for each in self._processes]
        return sum(pages) * os.sysconf("SC_PAGE_SIZE") / 1e6

    def stop(self) -> None:
        for process in self._processes:
            process.send_signal(signal.SIGKILL)
            process.wait()


def produce(bootstrap: str, count: int, rate: float | None = None) -> None:
    with Producer(bootstrap_servers=bootstrap, linger_ms=0 if rate else 5) as producer:
        begun_s = time.monotonic()
        for number in range(count):
            if rate:
                time.sleep(max(0.0, begun_s + number / rate - time.monotonic()))
            producer.send("orders", VALUE, key=b"%d" % (number % 1_000))


def measure(way: Way, rate: float, seconds: float) -> dict[str, float]:
    with tempfile.TemporaryDirectory() as folder, Cluster(processes=True) as cluster:
        directory, bootstrap = Path(folder), cluster.bootstrap
        cluster.create_topic("orders", partitions=3)
        handled = Handled(directory)
        produce(bootstrap, way.backlog)
        running = Running(way, directory, bootstrap)

        def wait_for(count: int, what: str) -> None:
            def is_handled() -> bool:
                running.supervise()
                return len(handled.lines()) >= count

            wait_until(is_handled, what, 120, lambda: (directory / "log").read_text()[-4_000:])

        try:
            wait_for(way.backlog, "the backlog is handled")
            times = sorted(at_ms for at_ms, _ in handled.lines())
            throughput = way.backlog / max(0.001, (times[-1] - times[0]) / 1000)
            count = len(handled.lines())
            produce(bootstrap, int(rate * seconds), rate)
            wait_for(count + int(rate * seconds), "the steady load is handled")
            latencies = sorted(at_ms - produced_ms for at_ms, produced_ms in handled.lines(count))
            memory_mb = running.memory_mb()
            running.kill_first()
            killed_ms, before = time.time() * 1000, len(handled.lines())
            produce(bootstrap, 100)
            wait_for(before + 1, "it goes on after the kill")
            resumed_s = (handled.lines(before)[0][0] - killed_ms) / 1000
        finally:
            running.stop()
    return {
        "throughput": throughput,
        "p50_ms": statistics.median(latencies),
        "p99_ms": latencies[int(len(latencies) * 0.99)],
        "memory_mb": memory_mb,
        "resumed_s": resumed_s,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("ways", nargs="*", help=f"all unless named: {', '.join(way.name for way in WAYS)}")
    parser.add_argument("--rate", type=float, default=20, help="messages a second while latency is measured")
    parser.add_argument("--seconds", type=float, default=10, help="how long")
    given = parser.parse_args()
    print("| | messages a second | p50 | p99 | memory | after kill -9 |\n| --- | --: | --: | --: | --: | --: |")
    for way in WAYS:
        if given.ways and way.name not in given.ways:
            continue
        found = measure(way, given.rate, given.seconds)
        print(
            f"| {way.name} | {found['throughput']:,.0f} | {found['p50_ms']:,.0f} ms | {found['p99_ms']:,.0f} ms | "
            f"{found['memory_mb']:.0f} MB | {found['resumed_s']:.1f} s |",
            flush=True,
        )


if __name__ == "__main__":
    main()
