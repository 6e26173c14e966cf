"""Events of a pipeline that runs, and their form as JSON. Pure.

The driver tells its events to the process that started it, a line each; `run --format json` prints them in the same
form. What they say is in the docstring of `odradek.spark.pipeline`.
"""

import json
from dataclasses import asdict, dataclass, field
from typing import Any, ClassVar


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    KIND: ClassVar[str] = ""
    time_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Started(Event):
    KIND = "started"
    pipeline: str
    project: str
    storage: str
    log: str
    pid: int
    continuous: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Session(Event):
    KIND = "session"
    attempt: int
    driver_pid: int
    jvm_pid: int | None
    spark: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Standby(Event):
    """A second driver has its session open, and would take the place of the one that runs."""

    KIND = "standby"
    driver_pid: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Update(Event):
    KIND = "update"
    update: int
    state: str
    seconds: float | None = None
    error: str | None = None
    #: Whether another attempt may end better.
    may_pass: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Flow(Event):
    KIND = "flow"
    flow: str
    update: int
    state: str
    error: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress(Event):
    KIND = "progress"
    flow: str
    #: Added by the driver, who knows which one runs.
    update: int = 0
    batch_id: int
    rows_in: int
    rows_out: int | None
    rows_per_s: float
    duration_ms: int
    lag: int | None
    #: By topic and partition, as Spark keeps them; empty for sources that are no topics.
    offsets: dict[str, dict[str, int]]
    #: How long each part of the batch took, by Spark's names: latestOffset, queryPlanning, addBatch, walCommit …
    parts_ms: dict[str, int] = field(default_factory=dict)
    state_rows: int = 0
    state_bytes: int = 0
    #: Since 1970; None for a flow without a watermark.
    watermark_ms: int | None = None
    #: Of the flow since the run began; added by whom the driver tells it.
    rows_in_total: int = 0
    rows_out_total: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class FlowSample:
    """Values of a flow that change as time passes."""

    #: Over the last ten seconds or so.
    rows_in_per_s: float
    #: None where the sink does not count.
    rows_out_per_s: float | None
    reads_topics: bool
    #: Behind the ends of the topics; None for a flow that reads none, and while brokers do not answer.
    lag: int | None
    lag_ms: int | None
    #: Whether the flow was behind already when the topics were first looked at, so that it is at least so late.
    is_lag_minimum: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample(Event):
    """Taken every second."""

    KIND = "sample"
    flows: dict[str, FlowSample]
    #: Records by topic; None where the cluster does not answer, or the topic does not exist.
    dead_letters: dict[str, int | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Live(Event):
    """State of live mode as a whole."""

    KIND = "live"
    #: starting, running (all flows were started), stopped, failed or unsupported
    state: str
    error: str | None = None
    may_pass: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Restart(Event):
    """A flow of live mode failed and is started again, alone."""

    KIND = "restart"
    flow: str
    attempt: int
    retries: int
    wait_s: float
    cause: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Refresh(Event):
    """A materialized view was computed anew in live mode."""

    KIND = "refresh"
    flow: str
    duration_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Idle(Event):
    """A flow of live mode has processed all that there is; repeated while that is so."""

    KIND = "idle"
    flow: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LateTrigger(Event):
    """A flow whose batches take longer than its trigger interval."""

    KIND = "late-trigger"
    flow: str
    interval_ms: int
    duration_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Retry(Event):
    KIND = "retry"
    attempt: int
    retries: int
    wait_s: float
    cause: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Warned(Event):
    """Something that does not stop the run, such as a state file that cannot be written."""

    KIND = "warning"
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Stopping(Event):
    KIND = "stopping"


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended(Event):
    KIND = "ended"
    state: str
    updates: int
    rows_in: int
    rows_out: int
    seconds: float
    error: str | None = None


_KINDS: dict[str, type[Event]] = {
    kind.KIND: kind
    for kind in (
        Started,
        Session,
        Standby,
        Update,
        Live,
        Flow,
        Progress,
        Refresh,
        Idle,
        LateTrigger,
        Restart,
        Retry,
        Warned,
        Stopping,
        Ended,
    )
}

#: States of flows and updates.
QUEUED, STARTING, RUNNING = "queued", "starting", "running"
COMPLETED, FAILED, SKIPPED, STOPPED = "completed", "failed", "skipped", "stopped"
#: Of a flow of live mode that has processed all that there is.
IDLE = "idle"
#: Of live mode: the pipeline has something in it that only updates can run.
UNSUPPORTED = "unsupported"


def to_document(event: Event) -> dict[str, Any]:
    return {"event": event.KIND, **asdict(event)}


def to_line(event: Event) -> str:
    return json.dumps(to_document(event))


def from_line(line: str) -> Event:
    """Read a line that `to_line` has written."""
    document = json.loads(line)
    return _KINDS[document.pop("event")](**document)
