"""Operations that wait for an event of a partition, or for their deadline.

An operation is watched under the keys (partitions) that can complete it, and has a deadline. While it waits it costs
nothing: it has no timer and is not polled. `check(key)` is called after an event of a partition and checks the
operations that watch it; `expire(now_ms)` is called at `deadline_ms` or later.

An operation's `check` returns whether it no longer needs a key; when it needs none it calls `complete` on itself, which
removes it from the purgatory. In an ordered purgatory the operations that watch a key become ready in the order of
their arrival (produce requests wait for ascending offsets), so the first that is not ready ends the search.

`Purgatories` are the three of a broker: for Produce, Fetch and DeleteRecords.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable
from itertools import islice
from typing import Any, Generic, TypeVar

from odradek.common.ids import TopicPartition

#: More than all connections can have in flight; beyond it an operation expires at once.
MAX_OPERATIONS = 1 << 20

#: Deadlines of completed operations that are tolerated in addition to as many as there are live ones.
_SPARE_DEADLINES = 64

#: Operations copied at once: usually few are ready, and copying all for each event would have quadratic cost.
_CHECK_BATCH = 16


class DelayedOperation:
    """An operation that is completed exactly once, by an event or by its deadline."""

    __slots__ = ("_keys", "_purgatory", "is_completed")

    def __init__(self) -> None:
        self.is_completed = False
        self._purgatory: Purgatory[DelayedOperation] | None = None
        self._keys: tuple[TopicPartition, ...] = ()

    def check(self, key: TopicPartition) -> bool:
        """Handle an event of `key`: complete if it was the last one needed. Return whether the key is not needed."""
        raise NotImplementedError

    def on_complete(self) -> None:
        """Send the response; called once."""
        raise NotImplementedError

    def on_expire(self) -> None:
        """Handle the deadline; `on_complete` follows."""

    def complete(self) -> None:
        if self.is_completed:
            return
        self.is_completed = True
        if self._purgatory is not None:
            self._purgatory.forget(self, self._keys)
        self.on_complete()

    def watched_by(self, purgatory: Purgatory[Any], keys: tuple[TopicPartition, ...]) -> None:
        """Note the purgatory that watches this operation, which forgets it on completion."""
        self._purgatory = purgatory
        self._keys = keys


Operation = TypeVar("Operation", bound=DelayedOperation)


class Purgatory(Generic[Operation]):
    __slots__ = ("_deadlines", "_live", "_max_operations", "_sequence", "is_ordered", "watched")

    def __init__(self, *, is_ordered: bool = False, max_operations: int = MAX_OPERATIONS) -> None:
        self.is_ordered = is_ordered
        #: Operations by key, in the order of arrival. Public to read, so that a hot path can skip keys without any.
        self.watched: dict[TopicPartition, dict[Operation, None]] = {}
        self._max_operations = max_operations
        self._deadlines: list[tuple[int, int, Operation]] = []
        self._live = 0
        self._sequence = 0

    def __len__(self) -> int:
        return self._live

    @property
    def deadline_ms(self) -> int | None:
        """Earliest deadline of a live operation."""
        deadlines = self._deadlines
        while deadlines and deadlines[0][2].is_completed:
            heapq.heappop(deadlines)
        return deadlines[0][0] if deadlines else None

    def watch(self, operation: Operation, keys: Iterable[TopicPartition], deadline_ms: int) -> None:
        """Watch the operation until an event of a key or the deadline completes it; a full purgatory expires it."""
        if self._live >= self._max_operations:
            operation.on_expire()
            operation.complete()
            return
        watched_keys = tuple(keys)
        operation.watched_by(self, watched_keys)
        self._live += 1
        self._sequence += 1
        heapq.heappush(self._deadlines, (deadline_ms, self._sequence, operation))
        watched = self.watched
        for key in watched_keys:
            watchers = watched.get(key)
            if watchers is None:
                watchers = watched[key] = {}
            watchers[operation] = None

    def check(self, key: TopicPartition) -> None:
        """Check the operations that watch the partition, after an event."""
        watchers = self.watched.get(key)
        if watchers is None:
            return
        if self.is_ordered:
            while self._check_first(key, watchers):
                pass
        else:
            for operation in list(watchers):
                if not operation.is_completed and operation.check(key):
                    watchers.pop(operation, None)
        if not watchers and self.watched.get(key) is watchers:
            del self.watched[key]

    def _check_first(self, key: TopicPartition, watchers: dict[Operation, None]) -> bool:
        """Check the next few in order; return whether more may be ready."""
        first = list(islice(watchers, _CHECK_BATCH))
        for operation in first:
            if not operation.is_completed and not operation.check(key):
                return False
            watchers.pop(operation, None)
        return bool(first)

    def expire(self, now_ms: int) -> int:
        """Complete the operations whose deadline has passed; return their count."""
        count = 0
        deadlines = self._deadlines
        while deadlines and deadlines[0][0] <= now_ms:
            operation = heapq.heappop(deadlines)[2]
            if not operation.is_completed:
                operation.on_expire()
                operation.complete()
                count += 1
        return count

    def forget(self, operation: Operation, keys: tuple[TopicPartition, ...]) -> None:
        """Remove a completed operation; called by `DelayedOperation.complete`."""
        self._live -= 1
        for key in keys:
            watchers = self.watched.get(key)
            if watchers is not None:
                watchers.pop(operation, None)
                if not watchers:
                    del self.watched[key]
        if len(self._deadlines) > 2 * self._live + _SPARE_DEADLINES:
            self._deadlines = [deadline for deadline in self._deadlines if not deadline[2].is_completed]
            heapq.heapify(self._deadlines)


class Purgatories:
    __slots__ = ("delete_records", "fetch", "produce")

    def __init__(self) -> None:
        self.produce: Purgatory[DelayedOperation] = Purgatory(is_ordered=True)
        self.fetch: Purgatory[DelayedOperation] = Purgatory()
        self.delete_records: Purgatory[DelayedOperation] = Purgatory()

    def check_waiting(self, tp: TopicPartition) -> None:
        """Check all operations that wait for the partition: its high watermark advanced, or its role changed."""
        self.produce.check(tp)
        self.fetch.check(tp)
        self.delete_records.check(tp)

    @property
    def deadline_ms(self) -> int | None:
        """Earliest deadline of all operations."""
        deadlines = (self.produce.deadline_ms, self.fetch.deadline_ms, self.delete_records.deadline_ms)
        return min((deadline_ms for deadline_ms in deadlines if deadline_ms is not None), default=None)

    def expire(self, now_ms: int) -> None:
        """Complete the operations whose deadline has passed."""
        self.produce.expire(now_ms)
        self.fetch.expire(now_ms)
        self.delete_records.expire(now_ms)
