"""Runs that processes of a driver pass to each other in the directory of the driver."""

from pathlib import Path

import pytest

from odradek.spark.exactly_once.begun_runs import BegunRuns

OPTIONS = {"topic": "a", "sinkId": "s"}


@pytest.fixture(autouse=True)
def driver_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPARK_LOCAL_DIRS", f"{tmp_path},/other")


def test_another_process_reads_the_last_run() -> None:
    assert BegunRuns(OPTIONS).last() is None
    BegunRuns(OPTIONS).remember(3)
    assert BegunRuns({"SINKID": "s", "Topic": "a"}).last() == 3


def test_the_next_run_is_returned_once() -> None:
    BegunRuns(OPTIONS).remember_next(4)
    assert BegunRuns(OPTIONS).take_next() == 4
    assert BegunRuns(OPTIONS).take_next() is None


def test_streams_with_other_options_have_other_runs() -> None:
    BegunRuns(OPTIONS).remember(3)
    assert BegunRuns({**OPTIONS, "topic": "b"}).last() is None


def test_nothing_is_stored_without_a_directory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SPARK_LOCAL_DIRS")
    runs = BegunRuns(OPTIONS)
    runs.remember(3)
    runs.remember_next(4)
    assert (runs.last(), runs.take_next()) == (None, None)
