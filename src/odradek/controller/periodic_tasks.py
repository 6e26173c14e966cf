"""What an active controller does by the clock: each task has the time at which it is due next."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from odradek.controller.decision import Decision


@dataclass(slots=True)
class PeriodicTask:
    name: str
    #: Decides; a true response asks for another round at once.
    run: Callable[[int], Decision[Any]]
    period_ms: int
    due_ms: int = 0


#: Between a round that left work over and the next one: others shall have their turn.
_AGAIN_MS = 10


@dataclass(slots=True)
class PeriodicTasks:
    tasks: list[PeriodicTask] = field(default_factory=list)

    def add(self, name: str, run: Callable[[int], Decision[Any]], period_ms: int | None) -> None:
        """No period, no task."""
        if period_ms is not None and period_ms > 0:
            self.tasks.append(PeriodicTask(name, run, period_ms))

    def activate(self, now_ms: int) -> None:
        for task in self.tasks:
            task.due_ms = now_ms + task.period_ms

    @property
    def deadline_ms(self) -> int | None:
        return min((task.due_ms for task in self.tasks), default=None)

    def due(self, now_ms: int) -> list[PeriodicTask]:
        return [task for task in self.tasks if task.due_ms <= now_ms]

    def ran(self, task: PeriodicTask, now_ms: int, again: bool) -> None:
        task.due_ms = now_ms + (_AGAIN_MS if again else task.period_ms)
