"""The columns in which `odradek pipeline run` and `status` show flows: those that matter in 80 columns, more in wider
terminals. Numbers are short, so that a column keeps its width."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from odradek.cli.base.output import UNKNOWN
from odradek.common.printable import printable
from odradek.spark.pipeline.status import FlowStatus

NOTHING = "-"

#: One space between columns; a flow's name gets what the others leave.
_GAP = 1
NAME_WIDTH_MIN = 12
_NARROW = 80


@dataclass(frozen=True, slots=True)
class Column:
    header: str
    cell: Callable[[FlowStatus], str]
    width: int
    #: Terminals at least so wide show it.
    terminal_width: int = 0
    is_left: bool = False


def short_count(count: float | None) -> str:
    """Five characters at most up to a billion: 1,234 or 12.3k or 1.2M."""
    if count is None:
        return NOTHING
    for limit, divisor, unit in ((9_999.5, 1, ""), (999_500, 1e3, "k"), (999.5e6, 1e6, "M"), (float("inf"), 1e9, "G")):
        if count < limit:
            number = count / divisor
            if not unit:
                return f"{count:,.0f}" if count >= 10 or count == int(count) else f"{count:.1f}"
            return f"{number:.0f}{unit}" if number >= 99.95 else f"{number:.1f}{unit}"
    raise AssertionError("not reached")


def short_bytes(count: int) -> str:
    return "0 B" if not count else f"{short_count(count)}B".replace(",", "")


def short_time(time_ms: int | None) -> str:
    """Six characters at most: 0.4 s, 59 s, 12 min, 3.5 h, 21 d."""
    if time_ms is None:
        return NOTHING
    seconds = time_ms / 1_000
    if seconds < 99.5:
        return f"{seconds:.1f} s" if seconds < 9.95 else f"{seconds:.0f} s"
    if seconds < 99.5 * 60:
        return f"{seconds / 60:.0f} min"
    hours = seconds / 3_600
    return f"{hours:.1f} h" if hours < 72 else f"{hours / 24:.0f} d"


def _lag(flow: FlowStatus) -> str:
    if flow.reads_topics and flow.lag is None:
        return UNKNOWN
    return short_count(flow.lag)


def _late(flow: FlowStatus) -> str:
    if flow.reads_topics and flow.lag_ms is None:
        return UNKNOWN
    mark = ">" if flow.is_lag_minimum and flow.lag_ms else ""
    return f"{mark}{short_time(flow.lag_ms)}"


def _batch(flow: FlowStatus) -> str:
    """Return how long the last batch took, marked where that exceeds the trigger interval."""
    return short_time(flow.duration_ms) + ("!" if flow.late_interval_ms is not None else "")


def _moment(time_ms: int | None) -> str:
    """Format a time in UTC, as Spark shows watermarks."""
    if time_ms is None:
        return NOTHING
    return datetime.fromtimestamp(time_ms / 1_000, UTC).strftime("%m-%d %H:%M:%SZ")


def _parts(flow: FlowStatus) -> str:
    """The two longest parts of the last batch; the whole is not one of them."""
    parts = {part: part_ms for part, part_ms in flow.parts_ms.items() if part != "triggerExecution"}
    longest = sorted(parts.items(), key=lambda entry: -entry[1])[:2]
    return ", ".join(f"{part} {short_time(part_ms)}" for part, part_ms in longest) or NOTHING


def _rows(count: int | None) -> str:
    return NOTHING if count is None else f"{count:,}"


_COLUMNS = (
    Column("flow", lambda flow: flow.flow, NAME_WIDTH_MIN, is_left=True),
    Column("state", lambda flow: flow.state, 9, is_left=True),
    Column("in/s", lambda flow: short_count(flow.rows_in_per_s), 5),
    Column("out/s", lambda flow: short_count(flow.rows_out_per_s), 5),
    Column("lag", _lag, 5),
    Column("late", _late, 7),
    Column("batch", _batch, 7),
    Column("stored", lambda flow: short_count(flow.state_rows) if flow.state_rows else NOTHING, 6),
    Column("restarts", lambda flow: str(flow.restarts), 8),
    Column("watermark", lambda flow: _moment(flow.watermark_ms), 15, 100, is_left=True),
    Column("memory", lambda flow: short_bytes(flow.state_bytes) if flow.state_bytes else NOTHING, 7, 110),
    Column("parts of the batch", _parts, 34, 145, is_left=True),
    Column("last batch", lambda flow: _moment(flow.last_batch_ms), 15, 165, is_left=True),
    Column("rows in", lambda flow: _rows(flow.rows_in), 11, 180),
    Column("rows out", lambda flow: _rows(flow.rows_out), 11, 195),
)


def columns_for(terminal_width: int | None) -> tuple[Column, ...]:
    """`terminal_width` is None where the width does not matter."""
    return tuple(column for column in _COLUMNS if terminal_width is None or column.terminal_width <= terminal_width)


def name_width(terminal_width: int, names: Sequence[str]) -> int:
    """Return how wide the column of names is, so that all columns fit."""
    other_columns = sum(column.width + _GAP for column in columns_for(terminal_width)[1:])
    longest = max((len(name) for name in names), default=0)
    return max(min(longest, max(terminal_width, _NARROW) - other_columns), len("flow"))


def flow_lines(flows: Sequence[FlowStatus], terminal_width: int | None) -> list[list[str]]:
    """Return the header and a row for each flow; names are cut to fit."""
    columns = columns_for(terminal_width)
    rows = [[column.header for column in columns]]
    for flow in flows:
        rows.append([column.cell(flow) for column in columns])
    if terminal_width is not None:
        width = name_width(terminal_width, [flow.flow for flow in flows])
        for row in rows[1:]:
            row[0] = row[0] if len(row[0]) <= width else row[0][: width - 1] + "…"
    return rows


def plain_lines(flows: Sequence[FlowStatus], terminal_width: int | None) -> list[str]:
    columns, rows = columns_for(terminal_width), flow_lines(flows, terminal_width)
    rows = [[printable(cell) for cell in row] for row in rows]
    widths = [max(map(len, cells)) for cells in zip(*rows, strict=True)]
    gap = " " * (_GAP if terminal_width is not None else 2)
    return [
        gap.join(
            cell.ljust(width) if column.is_left else cell.rjust(width)
            for column, cell, width in zip(columns, row, widths, strict=True)
        ).rstrip()
        for row in rows
    ]


def total_row(flows: Sequence[FlowStatus], terminal_width: int | None) -> list[str]:
    lags = [flow.lag for flow in flows if flow.lag is not None]
    late = [flow.lag_ms for flow in flows if flow.lag_ms is not None]
    totals = {
        "flow": "total",
        "in/s": short_count(sum(flow.rows_in_per_s for flow in flows)),
        "out/s": short_count(sum(flow.rows_out_per_s or 0.0 for flow in flows)),
        "lag": short_count(sum(lags)) if lags else "",
        "late": short_time(max(late)) if late else "",
        "stored": short_count(sum(flow.state_rows for flow in flows)),
        "restarts": str(sum(flow.restarts for flow in flows)),
        "memory": short_bytes(sum(flow.state_bytes for flow in flows)),
        "rows in": _rows(sum(flow.rows_in for flow in flows)),
        "rows out": _rows(sum(flow.rows_out or 0 for flow in flows)),
    }
    return [totals.get(column.header, "") for column in columns_for(terminal_width)]
