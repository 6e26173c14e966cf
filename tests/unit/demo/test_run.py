"""The demo as a command: what it prints, where the report is, and how it ends."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from demo import run
from demo.accounting import Check, account, balances
from demo.expected import expect
from demo.plan import Plan, Story
from demo.report import Report
from demo.show import Show
from odradek.common.failures import Fault
from odradek.spark.pipeline.report.charts import Line, Picture, Plot, Point
from unit.demo.demo_books import book_of, found_of


class FakeCluster:
    bootstrap = "nowhere:9092"


@contextmanager
def quick_shop(plan: Plan, show: Show) -> Iterator[tuple[FakeCluster, Story]]:
    show.say("open")
    yield FakeCluster(), Story()


def report(*more: Check) -> Report:
    expected = expect(book_of(10))
    found = found_of(expected)
    picture = Picture((Plot("Lag", (Line("records", [Point(0, 1)]),)),))
    checks = [*account(expected, found), *more]
    return Report("A run", "", balances(expected, found), checks, picture, {"rate": "5/s"}, {})


def demo(monkeypatch: pytest.MonkeyPatch, directory: Path, made: Report) -> int:
    monkeypatch.setattr(run, "open_shop", quick_shop)
    monkeypatch.setattr(run, "make_report", lambda *_: made)
    monkeypatch.setenv("TMPDIR", str(directory))
    monkeypatch.setattr(run.tempfile, "tempdir", None)
    return run.main(["--seconds", "1", "--report", str(directory / "out" / "report.html")])


def test_all_figures_met_is_success(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert demo(monkeypatch, tmp_path, report()) == 0
    said = capsys.readouterr().out
    assert f"Report: {tmp_path}/out/report.html" in said and "none lost, none doubled" in said
    assert {path.name for path in tmp_path.iterdir()} == {"out"}
    assert {path.name for path in (tmp_path / "out").iterdir()} == {"report.html", "report.svg"}


def test_a_figure_that_is_not_met_is_named_and_fails(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert demo(monkeypatch, tmp_path, report(Check("orders in the table: doubled", 0, 2))) == 1
    said = capsys.readouterr().out
    assert "not met: orders in the table: doubled: 2 instead of 0" in said and "none lost" not in said


def test_a_failure_is_said_in_a_line_and_logs_are_kept(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    @contextmanager
    def broken_shop(plan: Plan, show: Show) -> Iterator[tuple[FakeCluster, Story]]:
        (plan.work / "pipeline.log").write_text("it said this")
        raise Fault("the pipeline ended by itself")
        yield

    made = report()
    monkeypatch.setattr(run, "open_shop", broken_shop)
    monkeypatch.setattr(run, "make_report", lambda *_: made)
    monkeypatch.setattr(run.tempfile, "tempdir", str(tmp_path))
    assert run.main(["--report", str(tmp_path / "out" / "report.html")]) == 1
    assert "demo: the pipeline ended by itself" in capsys.readouterr().err
    assert (tmp_path / "out" / "failed" / "pipeline.log").read_text() == "it said this"
    assert {path.name for path in tmp_path.iterdir()} == {"out"}
