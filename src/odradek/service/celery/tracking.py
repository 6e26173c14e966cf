"""Celery tasks that were sent for messages: when to look for their results, when to send them again. Pure.

A task is looked for before it is sent: a bridge that died may have sent it, and it may have run. While it is not
ready it is looked for at growing intervals, a quarter of the time since it was sent, so that quick tasks are noticed
quickly and slow ones cost little. One that stays without news for too long has died with its worker, or was lost with
its queue, and is sent again under the same id: whichever run ends first counts. The next time it is waited for twice as
long. What was sent too often is given up.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum

_LOOK_MIN_MS = 20
_LOOK_MAX_MS = 1_000
_LOOK_PART = 4
_DOUBLINGS_MAX = 10

#: The task has ended: Celery's READY_STATES.
READY = ("SUCCESS", "FAILURE", "REVOKED")
#: No result backend knows of it: not begun, or never sent.
PENDING = "PENDING"


class Step(Enum):
    WAIT = "wait"
    SEND = "send"
    READY = "ready"
    GIVE_UP = "give up"


@dataclass(slots=True)
class _Tracked:
    look_at_ms: int
    #: Of the last news: it was sent, or its state has changed.
    news_ms: int
    resend_after_ms: int
    sends: int = 0
    state: str = PENDING

    @property
    def patience_ms(self) -> int:
        """It doubles: where workers are slow and not dead, sending again makes the queue longer."""
        return self.resend_after_ms << min(self.sends - 1, _DOUBLINGS_MAX)


class Tracking:
    def __init__(self, sends_max: int) -> None:
        self._sends_max = sends_max
        self._tracked: dict[str, _Tracked] = {}

    def __len__(self) -> int:
        return len(self._tracked)

    def begin(self, task_id: str, resend_after_ms: int, now_ms: int) -> None:
        self._tracked[task_id] = _Tracked(now_ms, now_ms, resend_after_ms)

    def forget(self, task_id: str) -> None:
        self._tracked.pop(task_id, None)

    def to_look(self, now_ms: int) -> list[str]:
        return [task_id for task_id, tracked in self._tracked.items() if tracked.look_at_ms <= now_ms]

    def next_look_ms(self) -> int | None:
        return min((tracked.look_at_ms for tracked in self._tracked.values()), default=None)

    def seen(self, task_id: str, state: str, now_ms: int) -> Step:
        """Decide what to do with a task whose state was looked up."""
        tracked = self._tracked.get(task_id)
        if tracked is None:
            return Step.WAIT
        if state in READY:
            return Step.READY
        if state != tracked.state:
            tracked.state, tracked.news_ms = state, now_ms
            tracked.sends = max(tracked.sends, 1)  # whoever sent it: it is under way
        if tracked.sends and now_ms - tracked.news_ms < tracked.patience_ms:
            tracked.look_at_ms = now_ms + _interval_ms(now_ms - tracked.news_ms)
            return Step.WAIT
        return Step.GIVE_UP if tracked.sends >= self._sends_max else Step.SEND

    def sent(self, task_ids: Iterable[str], now_ms: int) -> None:
        for task_id in task_ids:
            tracked = self._tracked.get(task_id)
            if tracked is not None:
                tracked.sends += 1
                tracked.news_ms = now_ms
                tracked.look_at_ms = now_ms + _LOOK_MIN_MS

    def later(self, task_ids: Iterable[str], at_ms: int) -> None:
        """Neither its result nor its queue could be reached."""
        for task_id in task_ids:
            if task_id in self._tracked:
                self._tracked[task_id].look_at_ms = at_ms


def _interval_ms(age_ms: int) -> int:
    return min(max(age_ms // _LOOK_PART, _LOOK_MIN_MS), _LOOK_MAX_MS)
