"""Plots over the time of a run as SVG, one below the other on one axis, with the faults as bands across all. Pure.

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
@media (prefers-color-scheme: dark) {
  svg .ground { fill: #14171a; } svg text { fill: #e4e6e8; } svg .soft { fill: #9aa1a8; }
  svg .grid { stroke: #33393f; }
  svg .one { stroke: #6cb2eb; } svg .two { stroke: #58c09a; } svg .three { stroke: #f0b04f; }
  svg .band { fill: #e07a5f; opacity: 0.2; } svg .mark { stroke: #e07a5f; } svg .name { fill: #f09a83; }
}
"""

_CLASSES = ("one", "two", "three")


@dataclass(frozen=True, slots=True)
class Point:
    seconds: float
    value: float


@dataclass(frozen=True, slots=True)
class Line:
    name: str
    points: Sequence[Point]


@dataclass(frozen=True, slots=True)
class Fault:
    name: str
    start_seconds: float
    end_seconds: float


@dataclass(frozen=True, slots=True)
class Plot:
    title: str
    lines: Sequence[Line]


@dataclass(frozen=True, slots=True)
class Picture:
    plots: Sequence[Plot]
    faults: Sequence[Fault] = field(default_factory=tuple)

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
    body += _time_axis(picture.seconds, bottom)
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" width="{_WIDTH}" '
        f'height="{height}" role="img">'
    )
    return "\n".join((head, f"<style>{STYLE}</style>", *body, "</svg>")) + "\n"


def _plot(plot: Plot, top: float, seconds: float) -> list[str]:
    most = _round_up(max((point.value for line in plot.lines for point in line.points), default=1))
    made = [f'<text x="{_LEFT}" y="{top - 10:.1f}" font-weight="600">{escape(plot.title)}</text>']
    for tick in range(_TICKS + 1):
        y = top + _PLOT * (1 - tick / _TICKS)
        label = f"{most * tick / _TICKS:,.6g}"
        made.append(f'<path class="grid" d="M{_LEFT} {y:.1f} H{_WIDTH - _RIGHT}"/>')
        made.append(f'<text class="soft" x="{_LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{label}</text>')
    made += _legend(plot, top)
    for name, line in zip(_CLASSES, plot.lines, strict=False):
        if line.points:
            made.append(f'<path class="line {name}" d="{_path(line, top, most, seconds)}"/>')
    return made


def _legend(plot: Plot, top: float) -> list[str]:
    made, x = [], float(_WIDTH - _RIGHT)
    for name, line in reversed(list(zip(_CLASSES, plot.lines, strict=False))):
        x -= len(line.name) * _LETTER
        made.append(f'<text x="{x:.1f}" y="{top - 10:.1f}">{escape(line.name)}</text>')
        made.append(f'<path class="line {name}" d="M{x - 24:.1f} {top - 14:.1f} h18"/>')
        x -= 40
    return made


def _path(line: Line, top: float, most: float, seconds: float) -> str:
    places = [(_x(point.seconds, seconds), top + _PLOT * (1 - point.value / most)) for point in line.points]
    return "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in places)


def _bands(picture: Picture, bottom: float) -> list[str]:
    made = []
    for number, fault in enumerate(picture.faults):
        left, right = _x(fault.start_seconds, picture.seconds), _x(fault.end_seconds, picture.seconds)
        width = max(right - left, 1.0)
        made += [
            f'<rect class="band" x="{left:.1f}" y="{_TOP}" width="{width:.1f}" height="{bottom - _TOP}"/>',
            f'<path class="mark" d="M{left:.1f} {_TOP} V{bottom}"/>',
            f'<text class="name" x="{left + 5:.1f}" y="{_TOP + 14 + 15 * number}">{escape(fault.name)}</text>',
        ]
    return made


def _time_axis(seconds: float, bottom: float) -> list[str]:
    step = next((each for each in _SECONDS_TICKS if seconds / each <= _X_TICKS_MAX), _SECONDS_TICKS[-1])
    made = []
    for tick in range(0, int(seconds) + 1, step):
        x = _x(tick, seconds)
        made.append(f'<path class="grid" d="M{x:.1f} {bottom} v5"/>')
        made.append(f'<text class="soft" x="{x:.1f}" y="{bottom + 18}" text-anchor="middle">{tick} s</text>')
    return made


def _x(at_seconds: float, seconds: float) -> float:
    return _LEFT + (_WIDTH - _LEFT - _RIGHT) * min(max(at_seconds / seconds, 0.0), 1.0)


def _round_up(value: float) -> float:
    """To 1, 2, 4, 5 or 8 times a power of ten: ticks are round then."""
    if value <= 0:
        return 1.0
    power = 10.0 ** math.floor(math.log10(value))
    return next((each * power for each in (1, 2, 4, 5, 8, 10) if value <= each * power), 10 * power)
