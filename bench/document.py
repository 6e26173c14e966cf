"""Writes what was measured into the documents: the tables of `docs/benchmarks.md`, between its markers, and its chart.

`python bench/document.py` does only this; `run.py` does it at the end of a whole run.
"""

import os
from collections.abc import Sequence
from pathlib import Path

import chart
from results import Results, Row, Suite, publish
from tables import markdown

DOCS = Path(__file__).parents[1] / "docs"
TABLE = DOCS / "benchmarks.md"
CHART = DOCS / "benchmarks.svg"

_START, _END = "<!-- bench:start -->", "<!-- bench:end -->"


def write() -> None:
    published = publish()
    rows = [row for suite in published.suites.values() for row in suite["rows"]]
    CHART.write_text(chart.draw(rows))
    text = TABLE.read_text() if TABLE.exists() else f"# Benchmarks\n\n{_START}\n{_END}\n"
    before, _, rest = text.partition(_START)
    after = rest.partition(_END)[2]
    TABLE.write_text(f"{before}{_START}\n{_section(published, rows)}\n{_END}{after or os.linesep}")


def _section(published: Results, rows: Sequence[Row]) -> str:
    where = dict.fromkeys(_origin(suite) for suite in published.suites.values())
    return "\n\n".join(("\n".join(where), f"![Times better than Apache Kafka]({CHART.name})", markdown(rows)))


def _origin(suite: Suite) -> str:
    hurry = ", in a hurry" if suite["effort"] == "quick" else ""
    return f"{suite['machine']}, {suite['date']}{hurry}."


if __name__ == "__main__":
    write()
