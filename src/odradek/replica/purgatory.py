"""Operations that wait for something to happen to a partition, or for their time to be over.

An operation is watched under the keys (partitions) that can complete it, and has a deadline. While it waits it costs
nothing: no timer runs for it, nobody looks at it. `check(key)` is called when something happened to a partition and
asks the operations that watch it; `expire(now_ms)` is called at `deadline_ms` or later.

An operation says with `check` whether it is done with a key; when it is done with all that it needs it calls
`complete` on itself, which takes it out of the purgatory. In an ordered purgatory those that watch a key become ready
in the order in which they came (produce requests wait for ascending offsets), so the first that is not ready ends
the search.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable
from itertools import islice
from typing import Generic, TypeVar

from odradek.common.ids import TopicPartition

#: More than any number of connections with all their requests in flight; beyond it an operation expires at once.
MAX_OPERATIONS = 1 << 20

#: Dead deadlines that are tolerated besides as many as there are live ones.
_SPARE_DEADLINES = 64

#: Usually few are ready at once, and copying all that wait for each event would cost the square of their number.
_CHECKED_AT_ONCE = 16


class DelayedOperation:
    """Subclasses say what they wait for. Completed exactly once, by an event or by its deadline."""

    __slots__ = ("_keys", "_purgatory", "is_completed")

    def __init__(self) -> None:
        self.is_completed = False
        self._purgatory: Purgatory[DelayedOperation] | None = None
        self._keys: tuple[TopicPartition, ...] = ()

    def check(self, key: TopicPartition) -> bool:
        """Something happened to `key`: complete if that was all; True if the key needs no watching any more."""
        raise NotImplementedError

    def on_complete(self) -> None:
        """Answer; called once."""
        raise NotImplementedError

    def on_expire(self) -> None:
        """The deadline has passed; `on_complete` follows."""

    def complete(self) -> None:
        if self.is_completed:
            return
        self.is_completed = True
        if self._purgatory is not None:
            self._purgatory.forget(self)
        self.on_complete()


Operation = TypeVar("Operation", bound=DelayedOperation)


class Purgatory(Generic[Operation]):
    __slots__ = ("_deadlines", "_live", "_max_operations", "_sequence", "is_ordered", "watched")

    def __init__(self, *, is_ordered: bool = False, max_operations: int = MAX_OPERATIONS) -> None:
        self.is_ordered = is_ordered
        #: By key, in the order of their coming. Public so that a hot path can see with one look that nobody waits.
        self.watched: dict[TopicPartition, dict[Operation, None]] = {}
        self._max_operations = max_operations
        self._deadlines: list[tuple[int, int, Operation]] = []
        self._live = 0
        self._sequence = 0

    def __len__(self) -> int:
        return self._live

    @property
    def deadline_ms(self) -> int | None:
        """When `expire` is next worth calling."""
        deadlines = self._deadlines
        while deadlines and deadlines[0][2].is_completed:
            heapq.heappop(deadlines)
        return deadlines[0][0] if deadlines else None

    def watch(self, operation: Operation, keys: Iterable[TopicPartition], deadline_ms: int) -> None:
        """Until one of the keys completes it, or the deadline. A full purgatory lets it expire at once."""
        if self._live >= self._max_operations:
            operation.on_expire()
            operation.complete()
            return
        operation._keys = tuple(keys)
        operation._purgatory = self  # type: ignore[assignment]
        self._live += 1
        self._sequence += 1
        heapq.heappush(self._deadlines, (deadline_ms, self._sequence, operation))
        watched = self.watched
        for key in operation._keys:
            watchers = watched.get(key)
            if watchers is None:
                watchers = watched[key] = {}
            watchers[operation] = None

    def check(self, key: TopicPartition) -> None:
        """Something happened to the partition."""
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
        """The next few in their order; whether there may be more that are ready."""
        first = list(islice(watchers, _CHECKED_AT_ONCE))
        for operation in first:
            if not operation.is_completed and not operation.check(key):
                return False
            watchers.pop(operation, None)
        return bool(first)

    def expire(self, now_ms: int) -> int:
        """Complete those whose time is over; how many."""
        count = 0
        deadlines = self._deadlines
        while deadlines and deadlines[0][0] <= now_ms:
            operation = heapq.heappop(deadlines)[2]
            if not operation.is_completed:
                operation.on_expire()
                operation.complete()
                count += 1
        return count

    def forget(self, operation: Operation) -> None:
        """For `DelayedOperation.complete`."""
        self._live -= 1
        for key in operation._keys:
            watchers = self.watched.get(key)
            if watchers is not None:
                watchers.pop(operation, None)
                if not watchers:
                    del self.watched[key]
        if len(self._deadlines) > 2 * self._live + _SPARE_DEADLINES:
            self._deadlines = [entry for entry in self._deadlines if not entry[2].is_completed]
            heapq.heapify(self._deadlines)
