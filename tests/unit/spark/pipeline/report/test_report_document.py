"""The report of a run: one page that needs nothing else, and explains every gap in its charts."""

import re
import xml.etree.ElementTree as ElementTree
from html import unescape
from pathlib import Path

import pytest

from odradek.spark.pipeline import events
from odradek.spark.pipeline.report.charts import Line, Picture, Plot, Point, Tick, draw, sparkline
from odradek.spark.pipeline.report.document import render
from odradek.spark.pipeline.report.gaps import Gap, find_gaps
from odradek.spark.pipeline.report.measures import batch_line, lag_line, lateness, rate_line
from odradek.spark.pipeline.report.runs import Run, find_runs
from odradek.spark.pipeline.report.summary import make_report
from odradek.spark.pipeline.report.units import count, duration, size
from odradek.spark.pipeline.watch.history import _read
from support.spark.recorded_runs import NOON_MS, Recording, eventful_run

SVG = "{http://www.w3.org/2000/svg}"


def runs_of(directory: Path, *, is_running: bool = False) -> list[Run]:
    return find_runs(list(_read(directory)), is_running=is_running)


def seconds(gap: Gap) -> tuple[str, float, float]:
    return gap.title, (gap.start_ms - NOON_MS) / 1_000, (gap.end_ms - NOON_MS) / 1_000


def page_of(runs: list[Run]) -> str:
    return render(make_report("shop", runs, utc=True, version="1"))


def words_of(page: str) -> str:
    return unescape(re.sub(r"\s+", " ", re.sub(r"<style>.*?</style>|<[^>]+>", " ", page, flags=re.DOTALL)))


# Runs


def test_runs_and_how_they_ended(tmp_path: Path) -> None:
    eventful_run(tmp_path)
    killed = Recording(tmp_path, now_ms=NOON_MS + 3_600_000)
    killed.start()
    killed.live()
    killed.seconds(5)
    first, last = runs_of(tmp_path)
    assert (first.state, first.is_live, first.start_ms) == ("stopped", True, NOON_MS)
    assert (last.state, last.end_ms) == ("killed", NOON_MS + 3_605_000)
    assert runs_of(tmp_path, is_running=True)[-1].state == "running"
    assert find_runs([], is_running=False) == []


# Gaps


def test_every_gap_of_a_run_is_explained(tmp_path: Path) -> None:
    eventful_run(tmp_path)
    gaps = find_gaps(runs_of(tmp_path))
    assert [seconds(gap) for gap in gaps] == [
        ("Spark starts", 0, 9),
        ("counts restarted", 59, 64),
        ("brokers silent", 93, 98),
        ("Spark restarted", 128, 143),
        ("idle", 203, 227),
    ]
    assert [gap.is_fault for gap in gaps] == [False, True, True, True, False]
    assert all(gap.has_recovered for gap in gaps)
    assert gaps[1].reason == "TimeoutError: partition orders-0 has no leader"
    assert gaps[3].reason == "Spark's JVM is gone"


def test_the_time_between_two_runs(tmp_path: Path) -> None:
    eventful_run(tmp_path)
    again = Recording(tmp_path, now_ms=NOON_MS + 600_000)
    again.start()
    again.seconds(3)
    gaps = [gap for gap in find_gaps(runs_of(tmp_path)) if gap.title == "stopped"]
    assert [seconds(gap) for gap in gaps] == [("stopped", 227, 600)] and not gaps[0].is_fault


def test_a_run_that_was_killed_is_a_fault(tmp_path: Path) -> None:
    for start_ms in (NOON_MS, NOON_MS + 60_000):
        run = Recording(tmp_path, now_ms=start_ms)
        run.start()
        run.live()
        run.seconds(5)
    (gap,) = [gap for gap in find_gaps(runs_of(tmp_path)) if gap.title == "killed"]
    assert seconds(gap) == ("killed", 5, 60) and gap.is_fault


