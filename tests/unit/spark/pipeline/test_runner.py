"""The runner with drivers that speak the protocol and run nothing: retries, restarts, signals, what is told."""

import json
import os
import shutil
import signal
import sys
import threading
from collections.abc import Sequence
from pathlib import Path

import pytest

from odradek.common.failures import InputError
from odradek.spark.pipeline import events, runner
from odradek.spark.pipeline.check import check_project
from odradek.spark.pipeline.driver import Job
from odradek.spark.pipeline.project import Project, read_project
from odradek.spark.pipeline.report.gaps import find_gaps
from odradek.spark.pipeline.report.runs import find_runs
from odradek.spark.pipeline.runner import Plan, Runner
from odradek.spark.pipeline.state import RunState, load
from odradek.spark.pipeline.watch.history import read_history
from support.waiting import wait_until

#: A driver does what the next word of its script says for each update; the script is shared by all that are started.
DRIVER = """\
import json, os, sys, time
job = json.loads(sys.stdin.readline())
script = sys.argv[1]

def tell(event, **fields):
    print(json.dumps({"event": event, "time_ms": 1, **fields}), flush=True)

def next_word():
    words = open(script).read().split()
    open(script, "w").write(" ".join(words[1:]))
    return words[0] if words else "completed"

if next_word() == "no-session":
    sys.stderr.write("Traceback (most recent call last):\\nodradek.errors.InputError: it is broken\\n")
    sys.exit(1)
tell("session", attempt=job["attempt"], driver_pid=os.getpid(), jvm_pid=None, spark="4.2.0")
for line in sys.stdin:
    command = line.split()
    if command[0] == "stop":
        sys.exit(0)
    number, word = int(command[1]), next_word()
    tell("update", update=number, state="running")
    tell("flow", flow="orders", update=number, state="running")
    if word in ("die", "server-gone"):
        os._exit(7 if word == "die" else 4)
    if word == "hang":
        continue
    tell("progress", flow="orders", update=number, batch_id=number, rows_in=10, rows_out=5, rows_per_s=1.0,
         duration_ms=5, lag=3, offsets={"orders": {"0": 10 * number}})
    state, _, error = word.partition(":")
    passes = state == "passing"
    state = "failed" if state in ("passing", "lasting") else state
    tell("update", update=number, state=state, seconds=0.1, error=error or None, may_pass=passes)
"""


class Bench:
    def __init__(self, directory: Path) -> None:
        (directory / "spark-pipeline.yml").write_text("name: shop\nstorage: storage\n")
        (directory / "driver.py").write_text(DRIVER)
        self.directory = directory
        self.project: Project = read_project(str(directory))
        self.told: list[events.Event] = []
        self.runner: Runner | None = None

    def run(
        self, script: Sequence[str], *, retries: int = 2, trigger_s: float | None = None, remote: str | None = None
    ) -> str:
        """`script`: for each start a word, and for each update one."""
        (self.directory / "script").write_text(" ".join(script))
        driver = (sys.executable, str(self.directory / "driver.py"), str(self.directory / "script"))
        job = Job(spec=str(self.project.spec_path), attempt=1, remote=remote)
        plan = Plan(job, trigger_s, retries, 0.01, driver)
        self.runner = Runner(self.project, plan, self._hear)
        return self.runner.run()

    def _hear(self, state: RunState, event: events.Event) -> None:
        self.told.append(event)

    def kinds(self) -> list[str]:
        return [event.KIND for event in self.told if event.KIND not in ("flow", "progress", "sample")]

    def states(self) -> list[str]:
        return [event.state for event in self.told if isinstance(event, events.Update) and event.state != "running"]


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


def test_one_update(bench: Bench) -> None:
    assert bench.run(["session", "completed"]) == "completed"
    assert bench.kinds() == ["started", "session", "update", "update", "ended"]
    progress = next(event for event in bench.told if isinstance(event, events.Progress))
    assert (progress.rows_in_total, progress.rows_out_total, progress.lag) == (10, 5, 3)
    ended = bench.told[-1]
    assert isinstance(ended, events.Ended) and (ended.rows_in, ended.rows_out, ended.updates) == (10, 5, 1)
    kept = load(bench.project.state)
    assert kept is not None and kept.state == "completed" and kept.flows["orders"].batch_id == 1


def test_a_run_leaves_its_history(bench: Bench) -> None:
    assert bench.run(["session", "die", "session", "completed"]) == "completed"
    assert bench.run(["session", "completed"]) == "completed"
    first, last = find_runs(read_history(bench.project), is_running=False)
    assert (first.state, last.state) == ("completed", "completed")
    assert [event.KIND for event in first.events if event.KIND in ("session", "retry")] == [
        "session",
        "retry",
        "session",
    ]
    for run in (first, last):
        assert sum(sample.rows_in for sample in run.samples if sample.flow == "orders") == 10
    assert {gap.title for gap in find_gaps([first]) if gap.is_fault} == {"Spark restarted"}


def test_a_dry_run_leaves_none(bench: Bench) -> None:
    (bench.directory / "script").write_text("session completed")
    driver = (sys.executable, str(bench.directory / "driver.py"), str(bench.directory / "script"))
    job = Job(spec=str(bench.project.spec_path), attempt=1, dry=True)
    assert Runner(bench.project, Plan(job, None, 0, 0.01, driver), bench._hear).run() == "completed"
    assert read_history(bench.project) == []


