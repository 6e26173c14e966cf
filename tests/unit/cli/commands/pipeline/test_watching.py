"""`odradek pipeline status --watch`, `report`, and the table of flows: what they show of a run that was recorded."""

import io
import json
import time
from pathlib import Path

import pytest
from rich.console import Console

from odradek.cli.app import run
from odradek.cli.commands.pipeline.columns import (
    columns_for,
    flow_lines,
    plain_lines,
    short_bytes,
    short_count,
    short_time,
)
from odradek.cli.commands.pipeline.show import flow_table
from odradek.spark.pipeline.state import save
from odradek.spark.pipeline.status import FlowStatus
from support.spark.recorded_runs import NOON_MS, eventful_run

LARGE = FlowStatus(
    flow="paid_orders_with_customers_and_products",
    state="completed",
    batch_id=7,
    last_batch_ms=NOON_MS,
    rows_in=1_234_567,
    rows_out=999_999,
    rows_in_per_s=123_456.7,
    rows_out_per_s=99_999.9,
    lag=9_876_543,
    lag_ms=5_400_000,
    is_lag_minimum=True,
    reads_topics=True,
    duration_ms=61_234,
    parts_ms={"triggerExecution": 61_234, "addBatch": 60_000, "walCommit": 900, "queryPlanning": 12},
    late_interval_ms=5_000,
    state_rows=123_456_789,
    state_bytes=2_345_678_901,
    watermark_ms=NOON_MS,
    restarts=12,
)
SMALL = FlowStatus(
    flow="a", state="queued", batch_id=None, last_batch_ms=None, rows_in=0, rows_out=None, lag=None, reads_topics=False
)


def rendered(width: int) -> list[str]:
    console = Console(width=width, file=io.StringIO(), force_terminal=False)
    console.print(flow_table([SMALL, LARGE], width))
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue().splitlines()


def test_eighty_columns_show_what_matters() -> None:
    header, small, large, total = rendered(80)
    assert max(map(len, (header, small, large, total))) <= 80
    assert header.split() == ["flow", "state", "in/s", "out/s", "lag", "late", "batch", "stored", "restarts"]
    assert large.split("completed")[1].split() == ["123k", "100k", "9.9M", ">90", "min", "61", "s!", "123M", "12"]
    assert large.startswith("paid_orders") and "…" in large
    assert small.split() == ["a", "queued", "0", "-", "-", "-", "-", "-", "0"]
    assert total.split()[0] == "total"


@pytest.mark.parametrize("width", [100, 110, 145, 165, 180, 195, 300])
def test_wider_terminals_show_more_and_nothing_is_torn(width: int) -> None:
    lines = rendered(width)
    assert len(lines) == 4 and max(map(len, lines)) <= width
    assert "…" not in lines[2] or width < 145 or "paid_orders" in lines[2]
    assert ("watermark" in lines[0]) == (width >= 100)
    assert ("addBatch 60 s, walCommit 0.9 s" in lines[2]) == (width >= 145)
    assert "11-18 12:00:00Z" in lines[2]


def test_a_file_gets_every_column() -> None:
    header, _, large = plain_lines([SMALL, LARGE], None)
    assert [column.header in header for column in columns_for(None)] == [True] * len(columns_for(None))
    assert LARGE.flow in large and "1,234,567" in large and "999,999" in large
    assert len({len(row) for row in flow_lines([SMALL, LARGE], 80)}) == 1


