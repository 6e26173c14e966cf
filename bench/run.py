"""Run the benchmarks and show two tables: operations beside their physical floor, and nodes beside Apache Kafka's.

A benchmark is a module beside this one with `run()`, which gives rows. Of the first table: `operation`, `median_us`,
`floor_us` (None where there is no floor) and `note`. Of the second: `operation`, `ours`, `peer`, `unit`, `is_rate`
(more is better) and `note`; its ratio says how many times better we are. The tables are printed, kept in
`bench/out/latest.json`, and written into `docs/benchmarks.md` between its markers. `python bench/run.py codec batches`
runs only some.
"""

import importlib
import json
import os
import platform
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
OUT = HERE / "out" / "latest.json"
DOCUMENT = HERE.parent / "docs" / "benchmarks.md"

#: In the order of the table.
SUITES = ("codec", "batches", "log_ops", "cleaning", "replicas", "network", "controllers", "brokers")

_START, _END = "<!-- bench:start -->", "<!-- bench:end -->"
_FLOOR_HEADERS = ("operation", "median", "floor", "ratio", "note")
_PEER_HEADERS = ("operation", "odradek", "Apache Kafka", "better by", "note")

Row = dict[str, Any]


def collect(suites: Sequence[str]) -> Iterator[Row]:
    sys.path[:0] = [str(HERE), str(HERE.parent / "tests")]
    for suite in suites:
        if not (HERE / f"{suite}.py").exists():
            continue
        print(f"bench/{suite}.py ...", file=sys.stderr, flush=True)
        for row in importlib.import_module(suite).run():
            yield {"suite": suite, **row}


def format_us(value: float | None) -> str:
    if value is None:
        return "-"
    for factor, unit in ((1e6, "s"), (1e3, "ms")):
        if value >= factor:
            return f"{value / factor:.3g} {unit}"
    return f"{value:.3g} µs"


def cells(row: Row) -> tuple[str, str, str, str, str]:
    if "peer" in row:
        return _peer_cells(row)
    median, floor = row["median_us"], row.get("floor_us")
    ratio = f"{median / floor:.2f}" if floor else "-"
    return row["operation"], format_us(median), format_us(floor), ratio, row.get("note", "")


def _peer_cells(row: Row) -> tuple[str, str, str, str, str]:
    ours, peer, unit = row["ours"], row["peer"], row["unit"]
    above, below = (ours, peer) if row["is_rate"] else (peer, ours)
    verdict = f"{above / below:.2f} {'ahead' if above >= below else 'behind'}" if below else "-"
    return row["operation"], f"{_number(ours)} {unit}", f"{_number(peer)} {unit}", verdict, row.get("note", "")


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 1_000 else f"{value:.3g}"


def tables(rows: Sequence[Row]) -> list[list[Sequence[str]]]:
    """Headers and lines of each table that has any."""
    with_floor = [cells(row) for row in rows if "peer" not in row]
    with_peer = [cells(row) for row in rows if "peer" in row]
    both = ((_FLOOR_HEADERS, with_floor), (_PEER_HEADERS, with_peer))
    return [[headers, *lines] for headers, lines in both if lines]


def text_table(lines: Sequence[Sequence[str]]) -> str:
    widths = [max(len(line[column]) for line in lines) for column in range(len(lines[0]))]
    return "\n".join(_text_line(line, widths) for line in lines)


def _text_line(line: Sequence[str], widths: Sequence[int]) -> str:
    operation, median, floor, ratio, note = line
    numbers = [text.rjust(width) for text, width in zip((median, floor, ratio), widths[1:4], strict=True)]
    return "  ".join((operation.ljust(widths[0]), *numbers, note)).rstrip()


def markdown_table(lines: Sequence[Sequence[str]]) -> str:
    ruled = [lines[0], ("---", "---:", "---:", "---:", "---"), *lines[1:]]
    return "\n".join(f"| {' | '.join(line)} |" for line in ruled)


def machine() -> str:
    model = platform.processor() or platform.machine()
    for line in Path("/proc/cpuinfo").read_text().splitlines() if Path("/proc/cpuinfo").exists() else ():
        if line.startswith("model name"):
            model = line.partition(":")[2].strip()
            break
    return f"{model}, {os.cpu_count()} cores, Python {platform.python_version()}"


def write_document(table: str) -> None:
    """Only what stands between the markers is ours to replace."""
    section = f"{_START}\n{machine()}, {time.strftime('%Y-%m-%d')}.\n\n{table}\n{_END}"
    text = DOCUMENT.read_text() if DOCUMENT.exists() else f"# Benchmarks\n\n{_START}\n{_END}\n"
    before, _, rest = text.partition(_START)
    after = rest.partition(_END)[2]
    DOCUMENT.parent.mkdir(exist_ok=True)
    DOCUMENT.write_text(f"{before}{section}{after or os.linesep}")


def main(arguments: Sequence[str]) -> int:
    unknown = [name for name in arguments if name not in SUITES]
    if unknown:
        print(f"no benchmark is called {unknown[0]}: there are {', '.join(SUITES)}", file=sys.stderr)
        return 2
    rows = list(collect(arguments or SUITES))
    print("\n\n".join(map(text_table, tables(rows))))
    OUT.parent.mkdir(exist_ok=True)
    OUT.write_text(json.dumps({"machine": machine(), "time": time.time(), "rows": rows}, indent=1) + "\n")
    if not arguments:
        write_document("\n\n".join(map(markdown_table, tables(rows))))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