def test_a_failure_that_passes_is_tried_again_in_the_same_session(bench: Bench) -> None:
    assert bench.run(["session", "passing:busy", "passing:busy", "completed"]) == "completed"
    assert bench.states() == ["failed", "failed", "completed"]
    assert bench.kinds().count("session") == 1
    waits = [event.wait_s for event in bench.told if isinstance(event, events.Retry)]
    assert waits == [0.01, 0.02], "the wait doubles"


def test_retries_come_to_an_end(bench: Bench) -> None:
    assert bench.run(["session", *["passing:busy"] * 9], retries=3) == "failed"
    assert bench.states() == ["failed"] * 4
    assert bench.runner is not None and bench.runner.state.last_error == "busy"


def test_a_failure_that_lasts_is_not_tried_again(bench: Bench) -> None:
    assert bench.run(["session", "lasting:wrong"]) == "failed"
    assert bench.kinds().count("retry") == 0
    ended = bench.told[-1]
    assert isinstance(ended, events.Ended) and ended.error == "wrong"


def test_a_driver_that_dies_is_started_again(bench: Bench) -> None:
    assert bench.run(["session", "die", "session", "completed"]) == "completed"
    attempts = [event.attempt for event in bench.told if isinstance(event, events.Session)]
    assert attempts == [1, 2]
    retry = next(event for event in bench.told if isinstance(event, events.Retry))
    assert retry.cause == "Spark's driver ended with status 7"


def test_a_server_that_is_gone_is_waited_for(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """However long it takes: that it does not answer is not a failure of its own."""
    answers = iter([False] * 10 + [True])
    monkeypatch.setattr(runner, "is_reachable", lambda url: next(answers))
    monkeypatch.setattr(runner, "_LOOK_FOR_SERVER_S", 0.001)
    script = ["session", "server-gone", "session", "completed"]
    assert bench.run(script, retries=1, remote="sc://localhost:15002") == "completed"
    assert next(answers, None) is None, "it was asked until it answered"
    (retry,) = (event for event in bench.told if isinstance(event, events.Retry))
    assert retry.cause == "the Spark Connect server does not answer any more, or has lost the session"


def test_a_driver_that_cannot_start_says_why(bench: Bench) -> None:
    assert bench.run(["no-session"]) == "failed"
    ended = bench.told[-1]
    assert isinstance(ended, events.Ended) and ended.error == "it is broken"


def test_failures_are_counted_in_a_row(bench: Bench) -> None:
    """Two may fail in a row; with something good between them there may be more."""
    script = ["session", *["passing:busy", "completed"] * 4, "lasting:end"]
    assert bench.run(script, retries=1, trigger_s=0.0) == "failed"
    assert bench.states() == [*["failed", "completed"] * 4, "failed"]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_stops_it(bench: Bench, number: signal.Signals) -> None:
    def stop() -> None:
        wait_until(lambda: any(event.KIND == "flow" for event in bench.told), "an update runs", 60)
        os.kill(os.getpid(), number)

    stopping = threading.Thread(target=stop)
    stopping.start()
    assert bench.run(["session", "hang"], trigger_s=0.0) == "stopped"
    stopping.join()
    assert bench.kinds()[-2:] == ["stopping", "ended"]
    kept = load(bench.project.state)
    assert kept is not None and kept.state == "stopped" and kept.flows["orders"].state == "stopped"
    assert signal.getsignal(number) is not None


def test_nobody_else_runs_it_meanwhile(bench: Bench) -> None:
    bench.project.ours.mkdir(parents=True)
    other = Bench(bench.directory)
    refused: list[str] = []

    def hear(state: RunState, event: events.Event) -> None:
        if event.KIND == "session":
            with pytest.raises(InputError) as error:
                other.run(["session", "completed"])
            refused.append(str(error.value))

    bench._hear = hear  # type: ignore[method-assign]
    script = bench.directory / "script"
    script.write_text("session completed")
    assert bench.run(["session", "completed"]) == "completed"
    assert refused == [f"shop is already running, as process {os.getpid()}"]


def test_lines_are_events_again() -> None:
    event = events.Retry(time_ms=5, attempt=1, retries=3, wait_s=0.5, cause="busy")
    assert json.loads(events.to_line(event))["event"] == "retry"
    assert events.from_line(events.to_line(event)) == event


def test_a_storage_that_was_moved(tmp_path: Path) -> None:
    """Spark would write into tables where they were."""
    (tmp_path / "before").mkdir()
    assert Bench(tmp_path / "before").run(["start", "completed"]) == events.COMPLETED
    (tmp_path / "before").rename(tmp_path / "after")
    moved = Bench(tmp_path / "after")
    for _ in range(2):
        with pytest.raises(InputError, match=rf"the storage was {tmp_path}/before/storage when the pipeline ran last"):
            moved.run(["start", "completed"])
    assert f"the storage was {tmp_path}/before/storage" in str(check_project(str(tmp_path / "after")).problems)
    shutil.rmtree(tmp_path / "after" / "storage")
    assert moved.run(["start", "completed"]) == events.COMPLETED
