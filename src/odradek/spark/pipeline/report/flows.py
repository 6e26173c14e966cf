"""The sections of a report about single flows and about dead letters. Pure."""

from collections.abc import Sequence
from html import escape

from odradek.spark.pipeline.report.charts import sparkline
from odradek.spark.pipeline.report.measures import FlowTotals
from odradek.spark.pipeline.report.summary import Report
from odradek.spark.pipeline.report.units import duration, size

#: Spark's names for the parts of a batch, with what happens in them, in the order of a batch.
_PARTS = (
    ("latestOffset", "finding out what is new"),
    ("queryPlanning", "planning"),
    ("walCommit", "recording what is about to be processed"),
    ("addBatch", "reading, processing and writing"),
    ("commitOffsets", "recording that it is done"),
)


def flow_table(report: Report) -> str:
    heads = (
        '<tr><th>flow</th><th class="text">rows read per second</th><th>rows read</th><th>rows written</th>'
        "<th>batches</th><th>mean batch</th><th>longest</th><th>largest lag</th><th>restarts</th></tr>"
    )
    rows = "".join(
        f'<tr><td>{escape(flow.flow)}</td><td class="text spark">{sparkline(flow.rates)}</td><td>{flow.rows_in:,}</td>'
        f"<td>{_number(flow.rows_out)}</td><td>{flow.batches:,}</td><td>{_time(flow.mean_batch_ms)}</td>"
        f"<td>{_time(flow.longest_batch_ms or None)}</td><td>{_lag(flow)}</td><td>{flow.restarts}</td></tr>"
        for flow in report.flows
    )
    stateful = [flow for flow in report.flows if flow.state_rows or flow.watermark_ms]
    return f'<table class="small">{heads}{rows}</table>{_state_table(report, stateful)}'


def _state_table(report: Report, flows: Sequence[FlowTotals]) -> str:
    """Return the table of flows that keep rows from batch to batch, such as windows and joins."""
    if not flows:
        return ""
    rows = "".join(
        f"<tr><td>{escape(flow.flow)}</td><td>{flow.state_rows:,}</td><td>{size(flow.state_bytes)}</td>"
        f"<td>{'-' if flow.watermark_ms is None else report.clock.moment(flow.watermark_ms)}</td></tr>"
        for flow in flows
    )
    heads = "<tr><th>flow with state</th><th>rows kept</th><th>memory</th><th>watermark: complete up to</th></tr>"
    return f'<p></p><table class="small">{heads}{rows}</table>'


def _number(number: int | None) -> str:
    return "-" if number is None else f"{number:,}"


def _time(time_ms: float | None) -> str:
    return "-" if time_ms is None else duration(time_ms)


def _lag(flow: FlowTotals) -> str:
    if flow.lag_max is None:
        return "-"
    return f"{flow.lag_max:,} ({duration(flow.lag_ms_max or 0)})"


def batch_parts(report: Report) -> list[str]:
    flows = [flow for flow in report.flows if flow.parts_ms and flow.batch_ms]
    if not flows:
        return []
    rows = []
    for flow in flows:
        named_parts = [(name, flow.parts_ms.get(name, 0)) for name, _ in _PARTS]
        total_ms = max(flow.batch_ms, sum(part_ms for _, part_ms in named_parts))
        shares = [*named_parts, ("other", total_ms - sum(part_ms for _, part_ms in named_parts))]
        bars = "".join(_bar(number, name, 100 * part_ms / total_ms) for number, (name, part_ms) in enumerate(shares))
        rows.append(
            f"<tr><td>{escape(flow.flow)}</td><td>{_time(flow.mean_batch_ms)}</td>"
            f'<td><div class="bar">{bars}</div></td></tr>'
        )
    keys = "".join(
        f'<span class="part"><i class="key p{number}"></i>{escape(text)}</span> '
        for number, text in enumerate((*(text for _, text in _PARTS), "the rest"))
    )
    heads = '<tr><th>flow</th><th>mean batch</th><th class="text">parts</th></tr>'
    return [
        "<h2>Where the time of a batch goes</h2>",
        f'<p class="soft">{keys}</p>',
        f'<table class="small">{heads}{"".join(rows)}</table>',
    ]


def _bar(number: int, name: str, percent: float) -> str:
    return f'<i class="p{number}" style="width:{percent:.1f}%" title="{name} {percent:.0f} %"></i>'


def dead_letters(report: Report) -> list[str]:
    counts = report.dead_letters
    if counts is None:
        return []
    first: dict[str, int] = {}
    for run in report.runs:
        for entry in run.dead_letters:
            for topic, records in entry.records.items():
                if records is not None:
                    first.setdefault(topic, records)
    rows = "".join(
        f"<tr><td>{escape(topic)}</td><td>{records:,}</td><td>{max(records - first[topic], 0):,}</td></tr>"
        for topic, records in sorted(counts.items())
    )
    heads = "<tr><th>topic</th><th>records at the end</th><th>of these new since the start</th></tr>"
    return [
        "<h2>Dead letters</h2>",
        "<p>Records that a flow could not process are kept here, each with the reason in its headers.</p>",
        f'<table class="small">{heads}{rows}</table>',
    ]
