"""History of a pipeline in a file of bounded size that survives kills: `history.jsonl` in its storage.

A line is a JSON object: an event that explains something (a start, a failure, a restart, an end), or what one flow did
since the line before it (`"event": "flow-sample"`). Lines are appended once a second in one write, so that a kill costs
the last one at most; a line that is not complete is skipped by readers.

When the file has grown to its limit, it and `history.old.jsonl` become a new `history.old.jsonl`, in which samples are
merged to as few as fit: old times are known less exactly. Lines of the current file that are not newer than the old one
are skipped by readers: both have them when the process was killed in between.
"""

import json
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from odradek.spark.pipeline import events
from odradek.spark.pipeline.events import Event
from odradek.spark.pipeline.project import Project
from odradek.spark.pipeline.state import FlowState, RunState

_CURRENT, _OLD = "history.jsonl", "history.old.jsonl"

#: Of the current file; about half an hour of ten busy flows. The old one is about as large at most.
_BYTES_MAX = 4 * 1024 * 1024

#: Samples of so much time become one when they are merged: the shortest with which the old file is small enough.
_MERGED_MS = (10_000, 60_000, 600_000, 3_600_000, 24 * 3_600_000)

#: That are kept when files are merged; a pipeline that fails again and again has many.
_EVENTS_MAX = 2_000

#: What explains the samples.
_EXPLAINING = (
    events.Started,
    events.Session,
    events.Live,
    events.Update,
    events.Restart,
    events.Retry,
    events.LateTrigger,
    events.Stopping,
    events.Ended,
)

_SAMPLE, _DEAD_LETTERS = "flow-sample", "dead-letters"


@dataclass(frozen=True, slots=True, kw_only=True)
class FlowHistory:
    """Work of a flow in the `interval_ms` before `time_ms`."""

    time_ms: int
    interval_ms: int
    flow: str
    state: str
    rows_in: int = 0
    #: None where the sink does not count.
    rows_out: int | None = None
    batches: int = 0
    #: Of all of them, and of the longest.
    batch_ms: int = 0
    longest_batch_ms: int = 0
    parts_ms: dict[str, int] = field(default_factory=dict)
    #: The largest.
    lag: int | None = None
    lag_ms: int | None = None
    is_lag_minimum: bool = False
    state_rows: int = 0
    state_bytes: int = 0
    watermark_ms: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DeadLetterHistory:
    time_ms: int
    records: dict[str, int | None]


Entry = Event | FlowHistory | DeadLetterHistory


class History:
    """Writes; one process at a time."""

    def __init__(self, directory: Path, bytes_max: int = _BYTES_MAX) -> None:
        self._directory = directory
        self._bytes_max = bytes_max
        self._sampled_ms = 0
        self._flows: dict[str, FlowState] = {}
        self._longest_ms: dict[str, int] = {}
        self._dead_letters: dict[str, int | None] = {}

    def append(self, state: RunState, event: Event) -> None:
        """`state` is that of the run with the event applied."""
        if isinstance(event, events.Progress | events.Refresh):
            self._longest_ms[event.flow] = max(self._longest_ms.get(event.flow, 0), event.duration_ms)
        elif isinstance(event, events.Sample):
            self._write(self._samples(state, event))
        elif isinstance(event, _EXPLAINING):
            self._write([event])

    def _samples(self, state: RunState, event: events.Sample) -> Iterator[Entry]:
        interval_ms = max(event.time_ms - (self._sampled_ms or state.started_ms), 1)
        for name, flow in state.flows.items():
            yield _since(
                self._flows.get(name, FlowState()), flow, name, event.time_ms, interval_ms, self._longest_ms.get(name)
            )
            self._flows[name] = replace(flow, parts_total_ms=dict(flow.parts_total_ms))
        if event.dead_letters != self._dead_letters:
            self._dead_letters = event.dead_letters
            yield DeadLetterHistory(time_ms=event.time_ms, records=event.dead_letters)
        self._sampled_ms = event.time_ms
        self._longest_ms.clear()

    def _write(self, entries: Iterable[Entry]) -> None:
        text = "".join(f"{to_line(entry)}\n" for entry in entries)
        if not text:
            return
        path = self._directory / _CURRENT
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        try:
            if not self._sampled_ms and os.fstat(descriptor).st_size:
                text = f"\n{text}"  # the process before us may have been killed in the middle of a line
            os.write(descriptor, text.encode())
            size = os.fstat(descriptor).st_size
        finally:
            os.close(descriptor)
        if size > self._bytes_max:
            self._merge()

    def _merge(self) -> None:
        entries = list(_read(self._directory))
        explaining = _newest([entry for entry in entries if not isinstance(entry, FlowHistory)])
        samples = [entry for entry in entries if isinstance(entry, FlowHistory)]
        text = ""
        for merged_ms in _MERGED_MS:
            retained = sorted([*explaining, *merge(samples, merged_ms)], key=lambda entry: entry.time_ms)
            text = "".join(f"{to_line(entry)}\n" for entry in retained)
            if len(text) < self._bytes_max // 2:
                break
        beside = self._directory / f"{_OLD}.new"
        beside.write_text(text)
        os.replace(beside, self._directory / _OLD)
        os.truncate(self._directory / _CURRENT, 0)


