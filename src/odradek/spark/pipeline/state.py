"""State of a run: folded from its events, kept in a file for `status`, shown by the display."""

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from odradek.spark.pipeline import events
from odradek.spark.pipeline.events import Event
from odradek.spark.pipeline.project import Project

#: States of flows that Spark runs, or will.
UNFINISHED = (events.QUEUED, events.STARTING, events.RUNNING, events.IDLE)


@dataclass(slots=True)
class FlowState:
    state: str = events.QUEUED
    #: None for flows that are no streams.
    batch_id: int | None = None
    rows_in: int = 0
    rows_out: int = 0
    #: Whether the sink counts what it writes.
    counts_out: bool = False
    #: Of the last batch.
    rows_per_s: float = 0.0
    #: Over the last ten seconds or so.
    rows_in_per_s: float = 0.0
    rows_out_per_s: float = 0.0
    #: Behind the ends of its topics, in records and in time.
    lag: int | None = None
    lag_ms: int | None = None
    #: Whether it is at least so late: it was behind already when the topics were first looked at.
    is_lag_minimum: bool = False
    offsets: dict[str, dict[str, int]] = field(default_factory=dict)
    error: str | None = None
    last_batch_ms: int | None = None
    #: How long the last batch, or the last refresh of a materialized view, took, and its parts.
    duration_ms: int | None = None
    parts_ms: dict[str, int] = field(default_factory=dict)
    #: Of all batches, or refreshes, since the run began.
    batches: int = 0
    duration_total_ms: int = 0
    parts_total_ms: dict[str, int] = field(default_factory=dict)
    state_rows: int = 0
    state_bytes: int = 0
    watermark_ms: int | None = None
    restarts: int = 0
    #: The trigger interval that its batches exceed; None while they keep it.
    late_interval_ms: int | None = None

    def add_batch(self, duration_ms: int, parts_ms: Mapping[str, int]) -> None:
        self.duration_ms, self.parts_ms = duration_ms, dict(parts_ms)
        self.batches += 1
        self.duration_total_ms += duration_ms
        for part, part_ms in parts_ms.items():
            self.parts_total_ms[part] = self.parts_total_ms.get(part, 0) + part_ms