def test_an_interruption_that_lasts(tmp_path: Path) -> None:
    run = Recording(tmp_path)
    run.start()
    run.session()
    run.live()
    run.seconds(10, produced=10, batch_every=1)
    run.lose_driver()
    run.seconds(30, produced=10)
    (gap,) = [gap for gap in find_gaps(runs_of(tmp_path, is_running=True)) if gap.is_fault]
    assert seconds(gap) == ("pipeline failed", 10, 40) and not gap.has_recovered
    text = words_of(page_of(runs_of(tmp_path, is_running=True)))
    assert "The pipeline is interrupted now: Spark's JVM is gone" in text and "not recovered" in text


def test_a_machine_that_slept(tmp_path: Path) -> None:
    run = Recording(tmp_path)
    run.start()
    run.live()
    run.seconds(10, produced=10, batch_every=1)
    run.now_ms += 300_000
    run.seconds(10, produced=10, batch_every=1)
    assert [seconds(gap) for gap in find_gaps(runs_of(tmp_path)) if gap.title == "not recorded"] == [
        ("not recorded", 10, 311)
    ]


def test_updates_are_no_gaps(tmp_path: Path) -> None:
    run = Recording(tmp_path)
    run.start(is_live=False)
    run.session()
    run.tell(events.Update(time_ms=run.now_ms + 1, update=1, state=events.RUNNING))
    run.tell(events.Flow(time_ms=run.now_ms, flow="events", update=1, state=events.RUNNING))
    run.seconds(3, produced=10, batch_every=1)
    run.tell(events.Update(time_ms=run.now_ms, update=1, state=events.COMPLETED, seconds=3.0))
    run.end_run(events.COMPLETED)
    assert [gap.title for gap in find_gaps(runs_of(tmp_path))] == ["Spark starts"]
    assert "one update" in page_of(runs_of(tmp_path))


# FlowSamples


def test_pauses_do_not_make_it_look_better(tmp_path: Path) -> None:
    run = Recording(tmp_path)
    run.start()
    run.live()
    run.seconds(30, produced=100, batch_every=2)
    run.batch()
    run.second()
    run.idle()
    run.seconds(600)
    runs = runs_of(tmp_path)
    pauses = [gap for gap in find_gaps(runs) if not gap.is_fault]
    with_pauses, without = lateness(runs, []), lateness(runs, pauses)
    assert with_pauses is not None and without is not None
    assert with_pauses.p50_ms == 0 and without.p50_ms >= 1_000


def test_rows_are_shown_over_the_time_that_their_batch_took(tmp_path: Path) -> None:
    """Batches of 20 seconds: between their ends rows are processed."""
    run = Recording(tmp_path)
    run.start()
    run.live()
    for _ in range(6):
        run.seconds(20, produced=100)
        run.position = run.end
        parts = {"addBatch": 19_870, "triggerExecution": 20_000}
        run.progress("events", 2_000, 2_000, {"orders": {"0": run.end}}, parts)
    run.second()
    values = [point.value or 0.0 for point in rate_line(runs_of(tmp_path), "read", "rows_in").points]
    assert min(values[1:-2]) > 50 and max(values) < 200


def test_lines_are_broken_where_nothing_is_known(tmp_path: Path) -> None:
    eventful_run(tmp_path)
    runs = runs_of(tmp_path)
    assert [point.seconds for point in lag_line(runs, "lag").points if point.value is None] == [98.0]
    assert [point for point in batch_line(runs, "batch").points if point.value is None] == []


# The page


