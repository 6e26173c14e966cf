"""`odradek pipeline run` as a process whose JSON lines a test reads."""

import json
import signal
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from support.processes.process_tree import kill, kill_tree
from support.spark import session as spark
from support.waiting import wait_until

ODRADEK = str(Path(sys.executable).parent / "odradek")

#: Spark starts in seconds where nobody else wants the machine.
WAIT_S = 300.0

#: What makes the JVM start quickly.
FLAGS = "spark.driver.extraJavaOptions"


def quick_settings() -> dict[str, str]:
    """A quick start counts more than a fast run."""
    return {
        "spark.driver.memory": "1g",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.session.timeZone": "UTC",
        FLAGS: spark.settings_of(Path())[FLAGS],
        # Flows of live mode report soon that they are idle.
        "spark.sql.streaming.noDataProgressEventInterval": "1s",
    }


Event = dict[str, Any]

_IDLE_TIMES = 2


class Running:
    """Of one run; what it has told so far is in `events`."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process
        self.events: list[Event] = []
        self._listening = threading.Thread(target=self._listen)
        self._listening.start()

    def _listen(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.events.append(json.loads(line))

    def wait_for(self, what: str, is_it: Callable[[Event], bool], after: int = 0) -> Event:
        """The first such event, of those after so many."""
        found: list[Event] = []

        def look() -> bool:
            found[:] = [event for event in self.events[after:] if is_it(event)]
            return bool(found) or self.process.poll() is not None

        wait_until(look, what, WAIT_S, lambda: str(self.events[-20:]))
        assert found, f"it ended before {what}: {self.events[-20:]}"
        return found[0]

    def stop(self, number: signal.Signals = signal.SIGTERM) -> int:
        self.process.send_signal(number)
        return self.end()

    def end(self) -> int:
        status = self.process.wait(WAIT_S)
        self._listening.join()
        return status

    def kill_the_jvm(self, send: Callable[[], object]) -> None:
        """In the update that takes what is sent; another attempt is under way when this returns."""
        (session,) = self.of("session")
        seen = len(self.events)
        send()
        self.wait_for("an update", lambda event: event["event"] == "update" and event["state"] == "running", seen)
        kill(session["jvm_pid"])
        self.wait_for("another attempt", lambda event: event["event"] == "session" and event["attempt"] == 2, seen)

    def of(self, kind: str) -> list[Event]:
        return [event for event in self.events if event["event"] == kind]

    def rows(self, flow: str, count: str = "rows_in") -> int:
        """That it took; a batch that Spark did again is counted once."""
        return sum({event["batch_id"]: event[count] for event in self.of("progress") if event["flow"] == flow}.values())


@contextmanager
def running(project: Path, *options: str, settings: Mapping[str, str] | None = None) -> Iterator[Running]:
    """Whatever is left of it at the end is killed."""
    conf = [
        word
        for name, value in {**quick_settings(), **(settings or {})}.items()
        for word in ("--conf", f"{name}={value}")
    ]
    process = subprocess.Popen(
        [ODRADEK, "pipeline", "run", str(project), "--format", "json", *conf, *options],
        env=spark.foreign_environment(project / ".foreign"),
        stdout=subprocess.PIPE,
        text=True,
    )
    made = Running(process)
    try:
        yield made
    finally:
        kill_tree(process.pid)
        made.end()
        process.communicate()


def is_drained(events: Sequence[Event]) -> bool:
    """Of live mode: whether every flow was idle twice after the last batch of any flow that had rows. Once is not
    enough: it may have looked for data just before those rows were there."""
    started = [index for index, event in enumerate(events) if event["event"] == "live" and event["state"] == "running"]
    if not started:
        return False
    has_rows = [index for index, event in enumerate(events) if event["event"] == "refresh" or event.get("rows_in")]
    since = max([started[-1], *has_rows])
    flows = {event["flow"] for event in events if event["event"] in ("flow", "refresh")}
    idle = Counter(event["flow"] for event in events[since:] if event["event"] == "idle")
    return all(idle[flow] >= _IDLE_TIMES for flow in flows)


def make_project(directory: Path, definitions: Mapping[str, str], spec: str = "") -> Path:
    """With these files in `transformations`; `spec` goes below the usual fields."""
    (directory / "transformations").mkdir(parents=True)
    libraries = "libraries: [{glob: {include: transformations/**}}]"
    (directory / "spark-pipeline.yml").write_text(f"name: {directory.name}\nstorage: storage\n{libraries}\n{spec}")
    for name, text in definitions.items():
        (directory / "transformations" / name).write_text(text)
    return directory
