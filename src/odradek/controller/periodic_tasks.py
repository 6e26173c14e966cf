"""Periodic tasks of the active controller; each has the time at which it is due next."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from odradek.controller.decision import ControllerDecision

#: Delay after a round that left work over, so that requests are handled in between.
_AGAIN_MS = 10


@dataclass(slots=True)
class PeriodicTask:
    name: str
    #: Decides; a true response requests another round soon.
    run: Callable[[int], ControllerDecision[Any]]
    period_ms: int
    due_ms: int = 0

    def schedule(self, now_ms: int, *, again: bool = False) -> None:
        """Set the next time: after a period, or soon if a round left work over."""
        self.due_ms = now_ms + (_AGAIN_MS if again else self.period_ms)


@dataclass(slots=True)
class PeriodicTasks:
    tasks: list[PeriodicTask] = field(default_factory=list)

    def add(self, name: str, run: Callable[[int], ControllerDecision[Any]], period_ms: int | None) -> None:
        """Add a task, unless its period is None or 0."""
        if period_ms is not None and period_ms > 0:
            self.tasks.append(PeriodicTask(name, run, period_ms))

    def activate(self, now_ms: int) -> None:
        for task in self.tasks:
            task.schedule(now_ms)

    @property
    def deadline_ms(self) -> int | None:
        return min((task.due_ms for task in self.tasks), default=None)

    def due(self, now_ms: int) -> list[PeriodicTask]:
        return [task for task in self.tasks if task.due_ms <= now_ms]