def test_numbers_keep_their_width() -> None:
    assert [short_count(number) for number in (0, 0.4, 9.5, 12.3, 9_999, 10_000, 99_960, 1_234_567, 2e9)] == [
        *("0", "0.4", "9.5", "12", "9,999", "10.0k", "100k", "1.2M", "2.0G")
    ]
    assert short_count(None) == "-"
    assert all(len(short_count(10**power * 9.996)) <= 5 for power in range(9))
    times_ms = (0, 400, 9_940, 9_960, 99_400, 100_000, 5_900_000, 6_100_000, 900_000_000)
    assert [short_time(time_ms) for time_ms in times_ms] == [
        *("0.0 s", "0.4 s", "9.9 s", "10 s", "99 s", "2 min", "98 min", "1.7 h", "10 d")
    ]
    assert [short_bytes(number) for number in (0, 2_848, 65_536)] == ["0 B", "2848B", "65.5kB"]


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    project = tmp_path / "shop"
    project.mkdir()
    (project / "spark-pipeline.yml").write_text("name: shop\nstorage: storage\n")
    recording = eventful_run(project / "storage" / "odradek")
    save(recording.state, project / "storage" / "odradek" / "state.json")
    return project


def stop_after(monkeypatch: pytest.MonkeyPatch, refreshes: int) -> None:
    """Ctrl-C, while the command waits for the next time."""
    waits: list[float] = []

    def sleep(seconds: float) -> None:
        waits.append(seconds)
        if len(waits) == refreshes:
            raise KeyboardInterrupt

    monkeypatch.setattr(time, "sleep", sleep)


def test_watching_prints_an_object_for_each_refresh(
    shop: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    stop_after(monkeypatch, 3)
    assert run(["pipeline", "status", "shop", "--watch", "0.5", "--format", "json"]) == 0
    documents = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert len(documents) == 3
    assert documents[0]["state"] == "stopped" and documents[0]["time_ms"] <= documents[2]["time_ms"]
    assert [flow["flow"] for flow in documents[0]["flows"]] == ["counts", "events"]
    assert documents[0]["flows"][0]["restarts"] == 1 and documents[0]["sessions"] == 2


def test_watching_sees_what_another_process_writes(
    shop: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def sleep(seconds: float) -> None:
        if (shop / "again").exists():
            raise KeyboardInterrupt
        recording = eventful_run(shop / "again")
        recording.state.flows["events"].rows_in = 77_777
        save(recording.state, shop / "storage" / "odradek" / "state.json")

    monkeypatch.setattr(time, "sleep", sleep)
    assert run(["pipeline", "status", "shop", "--watch"]) == 0
    first, second = capsys.readouterr().out.split("\n\n")[:2]
    assert "77,777" not in first and "77,777" in second
    assert first.count("shop: stopped") == 1


@pytest.mark.parametrize("seconds", ["shop", "0", "inf", "nan"])
def test_watching_needs_a_time(shop: Path, seconds: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["pipeline", "status", "--watch", seconds]) == 2
    assert "is not a number of seconds. The project comes first: status shop --watch" in capsys.readouterr().err


def test_a_report(shop: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["pipeline", "report", "shop", "--utc"]) == 0
    assert capsys.readouterr().out == "wrote report.html: shop, 3 min 47 s from 2026-11-18 12:00:00.000+00:00\n"
    assert "<h1>Pipeline shop</h1>" in Path("report.html").read_text()
    assert run(["pipeline", "report", "shop", "-o", "other.html", "--format", "json", "--all"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["report"] == str(Path("other.html").resolve()) and document["runs"][0]["state"] == "stopped"
    assert Path("other.html").exists()


def test_the_runs_of_a_history(shop: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["pipeline", "report", "shop", "--list", "--utc"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["run", "started", "for", "state", "rows", "in"] and len(lines) == 2
    assert "3 min 47 s" in lines[1] and not Path("report.html").exists()
    assert run(["pipeline", "report", "shop", "--list", "--format", "json"]) == 0
    assert [document["run"] for document in json.loads(capsys.readouterr().out)] == [1]
    assert run(["pipeline", "report", "shop", "--run", "2"]) == 1
    assert "--run 2: the history of shop has 1 run" in capsys.readouterr().err


def test_a_report_of_what_never_ran(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "spark-pipeline.yml").write_text("name: tea\nstorage: storage\n")
    assert run(["pipeline", "report", str(tmp_path)]) == 1
    assert "tea has no history: it never ran. odradek pipeline run begins one" in capsys.readouterr().err
