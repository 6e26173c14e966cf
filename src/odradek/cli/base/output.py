"""How answers look: tables that fit the terminal, JSON a line, times, progress on stderr.

No library for it: `rich` costs more to import than these commands take to run.
"""

import shutil
import sys
import textwrap
import time
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Any

from odradek.common.printable import dump_json, printable

#: Two spaces between columns read better than lines.
_GAP = "  "

#: Progress is for people: a terminal may change ten times a second, a log file gets a line every ten seconds.
_TERMINAL_INTERVAL_S = 0.1
_PLAIN_INTERVAL_S = 10.0


def print_json(document: Any) -> None:
    """One document; also one line of a stream."""
    sys.stdout.write(dump_json(document) + "\n")


#: A cell for a number that could not be found out.
UNKNOWN = "?"

#: Text in the last column may be cut to this; to less it says nothing, and the table becomes a list.
_LEAST_COLUMN = 8


def print_table(headers: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Numbers to the right, everything else to the left; on a terminal, so that it fits."""
    for line in table_lines(headers, [list(row) for row in rows], terminal_columns()):
        sys.stdout.write(line + "\n")


def table_lines(headers: Sequence[str], rows: Sequence[Sequence[object]], columns: int | None) -> list[str]:
    """Where it is too wide, text in the last column is cut; a number never is: each row becomes a list instead."""
    cells = [[printable(str(cell)) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(headers, *cells, strict=True)]
    right = [bool(rows) and all(_is_number(row[index]) for row in rows) for index in range(len(headers))]
    lines = []
    for row in [list(headers), *cells]:
        line = _GAP.join(
            cell.rjust(width) if to_right else cell.ljust(width)
            for cell, width, to_right in zip(row, widths, right, strict=True)
        )
        lines.append(line.rstrip())
    if columns is None or max(map(len, lines)) <= columns:
        return lines
    before_last = sum(width + len(_GAP) for width in widths[:-1])
    if right[-1] or before_last + _LEAST_COLUMN > columns:
        return [line for row in cells for line in _row_as_list(headers, row, columns)]
    return [line if len(line) <= columns else line[: columns - 1] + "…" for line in lines]


def _row_as_list(headers: Sequence[str], row: Sequence[str], columns: int) -> list[str]:
    """A pair is not torn apart: its spaces do not break."""
    said = [f"{header} {cell}".replace(" ", "\xa0") for header, cell in zip(headers[1:], row[1:], strict=True)]
    pairs = ", ".join(said)
    wrapped = textwrap.wrap(pairs, columns, initial_indent=_GAP, subsequent_indent=_GAP, break_on_hyphens=False)
    return [row[0], *(line.replace("\xa0", " ") for line in wrapped)]


def _is_number(cell: object) -> bool:
    return isinstance(cell, int | float) or cell == UNKNOWN


def plural(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def format_timestamp(timestamp_ms: int, *, utc: bool) -> str:
    """With milliseconds and zone; a timestamp that no calendar has is shown as its number."""
    try:
        moment = datetime.fromtimestamp(timestamp_ms / 1000, UTC)
    except (OverflowError, ValueError, OSError):
        return str(timestamp_ms)
    if timestamp_ms < 0:
        return str(timestamp_ms)
    return (moment if utc else moment.astimezone()).isoformat(sep=" ", timespec="milliseconds")


class Progress:
    """What a long command is doing, on stderr: one changing line on a terminal, seldom a plain line elsewhere."""

    def __init__(self) -> None:
        self._terminal = sys.stderr.isatty()
        self._interval_s = _TERMINAL_INTERVAL_S if self._terminal else _PLAIN_INTERVAL_S
        self._next_s = time.monotonic() + self._interval_s
        self._shown = False

    def at(self, path: str, position: int, size_bytes: int) -> None:
        """May be called a million times a second: what it says is put together only when it is shown."""
        now_s = time.monotonic()
        if now_s >= self._next_s:
            self._next_s = now_s + self._interval_s
            self._show(f"{path}: {100 * position // max(size_bytes, 1)} % of {size_bytes} bytes")

    def say(self, text: str) -> bool:
        """Whether it was shown: not yet if the last time was just before."""
        now_s = time.monotonic()
        if now_s < self._next_s:
            return False
        self._next_s = now_s + self._interval_s
        self._show(text)
        return True

    def _show(self, text: str) -> None:
        if self._terminal:
            width = (terminal_columns(sys.stderr.fileno()) or 80) - 1
            sys.stderr.write("\r\x1b[K" + printable(text)[:width])
            self._shown = True
        else:
            sys.stderr.write(printable(text) + "\n")
        sys.stderr.flush()

    def finish(self) -> None:
        if self._shown:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
            self._shown = False


def terminal_columns(fileno: int | None = None) -> int | None:
    """Width of the terminal that reads us; None when it is none, and nothing is cut."""
    if fileno is None and not sys.stdout.isatty():
        return None
    return shutil.get_terminal_size().columns
