"""Status of a pipeline, while it runs and after: its flows, how far they are behind, dead letters, the last error.

From three places: the state that `run` keeps, Spark's checkpoints, and the cluster. Each may be missing: a pipeline
that never ran, storage that is not a local directory, brokers that do not answer.
"""

import asyncio
import time
from dataclasses import dataclass, field

from odradek.common.failures import ApiError, InputError
from odradek.spark.pipeline import events
from odradek.spark.pipeline.checkpoints import Checkpoint, read_checkpoints
from odradek.spark.pipeline.dead_letters.reading import count_waiting
from odradek.spark.pipeline.dead_letters.topics import LetterTopics, group_of
from odradek.spark.pipeline.definitions import dead_letter_uses, read_definitions, uses_of
from odradek.spark.pipeline.process_ids import is_alive
from odradek.spark.pipeline.project import Project
from odradek.spark.pipeline.state import UNFINISHED, FlowState, RunState, load
from odradek.spark.pipeline.topics import DeadLetterCounts, Lags, client_settings
from odradek.spark.pipeline.watch.lag_times import LagTimes
from odradek.spark.source.offset_limits import offsets_from_json

#: States in which a process must be running it.
_BUSY = (events.RUNNING, "waiting", "retrying", events.Stopping.KIND)


@dataclass(frozen=True, slots=True, kw_only=True)
class FlowStatus:
    flow: str
    state: str
    batch_id: int | None
    last_batch_ms: int | None
    #: Of the last run.
    rows_in: int
    rows_out: int | None
    rows_in_per_s: float = 0.0
    #: None where the sink does not count.
    rows_out_per_s: float | None = None
    #: None where it reads no topic, or the cluster does not answer.
    lag: int | None
    lag_ms: int | None = None
    #: Whether it is at least so late.
    is_lag_minimum: bool = False
    reads_topics: bool
    #: Of the last batch.
    duration_ms: int | None = None
    parts_ms: dict[str, int] = field(default_factory=dict)
    #: The trigger interval that its batches exceed.
    late_interval_ms: int | None = None
    state_rows: int = 0
    state_bytes: int = 0
    watermark_ms: int | None = None
    restarts: int = 0
    error: str | None = None


@dataclass(frozen=True, slots=True)
class DeadLetters:
    topic: str
    #: None where the topic is not there, or the cluster does not answer.
    records: int | None
    #: Those that were not replayed or dropped.
    waiting: int | None


@dataclass(frozen=True, slots=True)
class Status:
    pipeline: str
    #: Also "never ran", and "killed" for one that could not say how it ended.
    state: str
    pid: int | None
    started_ms: int | None
    changed_ms: int | None
    updates: int
    #: Starts of Spark in the last run.
    sessions: int
    last_error: str | None
    last_error_ms: int | None
    log: str
    flows: tuple[FlowStatus, ...]
    dead_letters: tuple[DeadLetters, ...]


def read_status(project: Project) -> Status:
    reader = StatusReader(project)
    try:
        return reader.read()
    finally:
        reader.close()


def is_running(project: Project) -> bool:
    """Return whether a process that is alive runs it."""
    return _state(load(project.state))[1] is not None


