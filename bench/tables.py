"""Rows as text: operations beside their physical floor, and nodes beside Apache Kafka's."""

from collections.abc import Sequence

from results import Row
from rows import times_better

_FLOOR_HEADERS = ("operation", "median", "floor", "ratio", "note")
_PEER = "Apache Kafka"
#: Of the columns of a line that is printed before those after it are known.
_WIDTHS = (92, 16, 16, 12, 0)

Line = tuple[str, str, str, str, str]


def cells(row: Row) -> Line:
    if "peer" in row:
        return _peer_cells(row)
    median, floor = row["median_us"], row.get("floor_us")
    ratio = f"{median / floor:.2f}" if floor else "-"
    return row["operation"], _microseconds(median), _microseconds(floor), ratio, row.get("note", "")


def _peer_cells(row: Row) -> Line:
    ratio = times_better(row)  # type: ignore[arg-type]
    verdict = f"{ratio:.2f} {'ahead' if ratio >= 1 else 'behind'}" if ratio else "-"
    ours, peer = (f"{_number(row[side])} {row['unit']}" for side in ("ours", "peer"))
    return row["operation"], ours, peer, verdict, row.get("note", "")


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 1_000 else f"{value:.3g}"


def _microseconds(value: float | None) -> str:
    if value is None:
        return "-"
    for factor, unit in ((1e6, "s"), (1e3, "ms")):
        if value >= factor:
            return f"{value / factor:.3g} {unit}"
    return f"{value:.3g} µs"


def text_line(row: Row) -> str:
    operation, *numbers, note = cells(row)
    padded = [text.rjust(width) for text, width in zip(numbers, _WIDTHS[1:], strict=False)]
    return "  ".join((operation.ljust(_WIDTHS[0]), *padded, note)).rstrip()


def table(rows: Sequence[Row]) -> str:
    """Of one suite, in Markdown."""
    beside = rows[0].get("beside", _PEER)
    headers = ("operation", "odradek", beside, "ratio", "note") if "peer" in rows[0] else _FLOOR_HEADERS
    ruled = (headers, ("---", "---:", "---:", "---:", "---"), *map(cells, rows))
    return "\n".join(f"| {' | '.join(line)} |" for line in ruled)


def summary(rows: Sequence[Row]) -> str:
    """Return the comparison of a few rows as a Markdown table without notes."""
    headers = ("operation", "odradek", _PEER, "ratio")
    ruled = (headers, ("---", "---:", "---:", "---:"), *(cells(row)[:4] for row in rows))
    return "\n".join(f"| {' | '.join(line)} |" for line in ruled)
