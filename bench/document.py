"""Writes what was measured into the documents: the tables of `docs/benchmarks.md`, between its markers, and its chart.

`python bench/document.py` does only this; `run.py` does it at the end of a whole run.
"""

import os
from collections.abc import Mapping
from pathlib import Path

import chart
from results import Suite, publish
from suites import SUITES
from tables import table

DOCS = Path(__file__).parents[1] / "docs"
TABLE = DOCS / "benchmarks.md"
CHART = DOCS / "benchmarks.svg"

_START, _END = "<!-- bench:start -->", "<!-- bench:end -->"


def write() -> None:
    published = publish()
    suites = {name: published.suites[name] for name in SUITES if name in published.suites}
    CHART.write_text(chart.draw([row for suite in suites.values() for row in suite["rows"]]))
    text = TABLE.read_text() if TABLE.exists() else f"# Benchmarks\n\n{_START}\n{_END}\n"
    before, _, rest = text.partition(_START)
    after = rest.partition(_END)[2]
    TABLE.write_text(f"{before}{_START}\n{_sections(suites)}\n{_END}{after or os.linesep}")


def _sections(suites: Mapping[str, Suite]) -> str:
    picture = f"![How many times better than Apache Kafka]({CHART.name})"
    tables = [
        f"## {SUITES[name].title}\n\n{_origin(suite)}\n\n{table(suite['rows'])}" for name, suite in suites.items()
    ]
    return "\n\n".join((picture, *tables))


def _origin(suite: Suite) -> str:
    hurry = ", in a hurry" if suite["effort"] == "quick" else ""
    return f"{suite['machine']}, {suite['date']}{hurry}."


if __name__ == "__main__":
    write()
