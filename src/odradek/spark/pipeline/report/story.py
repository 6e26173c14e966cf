"""The first screen of a report: how it ended, what was done, how late it was, and the numbers. Pure."""

from html import escape

from odradek.spark.pipeline import events
from odradek.spark.pipeline.report import measures
from odradek.spark.pipeline.report.runs import KILLED, RUNNING, Run
from odradek.spark.pipeline.report.summary import Report
from odradek.spark.pipeline.report.units import count, duration


def mode(report: Report) -> str:
    last = report.runs[-1]
    last_mode = "live mode" if last.is_live else ("updates, until stopped" if last.started.continuous else "one update")
    return last_mode if len(report.runs) == 1 else f"{count(len(report.runs), 'run')}, the last in {last_mode}"


def verdict(report: Report) -> str:
    last, lag = report.runs[-1], report.lag
    open_faults = [gap for gap in report.faults if not gap.has_recovered]
    if last.state == events.FAILED:
        return _verdict_line(False, f"The pipeline failed: {last.error or 'no cause is known'}")
    if open_faults and last.state != RUNNING:
        return _verdict_line(False, f"The pipeline ended during an interruption: {open_faults[-1].reason}")
    if open_faults:
        return _verdict_line(False, f"The pipeline is interrupted now: {open_faults[-1].reason}")
    if lag:
        waiting = f"{count(lag, 'record')} {'is' if lag == 1 else 'are'} still waiting"
        return _verdict_line(last.state == RUNNING, f"{_ending(last)}; {waiting} to be processed.")
    outcome = "everything in its topics was processed" if lag == 0 else "no flow failed for good"
    return _verdict_line(last.state != KILLED, f"{_ending(last)}; {outcome}.")


def _verdict_line(is_good: bool, text: str) -> str:
    return f'<p class="verdict {"met" if is_good else "unmet"}">{escape(text)}</p>'


def _ending(run: Run) -> str:
    return {
        RUNNING: "The pipeline is running",
        KILLED: "The process that ran the pipeline was killed",
        events.COMPLETED: "The pipeline completed",
        events.STOPPED: "The pipeline was stopped on request",
    }.get(run.state, f"The pipeline ended as {run.state}")


def story(report: Report) -> str:
    rows_in, batches = sum(flow.rows_in for flow in report.flows), sum(flow.batches for flow in report.flows)
    rows_out = sum(flow.rows_out or 0 for flow in report.flows)
    flows = count(len(report.flows), "flow")
    sentences = [f"{flows} read {count(rows_in, 'row')} and wrote {count(rows_out, 'row')} in {_batches(batches)}."]
    late = measures.lateness(report.runs, report.pauses)
    if late is not None:
        sentences.append(
            f"While there were records to process, the oldest of them had waited no longer than "
            f"{duration(late.p50_ms)} for half of the time, no longer than {duration(late.p95_ms)} for 95 % of it, "
            f"and {duration(late.max_ms)}{' or more' if late.is_minimum else ''} at worst."
        )
    sentences.append(_fault_sentence(report))
    return " ".join(sentences)


def _batches(number: int) -> str:
    return "1 batch" if number == 1 else f"{number:,} batches"


def _fault_sentence(report: Report) -> str:
    faults = report.faults
    if not faults:
        return "Nothing interrupted it."
    recovered = [gap for gap in faults if gap.has_recovered]
    longest = max((gap.duration_ms for gap in recovered), default=0)
    times = "once" if len(faults) == 1 else f"{len(faults)} times"
    if len(recovered) == len(faults):
        again = "went on by itself" if len(faults) == 1 else "went on by itself each time"
        took = (
            f"after {duration(longest)}" if len(faults) == 1 else f"the longest interruption took {duration(longest)}"
        )
        return f"It was interrupted {times} and {again}, {took}."
    return f"It was interrupted {times}; {count(len(faults) - len(recovered), 'interruption')} lasted to the end."


def cards(report: Report) -> str:
    rows_in, rows_out = (sum(flow.rows_in for flow in report.flows), sum(flow.rows_out or 0 for flow in report.flows))
    seconds = max(measures.busy_ms(report.runs, report.pauses) / 1_000, 1)
    late, peak = measures.lateness(report.runs, report.pauses), measures.largest_lag(report.runs)
    faults = report.faults
    longest = max((gap.duration_ms for gap in faults), default=0)
    dead = report.dead_letters
    cells = [
        (f"{rows_in:,}", f"rows read, {_rate(rows_in / seconds)} per second without pauses"),
        (f"{rows_out:,}", "rows written, where sinks count them"),
        (
            "-" if late is None else duration(late.p95_ms),
            "longest that a record had waited, for 95 % of the time",
        ),
        ("0" if peak is None else f"{peak.records:,}", _peak_text(report, peak)),
        (str(len(faults)), _interruptions(len(faults), longest)),
        (f"{sum(flow.restarts for flow in report.flows):,}", "restarts of single flows"),
        (duration(max((flow.longest_batch_ms for flow in report.flows), default=0)), "longest batch"),
        ("-" if dead is None else f"{sum(dead.values()):,}", "dead letters: records that could not be processed"),
    ]
    return f'<div class="cards">{"".join(_card(figure, text) for figure, text in cells)}</div>'


def _rate(rows_per_s: float) -> str:
    """Format a rate; a small one has a decimal."""
    return f"{rows_per_s:,.0f}" if rows_per_s >= 10 else f"{rows_per_s:.1f}"


def _interruptions(number: int, longest_ms: int) -> str:
    if number == 1:
        return f"interruption, for {duration(longest_ms)}"
    return f"interruptions, the longest {duration(longest_ms)}" if number else "interruptions"


def _card(figure: str, text: str) -> str:
    return f'<div class="card"><b>{escape(figure)}</b><span>{escape(text)}</span></div>'


def _peak_text(report: Report, peak: measures.Peak | None) -> str:
    if peak is None:
        return "records waiting at the peak"
    return f"records waiting at the peak: flow {peak.flow}, {report.clock.time(peak.time_ms)}"
