"""Committable offset of a partition: that of the lowest unfinished message. Pure.

Messages finish in any order. What is finished above one that is not would be read again after a crash; a `Done` store
is there for those for whom that is too much.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection

from odradek.common.failures import check


class Progress:
    """Progress of one partition while it is assigned."""

    def __init__(self) -> None:
        #: In hand, ascending, from the lowest one that is not finished.
        self._offsets: deque[int] = deque()
        self._unfinished: set[int] = set()
        self._next_offset: int | None = None
        self._committed: int | None = None

    @property
    def unfinished(self) -> int:
        return len(self._unfinished)

    @property
    def lowest_unfinished(self) -> int | None:
        return self._offsets[0] if self._offsets else None

    @property
    def committable(self) -> int | None:
        """Offset of a commit made now. None if there is nothing new."""
        return None if self._next_offset == self._committed else self._next_offset

    def begin(self, offset: int) -> None:
        self._offsets.append(offset)
        self._unfinished.add(offset)

    def finish(self, offset: int) -> None:
        check(offset in self._unfinished, f"offset {offset} is not in hand")
        self._unfinished.remove(offset)
        while self._offsets and self._offsets[0] not in self._unfinished:
            self._next_offset = self._offsets.popleft() + 1

    def committable_with(self, finished: Collection[int]) -> int | None:
        """Return the offset of a commit once these are finished, too. None if there is nothing new."""
        next_offset = self._next_offset
        for offset in self._offsets:
            if offset in self._unfinished and offset not in finished:
                break
            next_offset = offset + 1
        return None if next_offset == self._committed else next_offset

    def committed(self, next_offset: int) -> None:
        self._committed = next_offset
