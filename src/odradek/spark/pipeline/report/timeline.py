"""The charts of a report over time, and the table that explains each gap in them. Pure."""

from html import escape

from odradek.spark.pipeline import events
from odradek.spark.pipeline.report import measures
from odradek.spark.pipeline.report.charts import Fault, Picture, Plot, Tick, draw
from odradek.spark.pipeline.report.gaps import Gap
from odradek.spark.pipeline.report.summary import Report
from odradek.spark.pipeline.report.units import duration

#: Of a table; a pipeline that fails again and again has more.
_GAPS_MAX = 40

_LEGEND = "The numbers are those in the chart; interruptions are red there, pauses grey."

#: Round steps of the time axis.
_STEPS_S = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1_800, 3_600, 7_200, 14_400, 21_600, 43_200, 86_400, 604_800)
_TICKS_MAX = 11


def picture(report: Report) -> str:
    runs = report.runs
    plots = [
        Plot(
            "Rows per second, all flows",
            (measures.rate_line(runs, "read", "rows_in"), measures.rate_line(runs, "written", "rows_out")),
        ),
        Plot("Records waiting, of the flow furthest behind", (measures.lag_line(runs, "lag in records"),)),
        Plot("Age of the oldest record that is not processed, s", (measures.late_line(runs, "lag in seconds"),)),
        Plot(
            "Duration of batches, s",
            (measures.mean_batch_line(runs, "mean"), measures.batch_line(runs, "longest")),
        ),
    ]
    faults = [
        Fault(str(number), _at(report, gap.start_ms), _at(report, gap.end_ms), is_quiet=not gap.is_fault)
        for number, gap in enumerate(report.gaps[:_GAPS_MAX], start=1)
    ]
    return draw(Picture(plots, faults, _ticks(report)))


def _at(report: Report, time_ms: int) -> float:
    return (time_ms - report.start_ms) / 1_000


def _ticks(report: Report) -> list[Tick]:
    """Return ticks at round times of the clock."""
    seconds = _at(report, report.end_ms)
    step = next((step for step in _STEPS_S if seconds / step <= _TICKS_MAX), _STEPS_S[-1])
    start = report.clock.at(report.start_ms)
    since_midnight = start.hour * 3_600 + start.minute * 60 + start.second + start.microsecond / 1_000_000
    form = "%H:%M:%S" if step < 60 else ("%H:%M" if seconds < 86_400 else "%-d %b %H:%M")
    ticks, at = [], (-since_midnight) % step
    while at <= seconds:
        label = report.clock.at(report.start_ms + round(at * 1_000)).strftime(form)
        ticks.append(Tick(at, label))
        at += step
    return ticks


def gap_table(report: Report) -> str:
    if not report.gaps:
        return "<p>There are none: all flows ran, and had records to process, from start to end.</p>"
    rows = []
    for number, gap in enumerate(report.gaps[:_GAPS_MAX], start=1):
        kind = "number" if gap.is_fault else "number quiet"
        ending = "recovered" if gap.has_recovered else "not recovered"
        rows.append(
            f'<tr><td><span class="{kind}">{number}</span></td><td class="text">{escape(gap.title)}</td>'
            f'<td>{report.clock.time(gap.start_ms)}</td><td class="time">{duration(gap.duration_ms)}</td>'
            f'<td class="text">{escape(gap.reason)}</td>'
            f'<td class="{_ending_class(gap)}">{ending if gap.is_fault else "pause"}</td></tr>'
        )
    shown_without = len(report.gaps) - _GAPS_MAX
    more = f"<p>And {shown_without} more.</p>" if shown_without > 0 else ""
    heads = '<tr><th></th><th class="text">what</th><th>when</th><th>for</th><th class="text">why</th><th></th></tr>'
    return f'<p>{_LEGEND}</p><table class="small">{heads}{"".join(rows)}</table>{more}'


def _ending_class(gap: Gap) -> str:
    if not gap.is_fault:
        return "soft"
    return "met" if gap.has_recovered else "unmet"


def late_triggers(report: Report) -> list[str]:
    worst: dict[str, events.LateTrigger] = {}
    for run in report.runs:
        for event in run.events:
            if isinstance(event, events.LateTrigger) and (
                event.flow not in worst or worst[event.flow].duration_ms < event.duration_ms
            ):
                worst[event.flow] = event
    return [
        f"<p>Flow {escape(flow)} could not keep its trigger interval of {duration(event.interval_ms)}: "
        f"its batches took up to {duration(event.duration_ms)}.</p>"
        for flow, event in sorted(worst.items())
    ]
