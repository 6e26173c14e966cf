"""One shard on this node: its state, its timers, and those who wait for its log.

    LOADING ──► ACTIVE ──► (dropped)
       └──────► FAILED ──► (dropped, or loaded again in a later epoch)

What is loaded is active once it is committed. A shard that is dropped takes its timers with it and fails those who
wait.
"""

import logging
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Any, Generic, TypeVar

from odradek.common.failures import ApiError
from odradek.common.ports import Clock
from odradek.coordinator.runtime.deadlines import Deadline, Deadlines
from odradek.coordinator.runtime.errors import CoordinatorNotAvailable, NotCoordinator
from odradek.coordinator.runtime.loading import Loader
from odradek.coordinator.runtime.reply import Reply
from odradek.coordinator.runtime.shard import Decision, Operation, Shard

logger = logging.getLogger("odradek.coordinator")

AnyShard = TypeVar("AnyShard", bound=Shard)

#: When the operation of a timer is tried again that failed (the log may be writable by then): Kafka's figure.
RETRY_TIMER_MS = 500


class ShardState(Enum):
    LOADING = "loading"
    ACTIVE = "active"
    FAILED = "failed"


class ShardTimers:
    """The `Timers` of one shard. `run` is how an operation is run and its records are written."""

    def __init__(self, clock: Clock, deadlines: Deadlines, run: Callable[[Operation[None]], Reply[None]]) -> None:
        self._clock = clock
        self._deadlines = deadlines
        self._run = run
        self._by_name: dict[str, Deadline] = {}
        self._is_closed = False

    def __len__(self) -> int:
        return len(self._by_name)

    def schedule(self, name: str, delay_ms: int, operation: Operation[None]) -> None:
        if self._is_closed:
            return
        self.cancel(name)
        at_ms = self._clock.monotonic_ms() + delay_ms
        self._by_name[name] = self._deadlines.add(at_ms, lambda: self._fire(name, operation))

    def cancel(self, name: str) -> None:
        deadline = self._by_name.pop(name, None)
        if deadline is not None:
            self._deadlines.cancel(deadline)

    def is_scheduled(self, name: str) -> bool:
        return name in self._by_name

    def close(self) -> None:
        self._is_closed = True
        for deadline in self._by_name.values():
            self._deadlines.cancel(deadline)
        self._by_name.clear()

    def _fire(self, name: str, operation: Operation[None]) -> None:
        del self._by_name[name]
        self._run(operation).then(lambda reply: self._fired(name, operation, reply.error))

    def _fired(self, name: str, operation: Operation[None], error: ApiError | None) -> None:
        if error is None or self._is_closed:
            return
        if name in self._by_name:
            logger.info("timer %s failed: %s", name, error)
            return
        logger.info("timer %s failed and is tried again in %d ms: %s", name, RETRY_TIMER_MS, error)
        self.schedule(name, RETRY_TIMER_MS, operation)


@dataclass(slots=True)
class Parked:
    """Waits for the high watermark to reach `offset`. Who asked may give up before."""

    offset: int
    decision: Decision[Any]
    reply: Reply[Any]
    #: When who asked gives up.
    deadline: Deadline | None = None

    def expire(self) -> None:
        self.reply.fail(CoordinatorNotAvailable(f"offset {self.offset} was not committed in time"))


def finish(decision: Decision[Any], reply: Reply[Any], error: ApiError | None) -> None:
    """The fate of a decision is known."""
    if decision.on_done is not None:
        decision.on_done(error)
    if reply.is_done:
        return
    if error is None:
        reply.complete(decision.answer)
    else:
        reply.fail(error)


class HostedShard(Generic[AnyShard]):
    def __init__(self, name: str, epoch: int, shard: AnyShard, timers: ShardTimers, deadlines: Deadlines) -> None:
        #: Of the partition, for log lines.
        self.name = name
        self.epoch = epoch
        self.shard = shard
        self.timers = timers
        self.state = ShardState.LOADING
        self.loader: Loader | None = None
        #: After the last record that was loaded or appended.
        self.end_offset = 0
        self._deadlines = deadlines
        #: By ascending offset.
        self._parked: deque[Parked] = deque()

    @property
    def awaited_offset(self) -> int | None:
        """Lowest offset that is waited for; the shard itself waits until it is active."""
        if self.state == ShardState.LOADING:
            return self.end_offset if self.loader is None else None
        return self._parked[0].offset if self._parked else None

    @property
    def parked_count(self) -> int:
        return len(self._parked)

    def finish_loading(self) -> None:
        """All is replayed up to `end_offset`."""
        loader, self.loader = self.loader, None
        assert loader is not None
        logger.info(
            "%s: loaded at epoch %d, %d records in %d bytes up to offset %d",
            *(self.name, self.epoch, loader.record_count, loader.size_bytes, self.end_offset),
        )

    def activate(self) -> None:
        self.state = ShardState.ACTIVE
        self.shard.on_loaded()

    def park(self, parked: Parked, expires_ms: int) -> None:
        parked.deadline = self._deadlines.add(expires_ms, parked.expire)
        self._parked.append(parked)

    def committed(self, high_watermark: int) -> None:
        if self.state == ShardState.LOADING and high_watermark >= self.end_offset:
            self.activate()
        while self._parked and self._parked[0].offset <= high_watermark:
            self._release(None)

    def drop(self, reason: str) -> None:
        """Not to be used any more."""
        self.state = ShardState.FAILED
        self.loader = None
        self.timers.close()
        error = NotCoordinator(reason)
        while self._parked:
            self._release(error)
        self.shard.on_unloaded()

    def _release(self, error: ApiError | None) -> None:
        parked = self._parked.popleft()
        if parked.deadline is not None:
            self._deadlines.cancel(parked.deadline)
        finish(parked.decision, parked.reply, error)
