"""The report: whole, by itself, and honest about what is not met."""

import re
import xml.etree.ElementTree as ElementTree
from dataclasses import replace

import numpy as np

from demo import measures
from demo.accounting import Check, account, balances
from demo.expected import expect
from demo.measures import Arrivals
from demo.publish import published
from demo.report import Report, render
from odradek.spark.pipeline.report.charts import Fault, Line, Picture, Plot, Point, draw
from unit.demo.demo_books import OPENED_MS, book_of, found_of

SVG = "{http://www.w3.org/2000/svg}"
EXPECTED = expect(book_of(20))
FOUND = found_of(EXPECTED)
PICTURE = Picture(
    (
        Plot("Throughput", (Line("in", [Point(0, 10), Point(10, 1_900)]), Line("out", [Point(5, 7)]))),
        Plot("Lag & so on", (Line("<records>", []),)),
    ),
    (Fault("broker killed", 2, 4), Fault("driver killed", 6, 6)),
)
REPORT = Report(
    "A run",
    "of <things>",
    balances(EXPECTED, FOUND),
    account(EXPECTED, FOUND),
    PICTURE,
    {"rate": "5/s"},
    {"cores": "2"},
)


def test_the_picture_is_an_svg_with_every_line_and_both_faults() -> None:
    root = ElementTree.fromstring(draw(PICTURE))
    texts = [each.text or "" for each in root.iter(f"{SVG}text")]
    assert {"Throughput", "Lag & so on", "in", "out", "<records>", "broker killed", "driver killed"} <= set(texts)
    assert "2,000" in texts and "0 s" in texts  # of the axes
    assert len([each for each in root.iter(f"{SVG}rect") if each.get("class") == "band"]) == 2
    drawn = [each.get("d") or "" for each in root.iter(f"{SVG}path") if (each.get("class") or "").startswith("line")]
    numbers = [float(each) for path in drawn for each in re.findall(r"-?[\d.]+", path)]
    assert all(0 <= number <= 960 for number in numbers)


def test_the_report_needs_nothing_else_and_says_all() -> None:
    page = render(REPORT)
    assert not re.search(r"(src|href)=|<script|@import|url\(", page)
    assert "of &lt;things&gt;" in page and "All" in page and "are met" in page
    for balance in REPORT.balances:
        assert f"<td>{balance.produced:,}</td><td>{balance.in_table:,}</td>" in page


def test_the_report_names_what_is_not_met() -> None:
    page = render(replace(REPORT, checks=[*REPORT.checks, Check("orders in the table: missing", 0, 3)]))
    assert "1 of " in page and "orders in the table: missing: 3 instead of 0" in page


def test_rates_and_latencies_of_a_steady_stream() -> None:
    sent = np.arange(OPENED_MS, OPENED_MS + 20_000, 10, dtype=np.int64)
    arrivals = [Arrivals(int(part[-1]) + 1_000, part) for part in np.split(sent, 10)]
    assert {point.value for point in measures.rate_in(sent.tolist(), OPENED_MS).points} == {100.0}
    out = measures.rate_out(arrivals, OPENED_MS).points
    assert out[0].value == 0 and {round(point.value) for point in out[12:]} == {100}
    lines = measures.latencies(arrivals, OPENED_MS)
    assert [line.name for line in lines] == ["p50", "p95", "p99"]
    assert all(1.9 < point.value < 2.1 for point in lines[0].points)
    assert 1.9 < measures.overall(arrivals).p50_s < 2.1 < 2.8 < measures.overall(arrivals).p99_s < 3.0


def test_nothing_arrived_is_no_line() -> None:
    assert measures.overall([]).p99_s == 0 and measures.latencies([], OPENED_MS)[0].points == []


def test_the_readme_takes_the_last_run_in_place_of_the_one_before() -> None:
    readme = "before\n<!-- the last run, by make demo DEMO=--publish -->\nold\n<!-- end of the last run -->\nafter\n"
    first = published(readme, REPORT)
    assert first.startswith("before\n<!--") and first.endswith("-->\nafter\n") and "old" not in first
    assert f"| orders | {REPORT.balances[0].produced:,} |" in first and "- rate: 5/s" in first
    assert published(first, REPORT) == first
