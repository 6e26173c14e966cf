"""The history: complete, bounded, and readable after a kill."""

import json
from dataclasses import replace
from pathlib import Path

from odradek.spark.pipeline import events
from odradek.spark.pipeline.project import read_project
from odradek.spark.pipeline.watch.history import (
    FlowHistory,
    History,
    _read,
    from_line,
    merge,
    read_history,
    to_line,
)
from support.spark.recorded_runs import Recording, eventful_run

SAMPLE = FlowHistory(
    time_ms=5_000,
    interval_ms=1_000,
    flow="events",
    state="running",
    rows_in=7,
    rows_out=0,
    batches=1,
    batch_ms=300,
    longest_batch_ms=300,
    parts_ms={"addBatch": 200},
    lag=0,
    lag_ms=0,
    state_rows=4,
    state_bytes=100,
    watermark_ms=1,
)


def samples(directory: Path) -> list[FlowHistory]:
    return [entry for entry in _read(directory) if isinstance(entry, FlowHistory)]


def test_lines_are_samples_again() -> None:
    assert from_line(to_line(SAMPLE)) == SAMPLE
    unknown = replace(SAMPLE, lag=None, lag_ms=None, rows_out=None, parts_ms={})
    assert from_line(to_line(unknown)) == unknown and "lag" not in json.loads(to_line(unknown))
    assert from_line('{"event": "flow-sample", "time_ms"') is None and from_line('{"event": "else"}') is None
    assert from_line("[]") is None and from_line("") is None


def test_a_run_and_what_explains_it(tmp_path: Path) -> None:
    run = eventful_run(tmp_path)
    entries = list(_read(tmp_path))
    kinds = [type(entry).KIND for entry in entries if isinstance(entry, events.Event)]
    assert kinds == ["started", "session", "live", "restart", "update", "retry", "session", "live", "stopping", "ended"]
    of_flow = [sample for sample in samples(tmp_path) if sample.flow == "events"]
    assert sum(sample.rows_in for sample in of_flow) == run.state.flows["events"].rows_in == run.end
    assert sum(sample.batch_ms for sample in of_flow) == run.state.flows["events"].duration_total_ms
    assert max(sample.lag_ms or 0 for sample in of_flow) >= 13_000


def test_a_line_that_a_kill_left_unfinished_is_skipped(tmp_path: Path) -> None:
    run = Recording(tmp_path)
    run.start()
    run.live()
    run.seconds(3)
    with (tmp_path / "history.jsonl").open("a") as file:
        file.write('{"event":"flow-sample","time_ms":17950032')
    again = Recording(tmp_path, now_ms=run.now_ms + 60_000)
    again.start()
    again.live()
    again.seconds(2)
    assert len(samples(tmp_path)) == 2 * 3 + 2 * 2
    assert sum(isinstance(entry, events.Started) for entry in _read(tmp_path)) == 2


def test_samples_are_merged_by_flow_and_state() -> None:
    later = replace(SAMPLE, time_ms=6_000, rows_in=3, lag=9, lag_ms=800, longest_batch_ms=100, batch_ms=100)
    silent = replace(SAMPLE, time_ms=7_000, lag=None, lag_ms=None, parts_ms={"walCommit": 5})
    (merged,) = merge([SAMPLE, later, silent], 10_000)
    assert (merged.time_ms, merged.interval_ms, merged.rows_in, merged.batches) == (7_000, 3_000, 17, 3)
    assert (merged.lag, merged.lag_ms, merged.longest_batch_ms, merged.batch_ms) == (9, 800, 300, 700)
    assert merged.parts_ms == {"addBatch": 400, "walCommit": 5}
    assert len(merge([SAMPLE, replace(later, state="idle")], 10_000)) == 2
    assert len(merge([SAMPLE, later], 1_000)) == 2


def test_files_do_not_grow_beyond_their_limit_and_nothing_is_lost_but_detail(tmp_path: Path) -> None:
    limit = 60_000
    run = Recording(tmp_path)
    run.history = History(tmp_path, limit)
    run.start()
    run.session()
    run.live()
    for _ in range(40):
        run.seconds(50, produced=10, batch_every=2)
        sizes = [path.stat().st_size for path in tmp_path.iterdir()]
        assert max(sizes) < limit + 2_000
    run.end_run()
    of_flow = [sample for sample in samples(tmp_path) if sample.flow == "events"]
    assert sum(sample.rows_in for sample in of_flow) == run.state.flows["events"].rows_in
    assert sum(sample.interval_ms for sample in of_flow) == 2_000_000
    assert max(sample.interval_ms for sample in of_flow) > 5_000, "old samples were merged"
    assert of_flow[-1].interval_ms == 1_000
    assert [type(entry).KIND for entry in _read(tmp_path) if isinstance(entry, events.Event)] == [
        *("started", "session", "live", "stopping", "ended")
    ]


def test_a_kill_between_the_two_steps_of_a_merge_doubles_nothing(tmp_path: Path) -> None:
    run = Recording(tmp_path)
    run.start()
    run.live()
    run.seconds(20, produced=5, batch_every=2)
    current = (tmp_path / "history.jsonl").read_text()
    before = sum(sample.rows_in for sample in samples(tmp_path))
    run.history._merge()
    assert (tmp_path / "history.jsonl").read_text() == ""
    (tmp_path / "history.jsonl").write_text(current)  # as if it had not been emptied
    assert sum(sample.rows_in for sample in samples(tmp_path)) == before


def test_a_pipeline_that_never_ran_has_none(tmp_path: Path) -> None:
    (tmp_path / "spark-pipeline.yml").write_text("name: shop\nstorage: storage\n")
    assert read_history(read_project(str(tmp_path))) == []
