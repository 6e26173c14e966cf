"""A run goes on when its state and history cannot be written, and says so once."""

import errno
import os
from pathlib import Path

import pytest

from odradek.spark.pipeline import events, run_record
from odradek.spark.pipeline.events import Event
from odradek.spark.pipeline.project import read_project
from odradek.spark.pipeline.run_record import RunRecord
from odradek.spark.pipeline.state import RunState, load


def test_a_full_disk_does_not_end_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "spark-pipeline.yml").write_text("name: shop\nstorage: storage\n")
    project = read_project(str(tmp_path))
    project.ours.mkdir(parents=True)
    shown: list[Event] = []
    record = RunRecord(project, lambda state, event: shown.append(event), is_written=True)
    save = run_record.save

    def fail(state: RunState, path: Path) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(run_record, "save", fail)
    for update in (1, 2):
        record.add(events.Update(time_ms=update, update=update, state=events.COMPLETED))
    (warning,) = (event for event in shown if isinstance(event, events.Warned))
    assert "No space left on device" in warning.message and str(project.ours) in warning.message
    monkeypatch.setattr(run_record, "save", save)
    record.add(events.Update(time_ms=3, update=3, state=events.COMPLETED))
    state = load(project.state)
    assert state is not None and state.updates_completed == 3