@dataclass(slots=True)
class RunState:
    pipeline: str = ""
    #: running, waiting (for the next trigger), retrying, stopping, completed, stopped or failed
    state: str = events.RUNNING
    pid: int = 0
    driver_pid: int | None = None
    jvm_pid: int | None = None
    log: str = ""
    continuous: bool = False
    is_live: bool = False
    started_ms: int = 0
    changed_ms: int = 0
    attempt: int = 0
    update: int = 0
    updates_completed: int = 0
    last_error: str | None = None
    last_error_ms: int | None = None
    flows: dict[str, FlowState] = field(default_factory=dict)
    #: Records by topic.
    dead_letters: dict[str, int | None] = field(default_factory=dict)
    #: Where topics ended when brokers last answered, and when that was.
    ends: dict[str, dict[str, int]] = field(default_factory=dict)
    ends_ms: int = 0

    @property
    def rows_in(self) -> int:
        return sum(flow.rows_in for flow in self.flows.values())

    @property
    def rows_out(self) -> int:
        return sum(flow.rows_out for flow in self.flows.values())

    def apply(self, event: Event) -> Event:
        """The event with what only the whole run knows."""
        self.changed_ms = event.time_ms
        if isinstance(event, events.Progress):
            return self._progress(event)
        if isinstance(event, events.Sample):
            self._sample(event)
        elif isinstance(event, events.Started):
            self.pipeline, self.pid, self.log = event.pipeline, event.pid, event.log
            self.continuous, self.started_ms = event.continuous, event.time_ms
        elif isinstance(event, events.Session):
            self.attempt, self.driver_pid, self.jvm_pid = event.attempt, event.driver_pid, event.jvm_pid
        elif isinstance(event, events.Update):
            self._update(event)
        elif isinstance(event, events.Live):
            self._live(event)
        elif isinstance(event, events.Flow):
            flow = self.flows.setdefault(event.flow, FlowState())
            flow.state, flow.error = event.state, event.error
        elif isinstance(event, events.Restart):
            flow = self.flows.setdefault(event.flow, FlowState())
            flow.state, flow.error, flow.restarts = events.QUEUED, event.cause, flow.restarts + 1
            self.last_error, self.last_error_ms = f"flow {event.flow}: {event.cause}", event.time_ms
        elif isinstance(event, events.Refresh):
            flow = self.flows.setdefault(event.flow, FlowState())
            flow.state, flow.last_batch_ms = events.RUNNING, event.time_ms
            flow.add_batch(event.duration_ms, {})
        elif isinstance(event, events.Idle):
            self.flows.setdefault(event.flow, FlowState()).state = events.IDLE
        elif isinstance(event, events.LateTrigger):
            self.flows.setdefault(event.flow, FlowState()).late_interval_ms = event.interval_ms
        elif isinstance(event, events.Retry):
            self.state, self.last_error, self.last_error_ms = "retrying", event.cause, event.time_ms
            self._set_unfinished(events.QUEUED)
        elif isinstance(event, events.Stopping):
            self.state = events.Stopping.KIND
        elif isinstance(event, events.Ended):
            self._end(event)
        return event

    def _update(self, event: events.Update) -> None:
        self.update = event.update
        if event.state == events.RUNNING:
            self.state = events.RUNNING
        elif event.state == events.COMPLETED:
            self.updates_completed += 1
            self.state = "waiting" if self.continuous else events.COMPLETED
        if event.error is not None:
            self.last_error, self.last_error_ms = event.error, event.time_ms

    def _live(self, event: events.Live) -> None:
        self.is_live = event.state in (events.STARTING, events.RUNNING)
        if self.is_live:
            self.state = events.RUNNING
        if event.error is not None:
            self.last_error, self.last_error_ms = event.error, event.time_ms

    def _progress(self, event: events.Progress) -> Event:
        flow = self.flows.setdefault(event.flow, FlowState())
        flow.batch_id, flow.last_batch_ms = event.batch_id, event.time_ms
        if flow.state == events.IDLE:
            flow.state = events.RUNNING
        flow.rows_in += event.rows_in
        flow.rows_out += event.rows_out or 0
        flow.counts_out = flow.counts_out or event.rows_out is not None
        flow.rows_per_s, flow.lag, flow.offsets = event.rows_per_s, event.lag, event.offsets
        flow.add_batch(event.duration_ms, event.parts_ms)
        flow.watermark_ms = event.watermark_ms
        flow.state_rows, flow.state_bytes = event.state_rows, event.state_bytes
        if flow.late_interval_ms is not None and event.duration_ms <= flow.late_interval_ms:
            flow.late_interval_ms = None
        return replace(event, rows_in_total=flow.rows_in, rows_out_total=flow.rows_out)

    def _end(self, event: events.Ended) -> None:
        self.state, self.driver_pid, self.jvm_pid = event.state, None, None
        if event.error is not None:
            self.last_error, self.last_error_ms = event.error, event.time_ms
        self._set_unfinished(events.STOPPED)

    def _sample(self, event: events.Sample) -> None:
        self.dead_letters = event.dead_letters
        for name, sample in event.flows.items():
            flow = self.flows[name]
            flow.rows_in_per_s, flow.rows_out_per_s = sample.rows_in_per_s, sample.rows_out_per_s or 0.0
            # Where no sample ever had ends, the cluster is not known here: what the driver said of the lag stays.
            if sample.reads_topics and (sample.lag is not None or flow.lag_ms is not None):
                flow.lag, flow.lag_ms, flow.is_lag_minimum = sample.lag, sample.lag_ms, sample.is_lag_minimum

    def _set_unfinished(self, state: str) -> None:
        for flow in self.flows.values():
            if flow.state in UNFINISHED:
                flow.state = state


def save(state: RunState, path: Path) -> None:
    """Whole or not at all: others read it while we run."""
    beside = path.with_suffix(".new")
    beside.write_text(json.dumps(asdict(state), indent=1))
    os.replace(beside, path)


def load(path: Path) -> RunState | None:
    """Return the state; None where the pipeline has not run yet, or another version has written the file."""
    try:
        document: dict[str, Any] = json.loads(path.read_text())
        flows = {name: FlowState(**flow) for name, flow in document.pop("flows").items()}
        return RunState(**document, flows=flows)
    except (FileNotFoundError, ValueError, TypeError, KeyError):
        return None


def move_problem(project: Project) -> str | None:
    """Return the problem of a storage that was elsewhere when the pipeline ran last; None if there is none."""
    state, storage = load(project.state), project.local_storage
    if state is None or storage is None or Path(state.log) == project.log:
        return None
    previous = Path(state.log).parent.parent
    return (
        f"the storage was {previous} when the pipeline ran last, and tables are known by their full paths: "
        f"move it back, or remove {storage}, and all that the topics still have is read again"
    )
