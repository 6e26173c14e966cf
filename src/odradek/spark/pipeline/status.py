"""How a pipeline stands, while it runs and after: its flows, how far they are behind, dead letters, the last error.

From three places: the state that `run` keeps, Spark's checkpoints, and the cluster. Each may be missing: a pipeline
that never ran, storage that is no local directory, brokers that do not answer.
"""

import asyncio
from dataclasses import dataclass

from odradek.common.failures import ApiError, InputError
from odradek.spark.limits import offsets_from_json
from odradek.spark.pipeline import events
from odradek.spark.pipeline.checkpoints import read_checkpoints
from odradek.spark.pipeline.dead_letters.reading import count_waiting
from odradek.spark.pipeline.dead_letters.topics import LetterTopics, group_of
from odradek.spark.pipeline.definitions import Definitions, dead_letter_uses, read_definitions, uses_of
from odradek.spark.pipeline.lock import is_alive
from odradek.spark.pipeline.project import Project
from odradek.spark.pipeline.state import FlowState, RunState, load
from odradek.spark.pipeline.topics import Cluster, Lags, client_settings

#: States in which somebody must be running it.
_BUSY = (events.RUNNING, "waiting", "retrying", events.Stopping.KIND)


@dataclass(frozen=True, slots=True)
class FlowStatus:
    flow: str
    state: str
    batch_id: int | None
    last_batch_ms: int | None
    #: Of the last run.
    rows_in: int
    rows_out: int | None
    #: None where it reads no topic, or the cluster does not answer.
    lag: int | None
    reads_topics: bool
    error: str | None


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
    last_error: str | None
    last_error_ms: int | None
    log: str
    flows: tuple[FlowStatus, ...]
    dead_letters: tuple[DeadLetters, ...]


def read_status(project: Project) -> Status:
    run = load(project.state)
    definitions = read_definitions(project)
    state, pid = _state(run)
    return Status(
        pipeline=project.name,
        state=state,
        pid=pid,
        started_ms=run.started_ms if run else None,
        changed_ms=run.changed_ms if run else None,
        updates=run.updates_completed if run else 0,
        last_error=run.last_error if run else None,
        last_error_ms=run.last_error_ms if run else None,
        log=str(project.log),
        flows=tuple(_flows(project, run, Lags(uses_of(definitions)), is_busy=state in _BUSY)),
        dead_letters=tuple(_dead_letters(definitions, group_of(project))),
    )


def _state(run: RunState | None) -> tuple[str, int | None]:
    if run is None:
        return "never ran", None
    if run.state not in _BUSY:
        return run.state, None
    return (run.state, run.pid) if is_alive(run.pid) else ("killed", None)


def _flows(project: Project, run: RunState | None, lags: Lags, *, is_busy: bool) -> list[FlowStatus]:
    storage = project.local_storage
    checkpoints = {} if storage is None else {each.flow: each for each in read_checkpoints(storage)}
    states = run.flows if run else {}
    found = []
    for name in sorted({*states, *checkpoints}):  # Spark tells of them in any order
        flow, checkpoint = states.get(name, FlowState(state=events.STOPPED)), checkpoints.get(name)
        offsets = offsets_from_json(flow.offsets) if checkpoint is None else checkpoint.offsets
        unfinished = flow.state in (events.QUEUED, events.STARTING, events.RUNNING)
        found.append(
            FlowStatus(
                flow=name,
                state=events.STOPPED if unfinished and not is_busy else flow.state,
                batch_id=flow.batch_id if checkpoint is None else checkpoint.batch_id,
                last_batch_ms=flow.last_batch_ms if checkpoint is None else checkpoint.committed_ms,
                rows_in=flow.rows_in,
                rows_out=flow.rows_out if flow.counts_out else None,
                lag=lags.of(offsets),
                reads_topics=bool(offsets),
                error=flow.error,
            )
        )
    return found


def _dead_letters(definitions: list[Definitions], group: str) -> list[DeadLetters]:
    found: dict[str, DeadLetters] = {}
    for use in dead_letter_uses(definitions):
        topic, settings = use.options["topic"], client_settings(use.options)
        if topic not in found:
            records = _count(topic, settings)
            waiting = _count_waiting(LetterTopics((topic,), settings), group) if records else records
            found[topic] = DeadLetters(topic, records, waiting)
    return list(found.values())


def _count_waiting(topics: LetterTopics, group: str) -> int | None:
    try:
        return asyncio.run(count_waiting(topics, group))
    except (ApiError, InputError):
        return None


def _count(topic: str, settings: dict[str, str]) -> int | None:
    try:
        cluster = Cluster(settings)
    except InputError:
        return None
    try:
        return cluster.count(topic)
    except ApiError:
        return None
    finally:
        cluster.close()
