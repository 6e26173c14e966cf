"""The report of one or more runs of a pipeline, as HTML: what was done, how late, what went wrong and how it recovered.

Pure.
"""

from html import escape

from odradek.spark.pipeline.report.flows import batch_parts, dead_letters, flow_table
from odradek.spark.pipeline.report.page import page
from odradek.spark.pipeline.report.story import cards, mode, story, verdict
from odradek.spark.pipeline.report.summary import Report
from odradek.spark.pipeline.report.timeline import gap_table, late_triggers, picture
from odradek.spark.pipeline.report.units import duration

_STYLE = """
.lead { font-size: 1.05rem; }
.cards { display: grid; grid-template-columns: repeat(4, 1fr); gap: 0.8rem; margin: 1.5rem 0; }
.card { border: 1px solid #dddddd; border-radius: 8px; padding: 0.7rem 0.9rem; }
.card b { display: block; font-size: 1.35rem; line-height: 1.3; font-variant-numeric: tabular-nums; }
.card span { color: #666666; font-size: 0.85rem; display: block; line-height: 1.35; }
td.text, th.text { text-align: left; } table.small { font-size: 0.86rem; }
table.small td, table.small th { padding: 0.3rem 0.45rem; }
svg.spark { width: 130px; height: 24px; } td.spark { padding-top: 0; padding-bottom: 0; }
td.time { white-space: nowrap; }
.number { display: inline-block; min-width: 1.3em; text-align: center; border-radius: 0.7em; color: #a8401f;
  background: rgba(194, 85, 58, 0.15); font-weight: 600; padding: 0 0.2em; }
.number.quiet { color: #666666; background: rgba(120, 120, 120, 0.15); }
.bar { display: flex; height: 14px; border-radius: 3px; overflow: hidden;
  background: rgba(120, 120, 120, 0.15); min-width: 220px; }
.p0 { background: #1f6fb2; } .p1 { background: #c77d0a; } .p2 { background: #2a7f62; } .p3 { background: #8a5fb0; }
.p4 { background: #b3391a; } .p5 { background: #7d8790; }
.part { white-space: nowrap; margin-right: 1em; }
.key { display: inline-block; width: 0.8em; height: 0.8em; border-radius: 2px; margin-right: 0.4em; }
@media (max-width: 640px) { .cards { grid-template-columns: repeat(2, 1fr); } }
@media (prefers-color-scheme: dark) {
  .card { border-color: #33393f; } .card span { color: #9aa1a8; } .number { color: #f09a83; }
  .number.quiet { color: #9aa1a8; }
}
"""


def render(report: Report) -> str:
    clock = report.clock
    took = duration(report.end_ms - report.start_ms)
    times = f"{clock.time(report.start_ms)} to {clock.time(report.end_ms)} {clock.zone(report.end_ms)}"
    parts = [
        f"<h1>Pipeline {escape(report.pipeline)}</h1>",
        f'<p class="soft">{escape(mode(report))}, {clock.date(report.start_ms)}, {escape(times)} ({took})</p>',
        verdict(report),
        f'<p class="lead">{escape(story(report))}</p>',
        cards(report),
        "<h2>What happened over time</h2>",
        picture(report),
        "<h2>Why there are gaps and dips</h2>",
        gap_table(report),
        *late_triggers(report),
        "<h2>What each flow did</h2>",
        flow_table(report),
        *batch_parts(report),
        *dead_letters(report),
        "<h2>How to read this</h2>",
        _explanations(report),
    ]
    return page(f"Pipeline {report.pipeline}: {clock.date(report.start_ms)}", parts, _STYLE)


def _explanations(report: Report) -> str:
    intervals = [sample.interval_ms for run in report.runs for sample in run.samples]
    usual = sorted(intervals)[len(intervals) // 2] if intervals else 1_000
    items = (
        ("Rows read and written", "counted by Spark when a batch ends, and shown over the time that the batch took. "
         "A row that several flows read is counted by each. What Spark did in the moment in which it was killed may be "
         "missing here; it is not missing in tables and topics."),
        ("Lag", "records in a flow's topics that no completed batch has read. Its age is how long the oldest of them "
         "has waited, estimated from regular samples of where the topics end."),
        ("Interruption", "from the failure to the end of the first batch after it. Records that arrive meanwhile "
         "stay in the topics and are processed afterwards."),
        ("Pause", "nothing failed: Spark was starting, there was nothing to read, or nobody ran the pipeline."),
        ("Broken lines", "nothing was measured then; the table of gaps has the reason."),
    )  # fmt: skip
    listed = "".join(f"<li><b>{name}</b>: {text}</li>" for name, text in items)
    footer = f"Samples are {duration(usual)} apart. Written by odradek {report.version}."
    return f'<ul>{listed}</ul><p class="soft">{escape(footer)}</p>'
