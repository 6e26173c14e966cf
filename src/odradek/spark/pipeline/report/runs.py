"""The runs that a history has: each from its start to its end, or to the last that is known of it. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from odradek.spark.pipeline import events
from odradek.spark.pipeline.watch.history import DeadLetterHistory, Entry, FlowHistory

#: How a run ended that could not say so, and of one that has not ended.
KILLED, RUNNING = "killed", "running"


@dataclass(frozen=True, slots=True)
class Run:
    started: events.Started
    end_ms: int
    #: completed, stopped, failed, killed or running
    state: str
    error: str | None
    #: In the order of time, the start included.
    events: tuple[events.Event, ...]
    samples: tuple[FlowHistory, ...]
    dead_letters: tuple[DeadLetterHistory, ...]

    @property
    def start_ms(self) -> int:
        return self.started.time_ms

    @property
    def is_live(self) -> bool:
        return any(isinstance(event, events.Live) and event.state == events.RUNNING for event in self.events)


def find_runs(history: Sequence[Entry], *, is_running: bool) -> list[Run]:
    """The oldest first. `is_running`: whether the last one goes on, in a process that is alive."""
    starts = [number for number, entry in enumerate(history) if isinstance(entry, events.Started)]
    runs = []
    for start, end in pairwise([*starts, len(history)]):
        is_last = end == len(history)
        runs.append(_run(history[start:end], is_running=is_running and is_last))
    return runs


def _run(entries: Sequence[Entry], *, is_running: bool) -> Run:
    started = entries[0]
    if not isinstance(started, events.Started):
        raise AssertionError("a run begins with its start")
    last_ms = max(entry.time_ms for entry in entries)
    ended = next((entry for entry in reversed(entries) if isinstance(entry, events.Ended)), None)
    unknown = RUNNING if is_running else KILLED
    return Run(
        started=started,
        end_ms=last_ms if ended is None else ended.time_ms,
        state=unknown if ended is None else ended.state,
        error=None if ended is None else ended.error,
        events=tuple(entry for entry in entries if isinstance(entry, events.Event)),
        samples=tuple(entry for entry in entries if isinstance(entry, FlowHistory)),
        dead_letters=tuple(entry for entry in entries if isinstance(entry, DeadLetterHistory)),
    )
