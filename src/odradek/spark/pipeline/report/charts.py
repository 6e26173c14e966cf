"""Plots over the time of a run as SVG, one below the other on one axis, with faults and gaps as bands across all. Pure.

Colours are classes, so that a page, or the picture by itself, is right on a light and on a dark ground.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape

_WIDTH, _LEFT, _RIGHT = 960, 70, 16
_TOP, _PLOT, _GAP, _FOOT = 36, 150, 58, 34
_TICKS = 4
_SECONDS_TICKS = (5, 10, 20, 30, 60, 120, 300, 600)
_X_TICKS_MAX = 12
_LETTER = 6.2  # of the legend, about

STYLE = """
svg { font: 12px system-ui, sans-serif; }
svg .ground { fill: #ffffff; } svg text { fill: #222222; } svg .soft { fill: #666666; }
svg .grid { stroke: #dddddd; stroke-width: 1; fill: none; }
svg .line { fill: none; stroke-width: 1.8; stroke-linejoin: round; }
svg .one { stroke: #1f6fb2; } svg .two { stroke: #2a7f62; } svg .three { stroke: #c77d0a; }
svg .band { fill: #c2553a; opacity: 0.13; } svg .mark { stroke: #c2553a; stroke-width: 1.2; stroke-dasharray: 4 3; }
svg .name { fill: #a8401f; font-weight: 600; }
svg .quiet { fill: #777777; opacity: 0.12; } svg .quiet-mark { stroke: #999999; stroke-dasharray: 4 3; }
svg .quiet-name { fill: #666666; font-weight: 600; } svg .dot { stroke: none; } svg .dot.one { fill: #1f6fb2; }
svg .dot.two { fill: #2a7f62; } svg .dot.three { fill: #c77d0a; }
@media (prefers-color-scheme: dark) {
  svg .ground { fill: #14171a; } svg text { fill: #e4e6e8; } svg .soft { fill: #9aa1a8; }
  svg .grid { stroke: #33393f; }
  svg .one { stroke: #6cb2eb; } svg .two { stroke: #58c09a; } svg .three { stroke: #f0b04f; }
  svg .band { fill: #e07a5f; opacity: 0.2; } svg .mark { stroke: #e07a5f; } svg .name { fill: #f09a83; }
  svg .quiet { fill: #aaaaaa; opacity: 0.14; } svg .quiet-name { fill: #9aa1a8; }
  svg .dot.one { fill: #6cb2eb; } svg .dot.two { fill: #58c09a; } svg .dot.three { fill: #f0b04f; }
}
"""

_CLASSES = ("one", "two", "three")


@dataclass(frozen=True, slots=True)
class Point:
    seconds: float
    #: None breaks the line: nothing is known then.
    value: float | None


@dataclass(frozen=True, slots=True)
class Line:
    name: str
    points: Sequence[Point]


@dataclass(frozen=True, slots=True)
class Fault:
    name: str
    start_seconds: float
    end_seconds: float
    #: True for what is no fault but explains a gap, such as a pause.
    is_quiet: bool = False


@dataclass(frozen=True, slots=True)
class Tick:
    seconds: float
    label: str


@dataclass(frozen=True, slots=True)
class Plot:
    title: str
    lines: Sequence[Line]


@dataclass(frozen=True, slots=True)
class Picture:
    plots: Sequence[Plot]
    faults: Sequence[Fault] = field(default_factory=tuple)
    #: Labels of the time axis; without them it counts seconds from the start.
    ticks: Sequence[Tick] = field(default_factory=tuple)

    @property
    def seconds(self) -> float:
        points = (point.seconds for plot in self.plots for line in plot.lines for point in line.points)
        return max((1.0, *points, *(fault.end_seconds for fault in self.faults)))


def draw(picture: Picture) -> str:
    height = _TOP + len(picture.plots) * (_PLOT + _GAP) - _GAP + _FOOT
    body = [f'<rect class="ground" width="{_WIDTH}" height="{height}"/>']
    bottom = height - _FOOT
    body += _bands(picture, bottom)
    for number, plot in enumerate(picture.plots):
        body += _plot(plot, _TOP + number * (_PLOT + _GAP), picture.seconds)
    body += _time_axis(picture.ticks or _seconds_ticks(picture.seconds), picture.seconds, bottom)
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" width="{_WIDTH}" '
        f'height="{height}" role="img">'
    )
    return "\n".join((head, f"<style>{STYLE}</style>", *body, "</svg>")) + "\n"


def _plot(plot: Plot, top: float, seconds: float) -> list[str]:
    values = (point.value for line in plot.lines for point in line.points)
    most = _round_up(max((value for value in values if value is not None), default=1))
    parts = [f'<text x="{_LEFT}" y="{top - 10:.1f}" font-weight="600">{escape(plot.title)}</text>']
    for tick in range(_TICKS + 1):
        y = top + _PLOT * (1 - tick / _TICKS)
        label = f"{most * tick / _TICKS:,.6g}"
        parts.append(f'<path class="grid" d="M{_LEFT} {y:.1f} H{_WIDTH - _RIGHT}"/>')
        parts.append(f'<text class="soft" x="{_LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{label}</text>')
    parts += _legend(plot, top)
    for name, line in zip(_CLASSES, plot.lines, strict=False):
        for stretch in _stretches(line):
            points = [(_x(seconds_at, seconds), top + _PLOT * (1 - value / most)) for seconds_at, value in stretch]
            parts.append(_drawn(name, points))
    return parts


def _legend(plot: Plot, top: float) -> list[str]:
    parts, x = [], float(_WIDTH - _RIGHT)
    for name, line in reversed(list(zip(_CLASSES, plot.lines, strict=False))):
        x -= len(line.name) * _LETTER
        parts.append(f'<text x="{x:.1f}" y="{top - 10:.1f}">{escape(line.name)}</text>')
        parts.append(f'<path class="line {name}" d="M{x - 24:.1f} {top - 14:.1f} h18"/>')
        x -= 40
    return parts


def _stretches(line: Line) -> list[list[tuple[float, float]]]:
    """Return the parts of a line between which it is broken."""
    stretches: list[list[tuple[float, float]]] = [[]]
    for point in line.points:
        if point.value is None:
            stretches.append([])
        else:
            stretches[-1].append((point.seconds, point.value))
    return [stretch for stretch in stretches if stretch]


def _drawn(name: str, points: Sequence[tuple[float, float]]) -> str:
    if len(points) == 1:  # a path of one point is not seen
        return f'<circle class="dot {name}" cx="{points[0][0]:.1f}" cy="{points[0][1]:.1f}" r="1.8"/>'
    path = "L".join(f"{x:.1f} {y:.1f}" for x, y in points)
    return f'<path class="line {name}" d="M{path}"/>'


def _bands(picture: Picture, bottom: float) -> list[str]:
    parts: list[str] = []
    rows: list[float] = []
    for fault in picture.faults:
        left, right = _x(fault.start_seconds, picture.seconds), _x(fault.end_seconds, picture.seconds)
        width = max(right - left, 1.0)
        band, mark, name = ("quiet", "quiet-mark", "quiet-name") if fault.is_quiet else ("band", "mark", "name")
        row = _free_row(rows, left, left + 12 + len(fault.name) * _LETTER)
        parts += [
            f'<rect class="{band}" x="{left:.1f}" y="{_TOP}" width="{width:.1f}" height="{bottom - _TOP}"/>',
            f'<path class="{mark}" d="M{left:.1f} {_TOP} V{bottom}"/>',
            f'<text class="{name}" x="{left + 5:.1f}" y="{_TOP + 14 + 15 * row}">{escape(fault.name)}</text>',
        ]
    return parts


def _free_row(rows: list[float], left: float, right: float) -> int:
    """Return the first row in which a name from `left` to `right` covers none before it."""
    for row, end in enumerate(rows):
        if end <= left:
            rows[row] = right
            return row
    rows.append(right)
    return len(rows) - 1


def _seconds_ticks(seconds: float) -> list[Tick]:
    step = next((candidate for candidate in _SECONDS_TICKS if seconds / candidate <= _X_TICKS_MAX), _SECONDS_TICKS[-1])
    return [Tick(tick, f"{tick} s") for tick in range(0, int(seconds) + 1, step)]


def _time_axis(ticks: Sequence[Tick], seconds: float, bottom: float) -> list[str]:
    parts = []
    for tick in ticks:
        x = _x(tick.seconds, seconds)
        parts.append(f'<path class="grid" d="M{x:.1f} {bottom} v5"/>')
        parts.append(
            f'<text class="soft" x="{x:.1f}" y="{bottom + 18}" text-anchor="middle">{escape(tick.label)}</text>'
        )
    return parts


def _x(at_seconds: float, seconds: float) -> float:
    return _LEFT + (_WIDTH - _LEFT - _RIGHT) * min(max(at_seconds / seconds, 0.0), 1.0)


def _round_up(value: float) -> float:
    """Round up to 1, 2, 4, 5 or 8 times a power of ten: ticks are round then."""
    if value <= 0:
        return 1.0
    power = 10.0 ** math.floor(math.log10(value))
    return next((factor * power for factor in (1, 2, 4, 5, 8, 10) if value <= factor * power), 10 * power)


def sparkline(values: Sequence[float | None], width: int = 150, height: int = 26) -> str:
    """A small line without axes, for a row of a table."""
    most = _round_up(max((value for value in values if value is not None), default=1))
    points = [Point(number, value) for number, value in enumerate(values)]
    last = max(len(values) - 1, 1)
    body = [f'<path class="grid" d="M0 {height - 1} H{width}"/>']
    for stretch in _stretches(Line("", points)):
        body.append(
            _drawn("one", [(width * at / last, 2 + (height - 3) * (1 - value / most)) for at, value in stretch])
        )
    inside = "".join(body)
    return f'<svg class="spark" viewBox="0 0 {width} {height}" width="{width}" height="{height}">{inside}</svg>'