class StatusReader:
    """Reads the status repeatedly: connections are kept, and dead letters counted once."""

    def __init__(self, project: Project) -> None:
        self._project = project
        definitions = read_definitions(project)
        self._lags = Lags(uses_of(definitions))
        self._dead_letters = DeadLetterCounts(definitions)
        self._letter_settings = {
            use.options["topic"]: client_settings(use.options) for use in dead_letter_uses(definitions)
        }
        self._lag_times = LagTimes()
        self._resumed_ms = 0

    def close(self) -> None:
        self._lags.close()
        self._dead_letters.close()

    def read(self) -> Status:
        run = load(self._project.state)
        state, pid = _state(run)
        return Status(
            pipeline=self._project.name,
            state=state,
            pid=pid,
            started_ms=run.started_ms if run else None,
            changed_ms=run.changed_ms if run else None,
            updates=run.updates_completed if run else 0,
            sessions=run.attempt if run else 0,
            last_error=run.last_error if run else None,
            last_error_ms=run.last_error_ms if run else None,
            log=str(self._project.log),
            flows=tuple(self._flows(run, is_busy=state in _BUSY)),
            dead_letters=tuple(self._count_dead_letters(run, is_busy=state in _BUSY)),
        )

    def _flows(self, run: RunState | None, *, is_busy: bool) -> list[FlowStatus]:
        storage = self._project.local_storage
        checkpoints = (
            {} if storage is None else {checkpoint.flow: checkpoint for checkpoint in read_checkpoints(storage)}
        )
        states = run.flows if run else {}
        if run is not None and run.ends_ms > self._resumed_ms:
            self._resumed_ms = run.ends_ms
            self._lag_times.add(run.ends_ms, offsets_from_json(run.ends))
        statuses = []
        for name in sorted({*states, *checkpoints}):  # Spark reports them in any order
            flow = states.get(name, FlowState(state=events.STOPPED))
            statuses.append(self._flow(name, flow, checkpoints.get(name), is_busy=is_busy))
        return statuses

    def _flow(self, name: str, flow: FlowState, checkpoint: Checkpoint | None, *, is_busy: bool) -> FlowStatus:
        offsets = offsets_from_json(flow.offsets) if checkpoint is None else checkpoint.offsets
        ends, now_ms = self._lags.ends(offsets) if offsets else None, time.time_ns() // 1_000_000
        lag_ms, is_minimum = flow.lag_ms, flow.is_lag_minimum
        if ends is not None:
            self._lag_times.add(now_ms, ends)
        lag = None if ends is None else self._lag_times.lag_of(offsets, now_ms)
        if not is_busy:  # a run knows it better: it has sampled the topics since it began
            lag_ms, is_minimum = (None, False) if lag is None else (lag.time_ms, lag.is_minimum)
        return flow_status(
            name,
            flow,
            state=events.STOPPED if flow.state in UNFINISHED and not is_busy else flow.state,
            batch_id=flow.batch_id if checkpoint is None else checkpoint.batch_id,
            last_batch_ms=flow.last_batch_ms if checkpoint is None else checkpoint.committed_ms,
            rows_in_per_s=flow.rows_in_per_s if is_busy else 0.0,
            rows_out_per_s=(flow.rows_out_per_s if is_busy else 0.0) if flow.counts_out else None,
            lag=None if lag is None else lag.records,
            lag_ms=lag_ms,
            is_lag_minimum=is_minimum,
            reads_topics=bool(offsets),
        )

    def _count_dead_letters(self, run: RunState | None, *, is_busy: bool) -> list[DeadLetters]:
        is_counted = is_busy and run is not None and self._dead_letters.records.keys() <= run.dead_letters.keys()
        counts = run.dead_letters if is_counted and run is not None else self._dead_letters.refresh()
        return [DeadLetters(topic, records, self._waiting(topic, records)) for topic, records in counts.items()]

    def _waiting(self, topic: str, records: int | None) -> int | None:
        """Return the letters of the topic that were not replayed yet; all of them if no definition names the topic."""
        if not records or topic not in self._letter_settings:
            return records
        letters = LetterTopics((topic,), self._letter_settings[topic])
        try:
            return asyncio.run(count_waiting(letters, group_of(self._project)))
        except (ApiError, InputError):
            return None


def flow_status(name: str, flow: FlowState, **overrides: object) -> FlowStatus:
    """Return the status by the state of the run, with some fields replaced by `overrides`."""
    fields: dict[str, object] = {
        "flow": name,
        "state": flow.state,
        "batch_id": flow.batch_id,
        "last_batch_ms": flow.last_batch_ms,
        "rows_in": flow.rows_in,
        "rows_out": flow.rows_out if flow.counts_out else None,
        "rows_in_per_s": flow.rows_in_per_s,
        "rows_out_per_s": flow.rows_out_per_s if flow.counts_out else None,
        "lag": flow.lag,
        "lag_ms": flow.lag_ms,
        "is_lag_minimum": flow.is_lag_minimum,
        "reads_topics": bool(flow.offsets),
        "duration_ms": flow.duration_ms,
        "parts_ms": dict(flow.parts_ms),
        "late_interval_ms": flow.late_interval_ms,
        "state_rows": flow.state_rows,
        "state_bytes": flow.state_bytes,
        "watermark_ms": flow.watermark_ms,
        "restarts": flow.restarts,
        "error": flow.error,
    }
    return FlowStatus(**{**fields, **overrides})  # type: ignore[arg-type]


def _state(run: RunState | None) -> tuple[str, int | None]:
    if run is None:
        return "never ran", None
    if run.state not in _BUSY:
        return run.state, None
    return (run.state, run.pid) if is_alive(run.pid) else ("killed", None)
