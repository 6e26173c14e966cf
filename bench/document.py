"""Write the published results into docs/benchmarks.md (tables and chart) and into the README (a summary).

Only the text between the markers is replaced. `python bench/document.py` does only this; `run.py` does it at the end of
a whole run.
"""

import os
from collections.abc import Mapping
from pathlib import Path

import chart
from results import Suite, publish
from suites import SUITES
from tables import summary, table

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
TABLE = DOCS / "benchmarks.md"
CHART = DOCS / "benchmarks.svg"
README = ROOT / "README.md"

_START, _END = "<!-- bench:start -->", "<!-- bench:end -->"
SUMMARY_START, SUMMARY_END = "<!-- bench:summary:start -->", "<!-- bench:summary:end -->"

#: Rows of the README's table, one of which shows where Apache Kafka is faster.
SUMMARY = (
    "start of one node, to its first answer",
    "resident memory of an idle node",
    "one-record requests, acks=1, 50 in flight",
    "produce 100 B, acks=all, 12 partitions, librdkafka",
    "consume 100 B, 12 partitions, lz4, librdkafka",
    "end to end at 1,000 records/s, p99",
    "kill -9 of a node of three, longest gap in acknowledged writes",
)


def write() -> None:
    published = publish()
    suites = {name: published.suites[name] for name in SUITES if name in published.suites}
    rows = [row for suite in suites.values() for row in suite["rows"]]
    CHART.write_text(chart.draw(rows))
    text = TABLE.read_text() if TABLE.exists() else f"# Benchmarks\n\n{_START}\n{_END}\n"
    TABLE.write_text(_replaced(text, _START, _sections(suites), _END))
    shown = {row["operation"]: row for row in rows}
    summarized = [shown[operation] for operation in SUMMARY if operation in shown]
    README.write_text(_replaced(README.read_text(), SUMMARY_START, summary(summarized), SUMMARY_END))


def _replaced(text: str, start: str, content: str, end: str) -> str:
    before, _, rest = text.partition(start)
    after = rest.partition(end)[2]
    return f"{before}{start}\n{content}\n{end}{after or os.linesep}"


def _sections(suites: Mapping[str, Suite]) -> str:
    picture = f"![How many times better than Apache Kafka]({CHART.name})"
    tables = [
        f"## {SUITES[name].title}\n\n{_origin(suite)}\n\n{table(suite['rows'])}" for name, suite in suites.items()
    ]
    return "\n\n".join((picture, *tables))


def _origin(suite: Suite) -> str:
    effort = ", quick run" if suite["effort"] == "quick" else ""
    return f"{suite['machine']}, {suite['date']}{effort}."


if __name__ == "__main__":
    write()