def test_the_page_needs_nothing_else_and_tells_the_story(tmp_path: Path) -> None:
    eventful_run(tmp_path)
    page = page_of(runs_of(tmp_path))
    assert not re.search(r"(src|href)=|<script|@import|url\(", page)
    text = words_of(page)
    assert "The pipeline was stopped on request; everything in its topics was processed." in text
    assert "It was interrupted 3 times and went on by itself each time, the longest interruption took 15 s." in text
    assert "live mode, 18 November 2026, 12:00:00 to 12:03:47 UTC (3 min 47 s)" in text
    for title in ("Rows per second", "Records waiting", "Age of the oldest record", "Duration of batches, s"):
        assert title in text
    assert "orders.dead 12 12" in text and "reading, processing and writing" in text
    numbers = re.findall(r'class="number(?: quiet)?">(\d+)<', page)
    svg = page[page.index("<svg") : page.index("</svg>") + 6]
    named = [text.text for text in ElementTree.fromstring(svg).iter(f"{SVG}text")]
    assert numbers == ["1", "2", "3", "4", "5"] and set(numbers) <= set(named), "each band has its row"


def test_names_and_causes_are_escaped(tmp_path: Path) -> None:
    run = Recording(tmp_path)
    run.start()
    run.live()
    run.restart("counts", "<script>alert(1)</script>")
    run.seconds(3)
    page = render(make_report("<b>", runs_of(tmp_path), utc=True, version="1"))
    assert "<script" not in page and "Pipeline &lt;b&gt;" in page


@pytest.mark.parametrize(
    ("state", "error", "said"),
    [
        (events.FAILED, "column x is not there", "The pipeline failed: column x is not there"),
        (events.COMPLETED, None, "The pipeline completed; 500 records are still waiting to be processed."),
    ],
)
def test_verdicts(tmp_path: Path, state: str, error: str | None, said: str) -> None:
    run = Recording(tmp_path)
    run.start()
    run.live()
    run.batch()
    run.second(500)
    run.end_run(state, error)
    page = page_of(runs_of(tmp_path))
    assert said in words_of(page)


def test_a_trigger_that_was_not_kept(tmp_path: Path) -> None:
    run = Recording(tmp_path)
    run.start()
    run.live()
    run.tell(events.LateTrigger(time_ms=run.now_ms, flow="events", interval_ms=5_000, duration_ms=7_100))
    run.seconds(2)
    text = words_of(page_of(runs_of(tmp_path)))
    assert "Flow events could not keep its trigger interval of 5.0 s: its batches took up to 7.1 s." in text


def test_a_pipeline_that_fails_again_and_again(tmp_path: Path) -> None:
    run = Recording(tmp_path)
    run.start()
    run.live()
    for _ in range(60):
        run.restart("counts", "busy")
        run.seconds(4, produced=10, batch_every=1)
    page = page_of(runs_of(tmp_path))
    assert "<p>And 21 more.</p>" in page


# Charts and words


def test_points_without_a_value_break_a_line() -> None:
    points = [Point(0, 1), Point(1, 2), Point(2, None), Point(3, 4)]
    root = ElementTree.fromstring(draw(Picture([Plot("p", [Line("a", points)])], (), [Tick(1, "noon")])))
    drawn = [each for each in root.iter(f"{SVG}path") if each.get("class") == "line one"]
    assert len(drawn) == 2, "a stretch of two points, and the legend"
    assert len(list(root.iter(f"{SVG}circle"))) == 1, "a point alone"
    assert "noon" in [text.text for text in root.iter(f"{SVG}text")]
    assert sparkline([1.0, None, 2.0, 3.0]).count("<circle") == 1 and "<svg" in sparkline([])


def test_words() -> None:
    times_ms = (0, 9_940, 45_000, 59_700, 60_000, 200_000, 3_600_000, 7_500_000, 3 * 86_400_000)
    assert [duration(time_ms) for time_ms in times_ms] == [
        *("0.0 s", "9.9 s", "45 s", "1 min", "1 min", "3 min 20 s", "1 h", "2 h 5 min", "3 days")
    ]
    assert [size(number) for number in (0, 999, 65_536, 123_456_789)] == ["0 B", "999 B", "65.5 kB", "123 MB"]
    assert (count(1, "row"), count(2_000, "row")) == ("1 row", "2,000 rows")
