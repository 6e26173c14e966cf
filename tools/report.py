"""Print the figures of a run as a table: what `support.figures.report` collected, one row a figure.

A test that runs in parts reports once a part; parts of the same name and the same words become one row. Counts are
added up; what is no count (`_NOT_COUNTS`) is shown as it is, or from the smallest to the largest.

Usage: python tools/report.py FILE, where FILE has one JSON object a line, its name under "figure".
"""

import json
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

#: Wide enough for most names and short enough that the values stay on the line.
_NAME_COLUMNS = 44

#: Values that make no sense as a sum.
_NOT_COUNTS = ("seed", "shard", "examples_each", "peak_kib", "resident_growth_kib")

Values = Mapping[str, object]


def read_figures(path: Path) -> Iterator[tuple[str, Values]]:
    if path.is_file():
        for line in path.read_text().splitlines():
            values = json.loads(line)
            yield values.pop("figure"), values


def join_parts(figures: Iterable[tuple[str, Values]]) -> Iterator[tuple[str, Values]]:
    parts: dict[tuple[str, ...], list[Values]] = {}
    for name, values in figures:
        words = [str(value) for value in values.values() if isinstance(value, str)]
        parts.setdefault((name, *words), []).append(values)
    for (name, *_), rows in sorted(parts.items()):
        yield name, {key: _joined(key, [row[key] for row in rows if key in row]) for row in rows for key in row}


def _joined(key: str, values: list[object]) -> object:
    numbers = [value for value in values if isinstance(value, int | float) and not isinstance(value, bool)]
    if not numbers:
        return values[0]
    if key not in _NOT_COUNTS:
        return sum(numbers)
    low, high = min(numbers), max(numbers)
    return low if low == high else f"{format_value(low)} to {format_value(high)}"


def format_value(value: object) -> str:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    if isinstance(value, int):
        return f"{value:,}" if abs(value) >= 10_000 else str(value)
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def format_row(name: str, values: Values) -> str:
    said = " · ".join(f"{key.replace('_', ' ')} {format_value(value)}" for key, value in values.items())
    return f"  {name:<{_NAME_COLUMNS}} {said}"


def main(path: str) -> None:
    rows = [format_row(name, values) for name, values in join_parts(read_figures(Path(path)))]
    if rows:
        print("\nFigures of this run")
        print("\n".join(rows))


if __name__ == "__main__":
    main(sys.argv[1])
