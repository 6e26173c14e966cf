"""Output of commands: tables that fit the terminal, JSON lines, times, progress on stderr.

`rich` is not used: importing it takes longer than most commands run.
"""

import shutil
import sys
import textwrap
import time
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Any

from odradek.common.printable import dump_json, printable

_GAP = "  "

#: Progress is shown ten times a second on a terminal, and as a line every ten seconds in a file.
_TERMINAL_INTERVAL_S = 0.1
_PLAIN_INTERVAL_S = 10.0


def print_json(document: Any) -> None:
    """Write one document as one line."""
    sys.stdout.write(dump_json(document) + "\n")


#: Cell of an unknown number.
UNKNOWN = "?"

#: Minimum width of the last column when it is truncated; below it the table becomes a list.
_MIN_LAST_COLUMN = 8


def print_table(headers: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Write a table, with numbers aligned to the right; on a terminal it is fitted to the width."""
    for line in table_lines(headers, [list(row) for row in rows], terminal_columns()):
        sys.stdout.write(line + "\n")


def table_lines(headers: Sequence[str], rows: Sequence[Sequence[object]], columns: int | None) -> list[str]:
    """Return the lines of a table. If it is too wide, the last column is truncated, or each row becomes a list."""
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
    last_column_at = sum(width + len(_GAP) for width in widths[:-1])
    if right[-1] or last_column_at + _MIN_LAST_COLUMN > columns:
        return [line for row in cells for line in _row_as_list(headers, row, columns)]
    return [line if len(line) <= columns else line[: columns - 1] + "…" for line in lines]


def _row_as_list(headers: Sequence[str], row: Sequence[str], columns: int) -> list[str]:
    """Return a row as wrapped pairs of header and cell; no line break is within a pair."""
    pairs = [f"{header} {cell}".replace(" ", "\xa0") for header, cell in zip(headers[1:], row[1:], strict=True)]
    wrapped = textwrap.wrap(
        ", ".join(pairs), columns, initial_indent=_GAP, subsequent_indent=_GAP, break_on_hyphens=False
    )
    return [row[0], *(line.replace("\xa0", " ") for line in wrapped)]


def _is_number(cell: object) -> bool:
    return isinstance(cell, int | float) or cell == UNKNOWN


def plural(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def format_timestamp(timestamp_ms: int, *, utc: bool) -> str:
    """Format a timestamp with milliseconds and zone; one outside of the calendar as its number."""
    try:
        time_utc = datetime.fromtimestamp(timestamp_ms / 1000, UTC)
    except (OverflowError, ValueError, OSError):
        return str(timestamp_ms)
    if timestamp_ms < 0:
        return str(timestamp_ms)
    return (time_utc if utc else time_utc.astimezone()).isoformat(sep=" ", timespec="milliseconds")


class Progress:
    """Progress of a long command on stderr: one changing line on a terminal, a line from time to time elsewhere."""

    def __init__(self) -> None:
        self._terminal = sys.stderr.isatty()
        self._interval_s = _TERMINAL_INTERVAL_S if self._terminal else _PLAIN_INTERVAL_S
        self._next_s = time.monotonic() + self._interval_s
        self._is_line_open = False

    def at(self, path: str, position: int, size_bytes: int) -> None:
        """Show a position in a file. It is formatted only when it is shown, so this can be called very often."""
        now_s = time.monotonic()
        if now_s >= self._next_s:
            self._next_s = now_s + self._interval_s
            self._show(f"{path}: {100 * position // max(size_bytes, 1)} % of {size_bytes} bytes")

    def say(self, text: str) -> bool:
        """Show a text, unless the last one was shown just before. Return whether it was shown."""
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
            self._is_line_open = True
        else:
            sys.stderr.write(printable(text) + "\n")
        sys.stderr.flush()

    def finish(self) -> None:
        if self._is_line_open:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
            self._is_line_open = False


def terminal_columns(fileno: int | None = None) -> int | None:
    """Return the width of the terminal; None if the output is not a terminal, so that nothing is truncated."""
    if fileno is None and not sys.stdout.isatty():
        return None
    return shutil.get_terminal_size().columns
