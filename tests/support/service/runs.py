"""Services, workers of Celery and brokers as processes that are killed while messages are handled."""

import json
import os
import signal
import sqlite3
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType

from confluent_kafka import Consumer, Producer, TopicPartition

from support.loads.data_load import CLIENT, admin_of, bootstrap_of, wait_for_isr
from support.processes.nodes import ODRADEK, Cluster
from support.waiting import Hopeless, wait_until

_TESTS = Path(__file__).parents[2]
_TAIL_CHARACTERS = 6_000


class Program:
    """One process that is started again after it was killed."""

    def __init__(
        self,
        name: str,
        command: Sequence[str],
        directory: Path,
        *,
        supervised: bool = False,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        """`supervised`: started again if it ends by itself, which is no failure."""
        self._environment = dict(environment or {})
        self.name = name
        self._is_supervised = supervised
        self.kills = 0
        self._command = command
        self._directory = directory
        self._log = directory / f"{name}.log"
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> "Program":
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
        if kind is not None:
            print(f"--- {self.name}\n{self.log_text()[-_TAIL_CHARACTERS:]}")

    def start(self) -> None:
        environment = os.environ | {"SHOP_DIRECTORY": str(self._directory), "PYTHONPATH": str(_TESTS)}
        environment |= self._environment
        with self._log.open("ab") as output:
            self._process = subprocess.Popen(
                self._command, stdout=output, stderr=subprocess.STDOUT, cwd=self._directory, env=environment
            )

    def kill(self) -> None:
        """kill -9, and start anew."""
        assert self._process is not None
        self._process.kill()
        self._process.wait()
        self.kills += 1
        self.start()

    def stop(self) -> int:
        """As an orchestrator does it; the exit status."""
        assert self._process is not None
        self._process.send_signal(signal.SIGTERM)
        status = self._process.wait(120)
        self._process = None
        return status

    def check_alive(self) -> None:
        if self._process is None or self._process.poll() is None:
            return
        if self._is_supervised:
            self.start()
        else:
            raise Hopeless(f"{self.name} ended by itself with status {self._process.returncode}\n{self.log_text()}")

    def log_text(self) -> str:
        return self._log.read_text(errors="replace")


def service(place: str, cluster: Cluster, directory: Path) -> Program:
    command = (*ODRADEK, "service", "run", place, "-b", bootstrap_of(cluster))
    return Program(place.rpartition(":")[2], command, directory)


def worker(directory: Path) -> Program:
    """A worker of Celery with threads, which is one process, so that a kill takes all of it.

    A message of its file queue that a kill of the bridge has torn ends the worker that reads it."""
    quiet = ("--without-gossip", "--without-mingle", "--without-heartbeat", "-l", "WARNING")
    command = (
        "-m",
        "celery",
        "-A",
        "support.service.celery_app:celery",
        "worker",
        "--pool",
        "threads",
        "-c",
        "4",
        *quiet,
    )
    return Program("worker", (sys.executable, *command), directory, supervised=True)


_IN_TASK = "support.service.celery_task_app:celery"


def consuming_worker(cluster: Cluster, directory: Path) -> Program:
    """A worker of Celery whose tasks consume orders themselves, one at a time."""
    quiet = ("--without-gossip", "--without-mingle", "--without-heartbeat", "-l", "WARNING")
    command = (sys.executable, "-m", "celery", "-A", _IN_TASK, "worker", "--pool", "threads", "-c", "1", *quiet)
    environment = {"SHOP_BOOTSTRAP": bootstrap_of(cluster)}
    return Program("consuming-worker", command, directory, supervised=True, environment=environment)


def beat(cluster: Cluster, directory: Path) -> Program:
    """Celery's scheduler: a task that consumes, each second."""
    schedule = ("-s", str(directory / "beat-schedule"), "--pidfile", "", "-l", "WARNING")
    command = (sys.executable, "-m", "celery", "-A", _IN_TASK, "beat", *schedule)
    return Program("beat", command, directory, environment={"SHOP_BOOTSTRAP": bootstrap_of(cluster)})


def produce_orders(cluster: Cluster, topic: str, count: int) -> None:
    producer = Producer({"bootstrap.servers": bootstrap_of(cluster), "queue.buffering.max.messages": count})
    for number in range(count):
        producer.produce(topic, json.dumps({"number": number}).encode(), key=b"customer-%d" % (number % 500))
    assert producer.flush(120) == 0


def effects(directory: Path) -> Counter[int]:
    """How often each order had its effect."""
    connection = sqlite3.connect(directory / "effects.db", timeout=60)
    try:
        return Counter(number for (number,) in connection.execute("SELECT number FROM effects"))
    finally:
        connection.close()


def effect_count(directory: Path) -> int:
    connection = sqlite3.connect(directory / "effects.db", timeout=60)
    try:
        return int(connection.execute("SELECT count(*) FROM effects").fetchone()[0])
    finally:
        connection.close()


class Lag:
    """How many records a group has not committed yet."""

    def __init__(self, cluster: Cluster, group: str, partitions: int, *topics: str) -> None:
        self._consumer = Consumer({"bootstrap.servers": bootstrap_of(cluster), "group.id": group, **CLIENT})
        self._partitions = [TopicPartition(topic, number) for topic in topics for number in range(partitions)]

    def count(self) -> int:
        committed = {(each.topic, each.partition): each.offset for each in self._consumer.committed(self._partitions)}
        ends = [self._consumer.get_watermark_offsets(each)[1] for each in self._partitions]
        done = [max(0, committed[each.topic, each.partition]) for each in self._partitions]
        return sum(ends) - sum(done)


def runs(directory: Path) -> Counter[int]:
    """How often the handler was called for each order; the last line may be torn by a kill."""
    path = directory / "runs"
    return Counter(map(int, path.read_bytes().split(b"\n")[:-1])) if path.exists() else Counter()


def kill_in_turn(
    steps: Sequence[Callable[[], None]], progress: Callable[[], int], total: int, programs: Sequence[Program]
) -> None:
    """Each step when its part of the work is done, the last one well before the end."""
    for index, step in enumerate(steps):
        wanted = total * (index + 1) // (len(steps) + 2)
        wait_for(lambda wanted=wanted: progress() >= wanted, f"{wanted} of {total} are done", programs)  # type: ignore[misc]
        assert progress() < total, "everything was done before the last kill"
        step()


def wait_for(condition: Callable[[], bool], what: str, programs: Sequence[Program]) -> None:
    def is_so() -> bool:
        for program in programs:
            program.check_alive()
        return condition()

    wait_until(is_so, what, timeout_s=300)


def kill_broker(cluster: Cluster, node_id: int, topic: str) -> None:
    """kill -9, and start anew. All are in sync before: with one killed, enough are left to take everything."""
    wait_for_isr(admin_of(cluster), topic, *cluster.nodes)
    cluster[node_id].kill()
    cluster[node_id].start()
