"""Samples of a run: rates and lag of each flow, also while Spark's driver or the brokers are gone."""

from pathlib import Path

from odradek.spark.pipeline import events
from odradek.spark.pipeline.state import FlowState
from support.spark.recorded_runs import ORDERS, Recording


def running(directory: Path) -> Recording:
    run = Recording(directory)
    run.start()
    run.session()
    run.live()
    return run


def events_flow(run: Recording) -> FlowState:
    return run.state.flows["events"]


def test_a_flow_that_keeps_up(tmp_path: Path) -> None:
    run = running(tmp_path)
    run.seconds(30, produced=1_000, batch_every=2)
    flow = events_flow(run)
    assert 900 <= flow.rows_in_per_s <= 1_100 and 900 <= flow.rows_out_per_s <= 1_100
    assert flow.lag == 1_000 and flow.lag_ms == 1_000 and not flow.is_lag_minimum
    counts = run.state.flows["counts"]
    assert counts.lag is None and counts.lag_ms is None and not counts.counts_out


def test_lag_grows_while_the_driver_is_gone(tmp_path: Path) -> None:
    """Events of the driver do not say so: it is gone."""
    run = running(tmp_path)
    run.seconds(10, produced=100, batch_every=1)
    run.lose_driver()
    assert events_flow(run).state == events.QUEUED and run.state.state == "retrying"
    run.seconds(20, produced=100)
    flow = events_flow(run)
    assert flow.lag == 2_100 and flow.lag_ms is not None and 20_000 <= flow.lag_ms <= 21_000
    assert flow.rows_in_per_s == 0.0
    run.live()
    run.batch()
    run.second()
    assert (flow.lag, flow.lag_ms) == (0, 0)


def test_lag_is_unknown_while_brokers_do_not_answer(tmp_path: Path) -> None:
    run = running(tmp_path)
    run.seconds(4, produced=100, batch_every=1)
    run.are_brokers_up = False
    run.second(100)
    assert events_flow(run).lag is None and events_flow(run).lag_ms is None
    run.are_brokers_up = True
    run.second(100)
    assert events_flow(run).lag == 300


def test_what_the_driver_says_of_the_lag_stays_where_the_cluster_is_not_known_here(tmp_path: Path) -> None:
    run = running(tmp_path)
    run.are_brokers_up = False
    run.batch()
    event = events.Progress(
        time_ms=run.now_ms,
        flow="events",
        batch_id=9,
        rows_in=1,
        rows_out=1,
        rows_per_s=1.0,
        duration_ms=1,
        lag=44,
        offsets={"orders": {"0": 1}},
    )
    run.tell(event)
    run.second()
    assert events_flow(run).lag == 44 and events_flow(run).lag_ms is None


def test_the_next_run_knows_since_when_records_wait(tmp_path: Path) -> None:
    run = running(tmp_path)
    run.end, run.position = 700, 500
    run.samples.resume({ORDERS: 500}, run.now_ms - 3_600_000)
    run.batch(rows=0)
    run.second()
    flow = events_flow(run)
    assert flow.lag == 200 and flow.lag_ms == 3_601_000 and not flow.is_lag_minimum


def test_a_flow_that_has_nothing_to_read_has_a_lag(tmp_path: Path) -> None:
    """Spark reports no batch of it, so that only its checkpoint says where it is."""
    run = Recording(tmp_path)
    run.start()
    run.samples.resume_positions({"events": {ORDERS: 500}, "removed": {ORDERS: 3}})
    assert not run.samples.partitions, "a flow that is no longer part of the pipeline is not looked at"
    run.session()
    run.live()
    run.end = 500
    run.second()
    assert (events_flow(run).lag, events_flow(run).lag_ms) == (0, 0)
    run.second(200)
    assert events_flow(run).lag == 200


def test_a_backlog_that_nobody_saw_grow(tmp_path: Path) -> None:
    run = running(tmp_path)
    run.end = 700
    run.batch(rows=100)
    run.seconds(5)
    flow = events_flow(run)
    assert flow.lag == 600 and flow.lag_ms == 4_000 and flow.is_lag_minimum


def test_dead_letters_are_part_of_a_sample(tmp_path: Path) -> None:
    run = running(tmp_path)
    run.dead_letters(3)
    run.second()
    assert run.state.dead_letters == {"orders.dead": 3}


def test_totals_of_batches(tmp_path: Path) -> None:
    run = running(tmp_path)
    run.batch()
    run.batch()
    run.tell(events.Refresh(time_ms=1, flow="view", duration_ms=70))
    flow = events_flow(run)
    assert flow.batches == 2 and flow.duration_total_ms == 4_800 and flow.parts_total_ms["addBatch"] == 3_800
    assert (run.state.flows["view"].batches, run.state.flows["view"].duration_ms) == (1, 70)
