"""A second driver takes the place of one that dies; the drivers here speak the protocol and run nothing."""

import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from odradek.spark.pipeline import events, runner
from odradek.spark.pipeline.driver import Job
from odradek.spark.pipeline.project import read_project
from odradek.spark.pipeline.runner import Plan, Runner
from odradek.spark.pipeline.state import RunState

DRIVER = """\
import json, os, sys
job = json.loads(sys.stdin.readline())

def tell(event, **fields):
    print(json.dumps({"event": event, "time_ms": 1, **fields}), flush=True)

if job["is_standby"] and os.path.exists(sys.argv[1]):
    sys.exit(1)
tell("session", attempt=job["attempt"], driver_pid=os.getpid(), jvm_pid=None, spark="4.2.0")
for line in sys.stdin:
    if line.startswith("stop"):
        sys.exit(0)
    tell("live", state="starting")
    tell("live", state="running")
    tell("progress", flow="orders", batch_id=1, rows_in=10, rows_out=5, rows_per_s=1.0, duration_ms=5, lag=3,
         offsets={})
"""


class Bench:
    def __init__(self, directory: Path) -> None:
        (directory / "spark-pipeline.yml").write_text("name: shop\nstorage: storage\n")
        (directory / "driver.py").write_text(DRIVER)
        self.directory = directory
        self.told: list[events.Event] = []

    def run(self, react: Callable[[RunState, events.Event], None]) -> str:
        """Run live mode with a standby; `react` hears of each event."""

        def hear(state: RunState, event: events.Event) -> None:
            self.told.append(event)
            react(state, event)

        project = read_project(str(self.directory))
        driver = (sys.executable, str(self.directory / "driver.py"), str(self.directory / "no-standby"))
        plan = Plan(Job(spec=str(project.spec_path), attempt=1), None, 2, 0.01, driver, is_live=True, has_standby=True)
        return Runner(project, plan, hear).run()

    def attempts(self) -> list[int]:
        return [event.attempt for event in self.told if isinstance(event, events.Session)]


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


def stop() -> None:
    os.kill(os.getpid(), signal.SIGTERM)


def test_a_standby_takes_over(bench: Bench) -> None:
    pids: list[int] = []

    def react(state: RunState, event: events.Event) -> None:
        if isinstance(event, events.Standby):
            pids.append(event.driver_pid)
            os.kill(state.driver_pid or 0, signal.SIGKILL)
        if isinstance(event, events.Progress) and state.attempt > 1:
            stop()

    assert bench.run(react) == "stopped"
    assert bench.attempts() == [1, 2]
    sessions = [event for event in bench.told if isinstance(event, events.Session)]
    assert [sessions[1].driver_pid] == pids, "the driver that was ready, not another one"
    assert [event.wait_s for event in bench.told if isinstance(event, events.Retry)] == [0.0]


def test_a_driver_that_dies_before_its_standby_is_ready_is_replaced_by_a_new_one(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runner, "_STANDBY_AGAIN_S", 0.01)
    (bench.directory / "no-standby").touch()

    def react(state: RunState, event: events.Event) -> None:
        if isinstance(event, events.Progress):
            if state.attempt > 1:
                stop()
            else:
                os.kill(state.driver_pid or 0, signal.SIGKILL)

    assert bench.run(react) == "stopped"
    assert not any(isinstance(event, events.Standby) for event in bench.told)
    assert len(bench.attempts()) == 2


def test_a_standby_that_dies_is_started_again_and_the_driver_goes_on(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runner, "_STANDBY_AGAIN_S", 0.01)
    killed: list[int] = []

    def react(state: RunState, event: events.Event) -> None:
        if isinstance(event, events.Standby):
            if killed:
                stop()
            else:
                killed.append(event.driver_pid)
                os.kill(event.driver_pid, signal.SIGKILL)

    assert bench.run(react) == "stopped"
    assert bench.attempts() == [1], "the driver was never replaced"


def test_nothing_is_left_of_a_standby(bench: Bench) -> None:
    pids: list[int] = []

    def react(state: RunState, event: events.Event) -> None:
        if isinstance(event, events.Standby):
            pids.append(event.driver_pid)
            stop()

    assert bench.run(react) == "stopped"
    with pytest.raises(ProcessLookupError):
        os.kill(pids[0], 0)