def _newest(entries: list[Entry]) -> list[Entry]:
    """A run is not known without its start: starts are kept before all else."""
    starts = [entry for entry in entries if isinstance(entry, events.Started | events.Ended)][-_EVENTS_MAX:]
    other_entries = [entry for entry in entries if not isinstance(entry, events.Started | events.Ended)][-_EVENTS_MAX:]
    return [*starts, *other_entries]


def _since(
    previous: FlowState, flow: FlowState, name: str, time_ms: int, interval_ms: int, longest_ms: int | None
) -> FlowHistory:
    parts_ms = {part: total - previous.parts_total_ms.get(part, 0) for part, total in flow.parts_total_ms.items()}
    return FlowHistory(
        time_ms=time_ms,
        interval_ms=interval_ms,
        flow=name,
        state=flow.state,
        rows_in=flow.rows_in - previous.rows_in,
        rows_out=flow.rows_out - previous.rows_out if flow.counts_out else None,
        batches=flow.batches - previous.batches,
        batch_ms=flow.duration_total_ms - previous.duration_total_ms,
        longest_batch_ms=longest_ms or 0,
        parts_ms={part: part_ms for part, part_ms in parts_ms.items() if part_ms},
        lag=flow.lag,
        lag_ms=flow.lag_ms,
        is_lag_minimum=flow.is_lag_minimum,
        state_rows=flow.state_rows,
        state_bytes=flow.state_bytes,
        watermark_ms=flow.watermark_ms,
    )


def merge(samples: Iterable[FlowHistory], merged_ms: int) -> list[FlowHistory]:
    """Make one sample of those of a flow in the same stretch of time in which it was in the same state."""
    merged: dict[tuple[str, str, int], FlowHistory] = {}
    for sample in samples:
        key = (sample.flow, sample.state, sample.time_ms // merged_ms)
        merged[key] = _sum(merged[key], sample) if key in merged else sample
    return list(merged.values())


def _sum(first: FlowHistory, second: FlowHistory) -> FlowHistory:
    """`second` is the later one."""
    parts = {**first.parts_ms}
    for part, part_ms in second.parts_ms.items():
        parts[part] = parts.get(part, 0) + part_ms
    lags = [sample for sample in (first, second) if sample.lag_ms is not None]
    latest = max(lags, key=lambda sample: sample.lag_ms or 0, default=second)
    return replace(
        second,
        interval_ms=first.interval_ms + second.interval_ms,
        rows_in=first.rows_in + second.rows_in,
        rows_out=None if second.rows_out is None else (first.rows_out or 0) + second.rows_out,
        batches=first.batches + second.batches,
        batch_ms=first.batch_ms + second.batch_ms,
        longest_batch_ms=max(first.longest_batch_ms, second.longest_batch_ms),
        parts_ms=parts,
        lag=max((sample.lag for sample in (first, second) if sample.lag is not None), default=None),
        lag_ms=latest.lag_ms,
        is_lag_minimum=latest.is_lag_minimum,
    )


# Lines


def to_line(entry: Entry) -> str:
    if isinstance(entry, Event):
        return events.to_line(entry)
    kind = _SAMPLE if isinstance(entry, FlowHistory) else _DEAD_LETTERS
    values = {attribute.name: getattr(entry, attribute.name) for attribute in fields(entry)}
    # What is not there need not be written: most flows do nothing in most seconds.
    document = {"event": kind, **{name: value for name, value in values.items() if value not in (None, 0, {}, False)}}
    if isinstance(entry, FlowHistory):
        document.update({name: values[name] for name in ("rows_out", "lag", "lag_ms") if values[name] is not None})
    return json.dumps(document, separators=(",", ":"))


def from_line(line: str) -> Entry | None:
    """Read a line; return None for one that is incomplete, or of another version."""
    try:
        document: dict[str, Any] = json.loads(line)
        if document["event"] == _SAMPLE:
            return FlowHistory(**{name: value for name, value in document.items() if name != "event"})
        if document["event"] == _DEAD_LETTERS:
            return DeadLetterHistory(time_ms=document["time_ms"], records=document.get("records", {}))
        return events.from_line(line)
    except (ValueError, TypeError, KeyError):
        return None


def read_history(project: Project) -> list[Entry]:
    """Return the history in the order of time; empty for a pipeline that never ran."""
    return list(_read(project.ours))


def _read(directory: Path) -> Iterator[Entry]:
    newest_ms = 0
    for name in (_OLD, _CURRENT):
        try:
            lines = (directory / name).read_text(errors="replace").splitlines()
        except FileNotFoundError:
            continue
        after_ms = newest_ms
        for line in lines:
            entry = from_line(line)
            if entry is not None and (name == _OLD or entry.time_ms > after_ms):
                newest_ms = max(newest_ms, entry.time_ms)
                yield entry
