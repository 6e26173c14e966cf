"""The chart of how many times better we are than Apache Kafka: a bar a line, to the right where we are ahead.

The scale is logarithmic, so that twice as good and half as good are equally long.
"""

import math
from collections.abc import Sequence
from html import escape

from results import Row
from rows import times_better

_WIDTH, _LABELS, _VALUES = 1_060, 560, 60
_LINE, _BAR, _HEADING = 18, 11, 30
_TOP = 46
#: What is further out ends at the edge; its figure stands beside it.
_LEAST, _MOST = 1 / 4, 64.0
_TICKS = (0.25, 0.5, 1, 2, 4, 8, 16, 32, 64)

_TIMES = "\u00d7"
_AHEAD, _BEHIND, _GRID, _INK = "#2a7f62", "#c2553a", "#dddddd", "#222222"


def draw(rows: Sequence[Row]) -> str:
    groups: dict[str, list[Row]] = {}
    for row in rows:
        if row.get("chart"):
            groups.setdefault(row["chart"], []).append(row)
    body, y = list[str](), _TOP
    for name, lines in groups.items():
        y += _HEADING
        body.append(_text(8, y - 8, name, weight="bold"))
        for row in lines:
            body += _bar(row, y)
            y += _LINE
    height = y + 12
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" width="{_WIDTH}" height="{height}" '
        f'font-family="system-ui, sans-serif" font-size="12" fill="{_INK}">'
    )
    title = _text(8, 20, "Times better than Apache Kafka 4.3.1, same machine, same client", weight="bold", size=15)
    background = f'<rect width="{_WIDTH}" height="{height}" fill="white"/>'
    return "\n".join((head, background, title, *_grid(height), *body, "</svg>")) + "\n"


def _grid(height: int) -> list[str]:
    made = []
    for tick in _TICKS:
        x, width = _x(tick), 1.5 if tick == 1 else 0.7
        color = _INK if tick == 1 else _GRID
        made.append(f'<path d="M{x:.1f} {_TOP} V{height - 6}" stroke="{color}" stroke-width="{width}"/>')
        made.append(_text(x, _TOP - 6, f"{tick:g}{_TIMES}", anchor="middle"))
    return made


def _bar(row: Row, y: int) -> list[str]:
    ratio = times_better(row)  # type: ignore[arg-type]
    label = _text(_LABELS - 10, y + _BAR - 1, row["operation"], anchor="end")
    if ratio is None:
        return [label]
    left, right = sorted((_x(1), _x(ratio)))
    color = _AHEAD if ratio >= 1 else _BEHIND
    bar = f'<rect x="{left:.1f}" y="{y}" width="{max(right - left, 1):.1f}" height="{_BAR}" fill="{color}"/>'
    # Beside the bar where it ends; to the right of the axis if it goes to the left.
    value = _text(max(right, _x(1)) + 5, y + _BAR - 1, (f"{ratio:.2g}" if ratio < 10 else f"{ratio:.0f}") + _TIMES)
    return [label, bar, value]


def _x(ratio: float) -> float:
    inside = min(max(ratio, _LEAST), _MOST)
    share = math.log(inside / _LEAST) / math.log(_MOST / _LEAST)
    return _LABELS + share * (_WIDTH - _LABELS - _VALUES)


def _text(x: float, y: float, text: str, *, anchor: str = "start", weight: str = "normal", size: int = 12) -> str:
    style = f'text-anchor="{anchor}" font-weight="{weight}" font-size="{size}"'
    return f'<text x="{x:.1f}" y="{y:.1f}" {style}>{escape(text)}</text>'
