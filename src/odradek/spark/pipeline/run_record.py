"""The record of a run: its state, its samples and its history, from the events of the driver and the sampler.

What is recorded is not needed to run the pipeline: when the files cannot be written, such as on a full disk, the run
goes on, and says so once.
"""

import time
from collections.abc import Callable

from odradek.common.ids import TopicPartition
from odradek.spark.pipeline import events
from odradek.spark.pipeline.checkpoints import read_checkpoints
from odradek.spark.pipeline.events import Event
from odradek.spark.pipeline.project import Project
from odradek.spark.pipeline.state import RunState, load, save
from odradek.spark.pipeline.watch.flow_samples import FlowSamples
from odradek.spark.pipeline.watch.history import History
from odradek.spark.pipeline.watch.sampler import DeadLetterSample, EndSample
from odradek.spark.source.offset_limits import Offsets, offsets_from_json, offsets_to_json

#: State is written at most so often, but at every end of an update.
_SAVE_INTERVAL_S = 0.5


class RunRecord:
    def __init__(self, project: Project, show: Callable[[RunState, Event], None], *, is_written: bool) -> None:
        """`show` is called with each event and the state after it."""
        self._project = project
        self._show = show
        self._is_written = is_written
        self._saved_s = 0.0
        self._samples = FlowSamples()
        self._history = History(project.ours)
        self._cannot_write = False
        self.state = RunState()

    @property
    def partitions(self) -> frozenset[TopicPartition]:
        """The partitions whose ends are sampled."""
        return self._samples.partitions

    def resume(self, *, has_positions: bool) -> None:
        """Take from the last run where topics ended, and, if it `has_positions`, where flows were."""
        previous = load(self._project.state)
        if previous is not None and previous.ends:
            self._samples.resume(offsets_from_json(previous.ends), previous.ends_ms)
            self.state.ends, self.state.ends_ms = previous.ends, previous.ends_ms
        if has_positions:
            self._samples.resume_positions(_positions(self._project, previous))

    def add(self, event: Event) -> None:
        event = self.state.apply(event)
        self._samples.add_event(event)
        if self._is_written:
            self._write(event)
        self._show(self.state, event)

    def add_sample(self, sample: EndSample | DeadLetterSample) -> None:
        if isinstance(sample, DeadLetterSample):
            self._samples.set_dead_letters(sample.records)
            return
        self._samples.add_ends(sample.time_ms, sample.ends)
        if sample.ends:
            self.state.ends, self.state.ends_ms = offsets_to_json(sample.ends), sample.time_ms
        self.sample(sample.time_ms)

    def sample(self, time_ms: int) -> None:
        self.add(self._samples.sample(self.state, time_ms))

    def _write(self, event: Event) -> None:
        try:
            self._history.append(self.state, event)
            self._save(event)
        except OSError as error:
            if not self._cannot_write:
                self._cannot_write = True
                reason = f"status and report are not kept up to date: {self._project.ours}: {error.strerror}"
                self._show(self.state, events.Warned(time_ms=event.time_ms, message=reason))
        else:
            self._cannot_write = False

    def _save(self, event: Event) -> None:
        now_s = time.monotonic()
        is_frequent = isinstance(event, events.Flow | events.Progress | events.Sample)
        if not is_frequent or now_s - self._saved_s >= _SAVE_INTERVAL_S:
            save(self.state, self._project.state)
            self._saved_s = now_s


def _positions(project: Project, previous: RunState | None) -> dict[str, Offsets]:
    """Return where flows are by their checkpoints, or, where those are on another machine, by the run before."""
    if project.local_storage is not None:
        return {checkpoint.flow: checkpoint.offsets for checkpoint in read_checkpoints(project.local_storage)}
    return {} if previous is None else {name: offsets_from_json(flow.offsets) for name, flow in previous.flows.items()}
