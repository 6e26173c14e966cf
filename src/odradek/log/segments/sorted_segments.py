"""The segments of one log in the order of their base offsets."""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterable, Iterator

from odradek.common.failures import check
from odradek.log.segments.segment import Segment


class SortedSegments:
    """A sorted list of base offsets beside a dictionary: every look-up is a bisection."""

    __slots__ = ("_by_offset", "_offsets", "_with_aborted", "active")

    def __init__(self, segments: Iterable[Segment] = ()) -> None:
        self._offsets: list[int] = []
        self._by_offset: dict[int, Segment] = {}
        # Base offsets of the sealed segments in which aborted transactions end; None until the first look-up.
        self._with_aborted: list[int] | None = None
        #: The last segment, the only one that is written to. Unset while there are no segments.
        self.active: Segment
        for segment in segments:
            self.add(segment)

    def __len__(self) -> int:
        return len(self._offsets)

    def __iter__(self) -> Iterator[Segment]:
        """Iterate in order, over a copy, so that a caller may remove segments meanwhile."""
        return iter([self._by_offset[offset] for offset in self._offsets])

    def __contains__(self, base_offset: int) -> bool:
        return base_offset in self._by_offset

    @property
    def base_offsets(self) -> list[int]:
        return list(self._offsets)

    @property
    def first(self) -> Segment:
        return self._by_offset[self._offsets[0]]

    @property
    def size_bytes(self) -> int:
        return sum(segment.size for segment in self._by_offset.values())

    def get(self, base_offset: int) -> Segment | None:
        return self._by_offset.get(base_offset)

    def add(self, segment: Segment) -> None:
        """Add a segment, in place of one with the same base offset."""
        if segment.base_offset not in self._by_offset:
            insort(self._offsets, segment.base_offset)
        self._by_offset[segment.base_offset] = segment
        self._with_aborted = None
        self.active = self._by_offset[self._offsets[-1]]

    def remove(self, base_offset: int) -> Segment:
        """Take a segment out of the list and return it."""
        segment = self._by_offset.pop(base_offset, None)
        check(segment is not None, f"there is no segment with base offset {base_offset}")
        assert segment is not None
        del self._offsets[bisect_left(self._offsets, base_offset)]
        self._with_aborted = None
        if self._offsets:
            self.active = self._by_offset[self._offsets[-1]]
        return segment

    def floor(self, offset: int) -> Segment | None:
        """Return the segment with the largest base offset that is not above `offset`."""
        active = self.active
        if offset >= active.base_offset:
            return active
        index = bisect_right(self._offsets, offset)
        return self._by_offset[self._offsets[index - 1]] if index else None

    def higher(self, base_offset: int) -> Segment | None:
        """Return the segment after `base_offset`."""
        index = bisect_right(self._offsets, base_offset)
        return self._by_offset[self._offsets[index]] if index < len(self._offsets) else None

    def lower(self, base_offset: int) -> Segment | None:
        """Return the last segment before `base_offset`."""
        index = bisect_left(self._offsets, base_offset)
        return self._by_offset[self._offsets[index - 1]] if index else None

    def above(self, base_offset: int) -> list[Segment]:
        """Return the segments with a larger base offset."""
        return [self._by_offset[offset] for offset in self._offsets[bisect_right(self._offsets, base_offset) :]]

    def with_aborted_above(self, base_offset: int) -> list[Segment]:
        """Return the segments with a larger base offset in which aborted transactions end.

        The list is cached, as a fetch at the start of a long log would otherwise check every segment. A sealed segment
        keeps its transaction index until it is removed or replaced."""
        if self._with_aborted is None:
            self._with_aborted = [
                offset for offset in self._offsets[:-1] if not self._by_offset[offset].txn_index.is_empty
            ]
        offsets = self._with_aborted[bisect_right(self._with_aborted, base_offset) :]
        if self.active.base_offset > base_offset and not self.active.txn_index.is_empty:
            offsets.append(self.active.base_offset)
        return [self._by_offset[offset] for offset in offsets]

    def between(self, start: int, end: int) -> list[Segment]:
        """Return the segments that may hold an offset in [start, end), which includes one that begins below `start`."""
        first = max(0, bisect_right(self._offsets, start) - 1)
        return [self._by_offset[offset] for offset in self._offsets[first : bisect_left(self._offsets, end)]]
