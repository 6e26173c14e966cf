"""What is in the tables and topics at the end, read without the pipeline, and the report that follows from it."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pyarrow.compute as pc  # type: ignore[import-untyped]

from demo import measures
from demo.accounting import Check, Found, Paid, account, balances
from demo.events import Kind
from demo.expected import Expected, Interest, expect
from demo.ledger import Entry, read_ledger
from demo.machine import describe_machine
from demo.measures import Arrivals
from demo.plan import Plan, Story
from demo.report import Report
from demo.tables import Batch, read_stream_table, read_view
from demo.topics import count_records, read_dead_letters, read_sales
from odradek.spark.pipeline.report.charts import Line, Picture, Plot, Point

_TITLE = "Odradek: a shop's events through three brokers and Spark, with two kills"


def make_report(plan: Plan, story: Story, bootstrap: str, tables: Path) -> Report:
    book = list(read_ledger(plan.work / "ledger.jsonl"))
    batches = {kind: read_stream_table(tables / kind.value, ["id", "timestamp"]) for kind in Kind}
    expected, found = expect(book), _found(bootstrap, tables, batches)
    arrivals = [_arrivals(batch) for each in batches.values() for batch in each]
    checks = [*account(expected, found), *_faults_happened(plan, story)]
    return Report(
        title=_TITLE,
        summary=_summary(story, expected),
        balances=balances(expected, found),
        checks=checks,
        picture=_picture(story, book, arrivals),
        figures=_figures(story, book, arrivals, found),
        machine=describe_machine(),
    )


def _found(bootstrap: str, tables: Path, batches: Mapping[Kind, list[Batch]]) -> Found:
    paid = read_stream_table(tables / "paid_orders", ["order", "cents"])
    conversion = read_view(tables / "conversion").to_pylist()
    return Found(
        records={kind: count_records(bootstrap, kind.value) for kind in Kind},
        tables={
            kind: [name for batch in each for name in batch.rows["id"].to_pylist()] for kind, each in batches.items()
        },
        dead_letters=read_dead_letters(bootstrap),
        paid=[Paid(row["order"], row["cents"]) for batch in paid for row in batch.rows.to_pylist()],
        sales=read_sales(bootstrap),
        conversion={row["category"]: Interest(row["clicks"] or 0, row["orders"] or 0) for row in conversion},
    )


def _faults_happened(plan: Plan, story: Story) -> list[Check]:
    kills, sessions = (2, 2) if plan.kills else (0, 1)
    return [
        Check("events that were sent and not acknowledged", 0, story.failed_sends),
        Check("kills during the run", kills, len(story.faults)),
        Check("sessions of Spark, at least: one before the kill and one after it", sessions, min(story.sessions, 2)),
        Check("records that the pipeline has not read", 0, story.samples[-1].lag),
    ]


def _arrivals(batch: Batch) -> Arrivals:
    sent_us = pc.cast(batch.rows["timestamp"], "timestamp[us]").cast("int64").to_numpy()
    return Arrivals(batch.visible_ms, np.asarray(sent_us // 1_000, np.int64))


def _summary(story: Story, expected: Expected) -> str:
    kills = " and ".join(f"{each.name} at {each.start_seconds:.0f} s" for each in story.faults)
    seconds = (story.closed_ms - story.opened_ms) / 1_000
    return (
        f"{sum(expected.produced.values()):,} orders, payments and clicks in {seconds:.0f} s, some twice, some late, "
        f"some broken, cleaned, joined and counted exactly once by a pipeline on Spark; {kills}."
    )


def _picture(story: Story, book: list[Entry], arrivals: list[Arrivals]) -> Picture:
    opened_ms = story.opened_ms
    in_order = sorted(arrivals, key=lambda each: each.visible_ms)
    lag = Line("records not read yet", [Point((each.time_ms - opened_ms) / 1_000, each.lag) for each in story.samples])
    return Picture(
        plots=(
            Plot(
                "Throughput, events/s",
                (measures.rate_in((each.acked_ms for each in book), opened_ms), measures.rate_out(in_order, opened_ms)),
            ),
            Plot("Lag of the pipeline, records", (lag,)),
            Plot("From sent to visible in a table, s", measures.latencies(arrivals, opened_ms)),
        ),
        faults=story.faults,
    )


def _lag(story: Story) -> str:
    """Outside the kills is what the pipeline does by itself."""
    largest = max(sample.lag for sample in story.samples)
    outside = [sample.lag for sample in story.samples if not _is_in_fault(story, sample.time_ms)]
    return f"{largest:,} records, {max(outside, default=0):,} outside the kills"


def _is_in_fault(story: Story, time_ms: int) -> bool:
    """A fault ends with the first batch after it; what has come meanwhile takes as long again."""
    second = (time_ms - story.opened_ms) / 1_000
    return any(fault.start_seconds <= second <= 2 * fault.end_seconds - fault.start_seconds for fault in story.faults)


def _figures(story: Story, book: list[Entry], arrivals: list[Arrivals], found: Found) -> dict[str, str]:
    overall = measures.overall(arrivals)
    seconds = (story.closed_ms - story.opened_ms) / 1_000
    down = {each.name: each.end_seconds - each.start_seconds for each in story.faults}
    return {
        "produced": f"{len(book):,} events in {seconds:.0f} s, {len(book) / seconds:,.0f} a second, acks=all",
        "from sent to visible": f"p50 {overall.p50_s:.1f} s, p95 {overall.p95_s:.1f} s, p99 {overall.p99_s:.1f} s",
        "longest wait for an acknowledgement": f"{max(each.acked_ms - each.sent_ms for each in book) / 1_000:.2f} s",
        "largest lag": _lag(story),
        "read to the end": f"{(story.drained_ms - story.closed_ms) / 1_000:.1f} s after the last event",
        "until it went on": ", ".join(f"{name}: {each:.1f} s" for name, each in down.items()),
        "paid orders": f"{len(found.paid):,} in their table, {len(found.sales):,} windows of sales in their topic",
        "pipeline": f"live mode, {story.batches} micro-batches, {story.sessions} sessions of Spark",
    }
