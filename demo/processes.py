"""The two processes that the demo starts beside the nodes: the generator, and `odradek pipeline run`.

Both say what they do as lines of JSON, which a thread of each reads. Both end when their standard input, or the process
that started them, does; `close` is for the time before that.
"""

import json
import os
import signal
import subprocess
import sys
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from odradek.errors import Fault

_ROOT = Path(__file__).parents[1]

#: A pipeline finishes what it is doing before it stops.
_STOP_TIMEOUT_S = 120.0

#: So often a flow must have been idle before nothing more is expected of it.
_IDLE_TIMES = 2

#: The state of a pipeline whose process says nothing any more.
_GONE = "gone"


class TalkingProcess(ABC):
    """A process in a session of its own, so that Ctrl-C is for the demo alone."""

    def __init__(self, name: str, command: Sequence[str], log: Path) -> None:
        self._name = name
        self._log = log
        with log.open("ab") as errors:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
                cwd=_ROOT,
                start_new_session=True,
            )
        self._reading = threading.Thread(target=self._read, name=f"{name} says", daemon=True)
        self._reading.start()

    def check_alive(self) -> None:
        status = self._process.poll()
        if status is not None:
            raise Fault(f"the {self._name} ended by itself with status {status}; see {self._log}")

    def wait(self, timeout_s: float) -> None:
        """Until it has ended well."""
        try:
            status = self._process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            raise Fault(f"the {self._name} did not end within {timeout_s:.0f} s; see {self._log}") from None
        self._reading.join()
        if status != 0:
            raise Fault(f"the {self._name} ended with status {status}; see {self._log}")

    def close(self) -> None:
        """However it is: nothing is left of it."""
        if self._process.poll() is None:
            self._process.kill()
            self._process.wait()
        self._reading.join()
        assert self._process.stdin is not None
        self._process.stdin.close()

    @abstractmethod
    def hear(self, said: dict[str, Any]) -> None:
        """Called in a thread of its own for each line, and when there will be none any more."""

    def _read(self) -> None:
        assert self._process.stdout is not None
        with self._process.stdout as lines, self._log.with_suffix(".jsonl").open("w") as kept:
            for line in lines:
                kept.write(line)
                self.hear(json.loads(line))
        self.hear({"event": "silence"})


class GeneratorProcess(TalkingProcess):
    def __init__(self, bootstrap: str, ledger: Path, seed: int, rate: float, log: Path) -> None:
        self.acked = self.failed = 0
        options = {"bootstrap": bootstrap, "ledger": ledger, "seed": seed, "rate": rate}
        arguments = [f"--{name}={value}" for name, value in options.items()]
        super().__init__("generator", [sys.executable, "-m", "demo.generator", *arguments], log)

    def hear(self, said: dict[str, Any]) -> None:
        self.acked, self.failed = said.get("acked", self.acked), said.get("failed", self.failed)

    def end(self, timeout_s: float) -> None:
        """It sends the closing events and waits for every acknowledgement."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self.wait(timeout_s)


class PipelineProcess(TalkingProcess):
    def __init__(self, project: Path, log: Path, *arguments: str) -> None:
        self._changed = threading.Condition()
        self._pids: list[int] = []
        self.state = "starting"
        self.has_standby = False
        self.sessions = self.batches = 0
        #: When the last batch was done, and the last one that had rows; milliseconds since 1970.
        self.last_batch_ms = self.last_rows_ms = 0
        #: When each flow reported that it had processed all that there was, since the last batch that had rows.
        self._idle_ms: dict[str, list[int]] = {}
        command = [sys.executable, "-m", "odradek.cli.main", "pipeline", "run", str(project), "--format", "json"]
        super().__init__("pipeline", [*command, *arguments], log)

    def hear(self, said: dict[str, Any]) -> None:
        with self._changed:
            self._hear(said)
            self._changed.notify_all()

    def wait_until_running(self, timeout_s: float) -> None:
        """Spark is up, and all flows run."""
        self._wait(lambda: self.state == "running", timeout_s, "runs")

    def wait_for_standby(self, timeout_s: float) -> None:
        """A second driver is ready to take the place of the one that runs."""
        self._wait(lambda: self.has_standby, timeout_s, "has a second driver ready")

    def kill_driver(self) -> None:
        """The Python process and its JVM, with -9."""
        with self._changed:
            pids, self._pids, self.state = self._pids, [], "killed"
        for pid in pids:
            os.kill(pid, signal.SIGKILL)

    def wait_for_batch(self, since_ms: int, timeout_s: float) -> int:
        """A micro-batch with rows that was done after that, by a driver that runs; when it was."""
        self._wait(lambda: self.state == "running" and self.last_rows_ms > since_ms, timeout_s, "goes on")
        return self.last_rows_ms

    def wait_until_drained(self, since_ms: int, timeout_s: float) -> int:
        """Wait until every flow was idle after the last batch that had rows; return when that batch was done."""
        self._wait(lambda: self._is_drained(since_ms), timeout_s, "has read everything")
        return max(self.last_rows_ms, since_ms)

    def _is_drained(self, since_ms: int) -> bool:
        """Idle twice: the first time a flow may have looked for data just before the last rows were there."""
        idle = [sum(time_ms > since_ms for time_ms in times_ms) for times_ms in self._idle_ms.values()]
        return bool(idle) and min(idle) >= _IDLE_TIMES

    def _rows_at(self, time_ms: int) -> None:
        self.last_rows_ms = time_ms
        for times_ms in self._idle_ms.values():
            times_ms.clear()

    def stop(self) -> None:
        self._process.send_signal(signal.SIGTERM)
        self.wait(_STOP_TIMEOUT_S)

    def _hear(self, said: dict[str, Any]) -> None:
        match said["event"]:
            case "session":
                self._pids = [pid for pid in (said["driver_pid"], said["jvm_pid"]) if pid is not None]
                self.sessions += 1
            case "standby":
                self.has_standby = True
            case "live":
                self.state = said["state"]
            case "flow" if said["state"] == "running":
                self._idle_ms.setdefault(said["flow"], [])
            case "progress":
                self.batches += 1
                self.last_batch_ms = said["time_ms"]
                if said["rows_in"]:
                    self._rows_at(said["time_ms"])
            case "refresh":
                self._idle_ms.setdefault(said["flow"], [])
                self._rows_at(said["time_ms"])
            case "idle":
                self._idle_ms.setdefault(said["flow"], []).append(said["time_ms"])
            case "retry":
                self.state = "restarting"
            case "silence":
                self.state = _GONE

    def _wait(self, condition: Callable[[], bool], timeout_s: float, what: str) -> None:
        with self._changed:
            self._changed.wait_for(lambda: condition() or self.state == _GONE, timeout_s)
            if condition():
                return
            if self.state != _GONE:
                raise Fault(f"not within {timeout_s:.0f} s: the pipeline {what}; see {self._log}")
        self._process.wait(_STOP_TIMEOUT_S)
        self.check_alive()
