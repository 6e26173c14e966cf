"""What benchmarks found: kept row by row, shown as tables and as a chart."""

import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[3] / "bench"))

import chart
import document
import results
import tables

ROOT = Path(__file__).parents[3]
SVG = "{http://www.w3.org/2000/svg}"


def row(operation: str, ours: float, peer: float, *, is_rate: bool = False, group: str = "") -> results.Row:
    made = {"operation": operation, "ours": ours, "peer": peer, "unit": "s", "is_rate": is_rate, "note": ""}
    return {**made, "chart": group} if group else made


@pytest.fixture
def places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(results, "MEASURED", tmp_path / "measured.json")
    monkeypatch.setattr(results, "PUBLISHED", tmp_path / "published.json")
    monkeypatch.setattr(document, "TABLE", tmp_path / "benchmarks.md")
    monkeypatch.setattr(document, "CHART", tmp_path / "benchmarks.svg")
    monkeypatch.setattr(document, "README", tmp_path / "README.md")
    document.README.write_text(f"top\n{document.SUMMARY_START}\nold\n{document.SUMMARY_END}\nbottom\n")
    return tmp_path


def test_a_run_that_was_stopped_keeps_its_rows_and_is_not_complete(places: Path) -> None:
    run = results.Results(results.MEASURED)
    run.begin("controllers", "full")
    run.add("controllers", row("start", 1, 2))
    again = results.Results(results.MEASURED)
    assert again.suites["controllers"]["rows"] == [row("start", 1, 2)]
    assert not again.is_complete("controllers", "full")
    run.complete("controllers")
    again = results.Results(results.MEASURED)
    assert again.is_complete("controllers", "full") and not again.is_complete("controllers", "quick")


def test_the_document_shows_complete_suites_in_their_order_and_keeps_what_surrounds_them(places: Path) -> None:
    document.TABLE.write_text("before\n<!-- bench:start -->\nold\n<!-- bench:end -->\nafter\n")
    run = results.Results(results.MEASURED)
    floor = {"operation": "decode", "median_us": 2_000.0, "floor_us": 1_000.0, "note": "a note"}
    for name, found in (("codec", floor), ("brokers.starts", row("start", 1, 20, group="Start")), ("network", floor)):
        run.begin(name, "full")
        run.add(name, found)
        if name != "network":
            run.complete(name)
    document.write()
    text = document.TABLE.read_text()
    assert text.startswith("before\n") and text.endswith("-->\nafter\n") and "old" not in text
    assert "| decode | 2 ms | 1 ms | 2.00 | a note |" in text
    assert "| start | 1 s | 20 s | 20.00 ahead |  |" in text
    assert text.index("## Brokers") < text.index("## Messages") and "## Network" not in text
    results.MEASURED.unlink()
    document.write()
    assert document.TABLE.read_text() == text


def test_readme_summary_is_replaced_between_its_markers(places: Path) -> None:
    run = results.Results(results.MEASURED)
    run.begin("brokers.starts", "full")
    run.add("brokers.starts", row(document.SUMMARY[0], 1, 20))
    run.add("brokers.starts", row("not in the summary", 1, 20))
    run.complete("brokers.starts")
    document.write()
    text = document.README.read_text()
    assert text.startswith("top\n") and text.endswith("-->\nbottom\n") and "old" not in text
    assert f"| {document.SUMMARY[0]} | 1 s | 20 s | 20.00 ahead |" in text and "not in the summary" not in text


def test_readme_summary_shows_the_published_results() -> None:
    readme = (ROOT / "README.md").read_text()
    shown = readme[readme.index(document.SUMMARY_START) : readme.index(document.SUMMARY_END)]
    rows = [row for suite in results.Results(results.PUBLISHED).suites.values() for row in suite["rows"]]
    for operation in document.SUMMARY:
        (published,) = [row for row in rows if row["operation"] == operation]
        assert f"| {' | '.join(tables.cells(published)[:4])} |" in shown


def test_a_line_says_who_is_ahead() -> None:
    assert tables.cells(row("rate", 300, 100, is_rate=True))[3] == "3.00 ahead"
    assert tables.cells(row("rate", 50, 100, is_rate=True))[3] == "0.50 behind"
    assert tables.cells(row("time", 50, 100))[3] == "2.00 ahead"
    assert tables.cells(row("time", 0, 100))[3] == "-"


def test_bars_go_to_the_right_where_we_are_ahead() -> None:
    rows = [row("fast", 1, 8, group="a"), row("slow", 2, 1, group="a"), row("not drawn", 1, 1)]
    drawing = ElementTree.fromstring(chart.draw(rows))
    texts = [element.text for element in drawing.iter(f"{SVG}text")]
    assert {"a", "fast", "slow", "8×", "0.5×"} <= set(texts) and "not drawn" not in texts  # noqa: RUF001
    fast, slow = list(drawing.iter(f"{SVG}rect"))[1:]
    axis = float(fast.attrib["x"])
    assert float(slow.attrib["x"]) + float(slow.attrib["width"]) == pytest.approx(axis, abs=0.2)
    assert float(fast.attrib["width"]) == pytest.approx(3 * float(slow.attrib["width"]), abs=0.5)
