"""Print the figures of a run as a table: what `helpers.figures.report` collected, one row a figure.

Usage: python tools/report.py FILE, where FILE has one JSON object a line, its name under "figure".
"""

import json
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

#: Wide enough for most names and short enough that the values stay on the line.
_NAME_COLUMNS = 44


def read_figures(path: Path) -> Iterator[tuple[str, Mapping[str, object]]]:
    if path.is_file():
        for line in path.read_text().splitlines():
            values = json.loads(line)
            yield values.pop("figure"), values


def format_value(value: object) -> str:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    if isinstance(value, int):
        return f"{value:,}" if abs(value) >= 10_000 else str(value)
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def format_row(name: str, values: Mapping[str, object]) -> str:
    said = " · ".join(f"{key.replace('_', ' ')} {format_value(value)}" for key, value in values.items())
    return f"  {name:<{_NAME_COLUMNS}} {said}"


def main(path: str) -> None:
    rows = sorted({format_row(name, values) for name, values in read_figures(Path(path))})
    if rows:
        print("\nFigures of this run")
        print("\n".join(rows))


if __name__ == "__main__":
    main(sys.argv[1])
