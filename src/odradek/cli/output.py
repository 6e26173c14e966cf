"""How answers look: tables that fit the terminal, JSON a line, times, progress on stderr.

No library for it: `rich` costs more to import than these commands take to run.
"""

import json
import shutil
import sys
import time
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Any

#: Two spaces between columns read better than lines.
_GAP = "  "

#: Progress is for people: a terminal may change ten times a second, a log file gets a line every ten seconds.
_TERMINAL_INTERVAL_S = 0.1
_PLAIN_INTERVAL_S = 10.0


def print_json(document: Any) -> None:
    """One document; also one line of a stream."""
    sys.stdout.write(json.dumps(document) + "\n")


def print_table(headers: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Numbers to the right, everything else to the left. On a terminal the last column is cut to what fits."""
    for line in table_lines(headers, [list(row) for row in rows], _terminal_columns()):
        sys.stdout.write(line + "\n")


def table_lines(headers: Sequence[str], rows: Sequence[Sequence[object]], columns: int | None) -> list[str]:
    cells = [[str(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(headers, *cells, strict=True)]
    right = [bool(rows) and all(isinstance(row[index], int | float) for row in rows) for index in range(len(headers))]
    lines = []
    for row in [list(headers), *cells]:
        line = _GAP.join(
            cell.rjust(width) if to_right else cell.ljust(width)
            for cell, width, to_right in zip(row, widths, right, strict=True)
        ).rstrip()
        lines.append(line if columns is None or len(line) <= columns else line[: columns - 1] + "…")
    return lines


def format_timestamp(timestamp_ms: int, *, utc: bool) -> str:
    """With milliseconds and zone; a timestamp that no calendar has is shown as its number."""
    try:
        moment = datetime.fromtimestamp(timestamp_ms / 1000, UTC)
    except (OverflowError, ValueError, OSError):
        return str(timestamp_ms)
    if timestamp_ms < 0:
        return str(timestamp_ms)
    return (moment if utc else moment.astimezone()).isoformat(sep=" ", timespec="milliseconds")


def warn(line: str) -> None:
    """A line on stderr that stands after everything already said on stdout."""
    sys.stdout.flush()
    print(line, file=sys.stderr, flush=True)


class Progress:
    """What a long command is doing, on stderr: one changing line on a terminal, seldom a plain line elsewhere."""

    def __init__(self) -> None:
        self._terminal = sys.stderr.isatty()
        self._interval_s = _TERMINAL_INTERVAL_S if self._terminal else _PLAIN_INTERVAL_S
        self._next_s = time.monotonic() + self._interval_s
        self._shown = False

    def update(self, text: str) -> None:
        now_s = time.monotonic()
        if now_s < self._next_s:
            return
        self._next_s = now_s + self._interval_s
        if self._terminal:
            width = (_terminal_columns(sys.stderr.fileno()) or 80) - 1
            sys.stderr.write("\r\x1b[K" + text[:width])
            self._shown = True
        else:
            sys.stderr.write(text + "\n")
        sys.stderr.flush()

    def finish(self) -> None:
        if self._shown:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
            self._shown = False


def _terminal_columns(fileno: int | None = None) -> int | None:
    """Width of the terminal that reads us; None when it is none, and nothing is cut."""
    if fileno is None and not sys.stdout.isatty():
        return None
    return shutil.get_terminal_size().columns
