"""Interruptions and pauses of a run with their reasons, from its history. Pure.

Interruptions are faults: Spark's driver that was gone, a flow that failed and was restarted, brokers that did not
answer. Pauses are not: Spark that starts, flows without anything to read, the time between two runs.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from odradek.spark.pipeline import events
from odradek.spark.pipeline.report.runs import KILLED, Run

#: Shorter ones are between two batches of a pipeline that has enough to do.
_IDLE_MIN_MS = 10_000
_SILENT_MIN_MS = 2_000

#: Samples are a second apart; where they are much further apart, `run` itself did not get to work.
_HOLE_MIN_MS = 15_000

#: The first batch with rows after an interruption ends it, if it comes so soon: otherwise there was nothing to read.
_FIRST_BATCH_MS = 60_000

_IDLE_REASON = "nothing new was in the topics: all flows had processed everything"


@dataclass(frozen=True, slots=True)
class Gap:
    title: str
    #: In a sentence.
    reason: str
    start_ms: int
    end_ms: int
    is_fault: bool
    #: False for an interruption that lasted to the end of the run.
    has_recovered: bool = True

    @property
    def duration_ms(self) -> int:
        return self.end_ms - self.start_ms


def find_gaps(runs: Sequence[Run]) -> list[Gap]:
    """Return the gaps of runs that follow each other, in the order of time."""
    gaps = [gap for run in runs for gap in _of_run(run)]
    for previous, following in pairwise(runs):
        if previous.state == KILLED:
            title, reason = "killed", "the process that ran the pipeline was killed, and started again later"
        else:
            title, reason = previous.state, "the pipeline was not running between two runs"
        gaps.append(Gap(title, reason, previous.end_ms, following.start_ms, is_fault=previous.state == KILLED))
    return sorted(gaps, key=lambda gap: gap.start_ms)


def _of_run(run: Run) -> Iterator[Gap]:
    faults = [*_driver_gaps(run), *_restarts(run)]
    yield from _start(run)
    yield from faults
    yield from _silences(run)
    yield from _holes(run)
    yield from _idle_times(run, faults)


def _start(run: Run) -> Iterator[Gap]:
    for event in run.events:
        if isinstance(event, events.Retry):
            return
        is_up = (isinstance(event, events.Live) and event.state == events.RUNNING) or (
            isinstance(event, events.Update) and event.state == events.RUNNING
        )
        if is_up:
            yield Gap("Spark starts", "the session and the flows were started", run.start_ms, event.time_ms, False)
            return


# Interruptions


def _driver_gaps(run: Run) -> Iterator[Gap]:
    """Yield gaps from a failure of the whole pipeline to its first batch after that."""
    open_since: events.Update | events.Live | events.Retry | None = None
    for event in run.events:
        if open_since is None:
            open_since = _failure(event)
        elif _goes_on(event):
            end_ms = _first_batch(run, event.time_ms) or event.time_ms
            yield _interruption(open_since, end_ms)
            open_since = None
    if open_since is not None:
        yield _interruption(open_since, run.end_ms, has_recovered=False)


def _failure(event: events.Event) -> events.Update | events.Live | events.Retry | None:
    if isinstance(event, events.Retry):
        return event
    return event if isinstance(event, events.Update | events.Live) and event.state == events.FAILED else None


def _goes_on(event: events.Event) -> bool:
    if isinstance(event, events.Live):
        return event.state == events.RUNNING
    return isinstance(event, events.Update) and event.state == events.COMPLETED


def _interruption(event: events.Update | events.Live | events.Retry, end_ms: int, has_recovered: bool = True) -> Gap:
    cause = event.cause if isinstance(event, events.Retry) else event.error or ""
    is_driver = any(word in cause for word in ("driver ended", "JVM is gone"))
    title = "Spark restarted" if is_driver else "pipeline restarted"
    return Gap(title if has_recovered else "pipeline failed", cause, event.time_ms, end_ms, True, has_recovered)


def _restarts(run: Run) -> Iterator[Gap]:
    """Yield gaps from the failure of a flow to its first batch after it was started again; several in a row are one."""
    done_ms: dict[str, int] = {}
    for event in run.events:
        if not isinstance(event, events.Restart) or event.time_ms <= done_ms.get(event.flow, 0):
            continue
        flow, started_ms = event.flow, event.time_ms + round(event.wait_s * 1_000)
        end_ms = next(
            (
                sample.time_ms
                for sample in run.samples
                if sample.flow == flow
                and sample.time_ms - sample.interval_ms >= started_ms
                and (sample.batches or sample.state == events.IDLE)
            ),
            None,
        )
        done_ms[flow] = end_ms or run.end_ms
        yield Gap(
            f"{flow} restarted",
            event.cause,
            event.time_ms,
            end_ms or run.end_ms,
            True,
            has_recovered=end_ms is not None,
        )


def _first_batch(run: Run, after_ms: int) -> int | None:
    """Return when rows of a topic were first processed; None if that was long after, or never."""
    readers = {sample.flow for sample in run.samples if sample.lag is not None}
    for sample in run.samples:
        is_first = sample.rows_in and (sample.flow in readers or not readers)
        if is_first and sample.time_ms - sample.interval_ms >= after_ms:
            return sample.time_ms if sample.time_ms - after_ms <= _FIRST_BATCH_MS else None
    return None


def _silences(run: Run) -> Iterator[Gap]:
    """Times in which no flow that reads topics knew its lag."""
    readers = {sample.flow for sample in run.samples if sample.lag is not None}
    known_since: dict[str, int] = {}
    for sample in run.samples:
        if sample.lag is not None:
            known_since.setdefault(sample.flow, sample.time_ms)
    first_ms = min(known_since.values(), default=run.end_ms)
    times: dict[int, list[bool]] = {}
    for sample in run.samples:
        if sample.flow in readers and sample.time_ms > first_ms:
            times.setdefault(sample.time_ms, []).append(sample.lag is None)
    for start_ms, end_ms in _stretches({time_ms: all(unknown) for time_ms, unknown in times.items()}):
        if end_ms - start_ms >= _SILENT_MIN_MS:
            yield Gap(
                "brokers silent",
                "the brokers did not answer: lag is not known",
                start_ms,
                end_ms,
                True,
                end_ms < run.end_ms,
            )


# Pauses


def _holes(run: Run) -> Iterator[Gap]:
    """Samples that are far apart, among others that are not: samples that were merged cover the time between them."""
    intervals = {sample.time_ms: sample.interval_ms for sample in run.samples}
    times = sorted(intervals)
    for number, time_ms in enumerate(times[1:], start=1):
        around = [intervals[other] for other in (times[number - 1], *times[number + 1 : number + 2])]
        if intervals[time_ms] > _HOLE_MIN_MS and max(around) < _HOLE_MIN_MS:
            reason = "the process that runs the pipeline did not get to work: the machine was suspended or very busy"
            yield Gap("not recorded", reason, times[number - 1], time_ms, False)


def _idle_times(run: Run, faults: Sequence[Gap]) -> Iterator[Gap]:
    """Times in which no flow had anything to read."""
    times: dict[int, bool] = {}
    for sample in run.samples:
        is_idle = not sample.rows_in and not sample.lag and sample.state in (events.IDLE, events.RUNNING)
        times[sample.time_ms] = times.get(sample.time_ms, True) and is_idle
    for start_ms, end_ms in _stretches(times):
        is_explained = any(gap.start_ms < end_ms and start_ms < gap.end_ms for gap in faults)
        if end_ms - start_ms >= _IDLE_MIN_MS and not is_explained:
            yield Gap("idle", _IDLE_REASON, start_ms, end_ms, False)


def _stretches(times: dict[int, bool]) -> Iterator[tuple[int, int]]:
    """The times from the first sample for which it holds to the last of those that follow it."""
    start_ms: int | None = None
    last_ms = 0
    for time_ms, holds in sorted(times.items()):
        if holds and start_ms is None:
            start_ms = time_ms
        elif not holds and start_ms is not None:
            yield start_ms, last_ms
            start_ms = None
        last_ms = time_ms
    if start_ms is not None:
        yield start_ms, last_ms
