"""What is known of flows: from Spark's reports, from its checkpoints, from the state that is kept."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from odradek.common.ids import TopicPartition
from odradek.spark.pipeline import events
from odradek.spark.pipeline.checkpoints import read_checkpoints
from odradek.spark.pipeline.project import Project, read_project
from odradek.spark.pipeline.state import FlowState, RunState, load, save
from odradek.spark.pipeline.status import read_status
from odradek.spark.pipeline.streams import progress_event
from odradek.spark.pipeline.topics import Lags

PARTITION = TopicPartition("orders", 0)


def report(**more: Any) -> dict[str, Any]:
    """As Spark says it, in what concerns us."""
    source = {"endOffset": {"orders": {"0": 70}}, "latestOffset": {"orders": {"0": 100, "1": 5}}}
    return {
        "name": "spark_catalog.default.orders",
        "batchId": 4,
        "numInputRows": 20,
        "processedRowsPerSecond": 10.04,
        "batchDuration": 1_990,
        "sources": [source],
        "sink": {"numOutputRows": 7},
        **more,
    }


def test_a_report() -> None:
    event, done = progress_event(report(), "orders")
    assert (event.batch_id, event.rows_in, event.rows_out, event.rows_per_s, event.lag) == (4, 20, 7, 10.0, 35)
    assert done == {PARTITION: 70} and event.offsets == {"orders": {"0": 70}}


def test_a_report_of_other_sources_and_of_sinks_that_do_not_count() -> None:
    files = [{"endOffset": {"logOffset": 3}, "latestOffset": None}, {"endOffset": 5, "latestOffset": "6"}]
    event, done = progress_event(report(sources=files, sink={"numOutputRows": -1}), "orders")
    assert (event.rows_out, event.lag, event.offsets, done) == (None, None, {}, {})
    event, _ = progress_event(report(processedRowsPerSecond=None, sources=[], sink={}), "orders")
    assert (event.rows_per_s, event.rows_out) == (0.0, None)


def checkpoint(storage: Path, number: int, commits: list[int], offsets: dict[str, Any]) -> None:
    root = storage / "_checkpoints" / "spark_catalog" / "default" / "orders" / "orders" / str(number)
    for name in ("offsets", "commits"):
        (root / name).mkdir(parents=True)
    for batch in range(max(commits, default=0) + 2):
        (root / "offsets" / str(batch)).write_text(f'v1\n{{}}\n{json.dumps(offsets)}\n{{"logOffset":{batch}}}')
    for batch in commits:
        (root / "commits" / str(batch)).write_text("v1\n{}")
    (root / "commits" / ".0.crc").write_text("x")


def test_checkpoints(tmp_path: Path) -> None:
    """The last that is done counts, of the last checkpoint that the flow has."""
    checkpoint(tmp_path, 0, [0, 1, 2, 3], {"orders": {"0": 900}})
    checkpoint(tmp_path, 1, [0, 1], {"orders": {"0": 40}})
    checkpoint(tmp_path, 2, [], {"orders": {"0": 50}})
    (found,) = read_checkpoints(tmp_path)
    assert (found.flow, found.batch_id, found.offsets) == ("orders", 1, {PARTITION: 40})
    assert read_checkpoints(tmp_path / "nowhere") == []


@pytest.fixture
def project(tmp_path: Path) -> Project:
    (tmp_path / "spark-pipeline.yml").write_text("name: shop\nstorage: storage\n")
    found = read_project(str(tmp_path))
    found.ours.mkdir(parents=True)
    return found


def ran(project: Project, *told: events.Event) -> None:
    state = RunState()
    for event in told:
        state.apply(event)
    save(state, project.state)


STARTED = events.Started(
    time_ms=1_000, pipeline="shop", project="p", storage="s", log="l", pid=os.getpid(), continuous=True
)
RUNNING = events.Flow(time_ms=2_000, flow="orders", update=1, state=events.RUNNING)


def test_one_that_never_ran(project: Project) -> None:
    status = read_status(project)
    assert (status.state, status.flows, status.last_error) == ("never ran", (), None)


def test_one_that_runs(project: Project) -> None:
    ran(project, STARTED, RUNNING)
    status = read_status(project)
    assert (status.state, status.pid, status.started_ms, status.changed_ms) == ("running", os.getpid(), 1_000, 2_000)
    assert [(flow.flow, flow.state, flow.lag) for flow in status.flows] == [("orders", "running", None)]


def test_flows_in_the_order_of_their_names(project: Project) -> None:
    flows = (events.Flow(time_ms=3_000, flow=name, update=1, state="queued") for name in ("b", "c", "a"))
    ran(project, STARTED, *flows)
    assert [flow.flow for flow in read_status(project).flows] == ["a", "b", "c"]


def test_one_that_is_being_stopped(project: Project) -> None:
    ran(project, STARTED, RUNNING, events.Stopping(time_ms=3_000))
    status = read_status(project)
    assert (status.state, status.pid) == ("stopping", os.getpid())


@pytest.mark.parametrize("last", [RUNNING, events.Stopping(time_ms=3_000)])
def test_one_that_was_killed(project: Project, last: events.Event) -> None:
    ran(project, events.Started(**{**_fields(STARTED), "pid": _free_pid()}), RUNNING, last)
    status = read_status(project)
    assert status.state == "killed" and status.pid is None
    assert [flow.state for flow in status.flows] == ["stopped"]


def test_one_that_failed(project: Project) -> None:
    failed = events.Flow(time_ms=3_000, flow="orders", update=1, state=events.FAILED, error="broken")
    update = events.Update(time_ms=3_001, update=1, state=events.FAILED, error="broken too")
    ended = events.Ended(
        time_ms=3_002, state="failed", updates=0, rows_in=0, rows_out=0, seconds=1.0, error="broken too"
    )
    ran(project, STARTED, RUNNING, failed, update, ended)
    status = read_status(project)
    assert (status.state, status.last_error, status.last_error_ms) == ("failed", "broken too", 3_002)
    assert [(flow.state, flow.error) for flow in status.flows] == [("failed", "broken")]


def test_checkpoints_count_more_than_what_was_kept(project: Project) -> None:
    event, _ = progress_event(report(), "orders")
    ran(project, STARTED, event)
    assert project.local_storage is not None
    checkpoint(project.local_storage, 0, [0, 9], {"orders": {"0": 900}})
    (flow,) = read_status(project).flows
    assert (flow.batch_id, flow.rows_in, flow.rows_out, flow.reads_topics, flow.lag) == (9, 20, 7, True, None)


def test_figures_of_a_run_that_goes_on(project: Project) -> None:
    event, _ = progress_event(report(), "orders")
    sample = events.FlowSample(rows_in_per_s=9.5, rows_out_per_s=3.0, reads_topics=True, lag=30, lag_ms=1_500)
    letters = {"orders.dead": 3}
    ran(project, STARTED, event, events.Sample(time_ms=2_500, flows={"orders": sample}, dead_letters=letters))
    (flow,) = read_status(project).flows
    assert (flow.rows_in_per_s, flow.rows_out_per_s, flow.lag_ms, flow.duration_ms) == (9.5, 3.0, 1_500, 1_990)


def test_lag_of_a_pipeline_that_stopped_counts_from_when_its_topics_were_last_seen(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    state = RunState(state=events.STOPPED, started_ms=1, ends={"orders": {"0": 70}}, ends_ms=5_000)
    state.flows["orders"] = FlowState(state=events.STOPPED, offsets={"orders": {"0": 70}}, lag_ms=1, rows_in_per_s=8.0)
    save(state, project.state)
    monkeypatch.setattr(Lags, "ends", lambda lags, partitions: {PARTITION: 100})
    (flow,) = read_status(project).flows
    assert flow.lag == 30 and flow.lag_ms is not None and not flow.is_lag_minimum
    assert flow.lag_ms > 1_000_000, "since 1970, nearly"
    assert flow.rows_in_per_s == 0.0, "it does not run"


def test_a_file_of_another_version(project: Project) -> None:
    project.state.write_text('{"flows": {}, "what": 1}')
    assert load(project.state) is None
    project.state.write_text("half a fi")
    assert load(project.state) is None


def _fields(event: events.Event) -> dict[str, Any]:
    document = events.to_document(event)
    document.pop("event")
    return document


def _free_pid() -> int:
    """Of a process that is over."""
    child = os.fork()
    if child == 0:
        os._exit(0)
    os.waitpid(child, 0)
    return child
