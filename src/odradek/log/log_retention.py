"""Deleting the old segments of a log.

Segments are deleted from the oldest on, and only while all their records are below the high watermark: what is not
replicated yet is never deleted. There are three reasons: their records are below the log start (DeleteRecords), the log
is larger than `retention.bytes` even without them, or their newest record is older than `retention.ms`. A compacted log
without `delete` only knows the first. If all segments are deleted, a new empty one replaces them at the log end.
"""

from __future__ import annotations

from collections.abc import Callable

from odradek.common.ports import Clock
from odradek.log.log_config import CurrentConfig
from odradek.log.log_health import LogHealth
from odradek.log.log_offsets import LogOffsets
from odradek.log.log_roller import LogRoller
from odradek.log.segment_list import SegmentList
from odradek.log.segments.segment import Segment

#: Decides about a segment, given the segment after it, if there is one.
Condition = Callable[[Segment, Segment | None], bool]


class LogRetention:
    """Deletes the segments of one log that its configuration no longer retains."""

    __slots__ = ("_clock", "_config", "_health", "_offsets", "_roller", "_segments")

    def __init__(
        self,
        clock: Clock,
        config: CurrentConfig,
        segments: SegmentList,
        offsets: LogOffsets,
        roller: LogRoller,
        health: LogHealth,
    ) -> None:
        self._clock = clock
        self._config = config
        self._segments = segments
        self._offsets = offsets
        self._roller = roller
        self._health = health

    def delete_old_segments(self) -> int:
        """Delete all segments that may be deleted, and return their number."""
        self._health.check_online()
        with self._health.guard():
            deleted = self._delete_below_log_start()
            if self._config.value.delete:
                deleted += self._delete_by_size()
                deleted += self._delete_by_time()
            return deleted

    def _delete_below_log_start(self) -> int:
        offsets = self._offsets
        return self._delete_while(
            lambda _, following: following is not None and following.base_offset <= offsets.log_start_offset
        )

    def _delete_by_size(self) -> int:
        limit = self._config.value.retention_bytes
        total = self._segments.size_bytes
        if limit < 0 or total < limit:
            return 0
        excess = total - limit

        def is_excess(segment: Segment, _following: Segment | None) -> bool:
            nonlocal excess
            if segment.size > excess:
                return False
            excess -= segment.size
            return True

        return self._delete_while(is_excess)

    def _delete_by_time(self) -> int:
        limit_ms = self._config.value.retention_ms
        if limit_ms < 0:
            return 0
        now_ms = self._clock.wall_ms()
        return self._delete_while(lambda segment, _: now_ms - segment.largest_timestamp() > limit_ms)

    def _delete_while(self, condition: Condition) -> int:
        deletable = self._deletable_segments(condition)
        if not deletable:
            return 0
        if len(deletable) == len(self._segments):
            self._roller.roll()
        following = self._segments.higher(deletable[-1].base_offset)
        assert following is not None
        self._offsets.raise_start(following.base_offset)
        self._segments.delete(deletable)
        return len(deletable)

    def _deletable_segments(self, condition: Condition) -> list[Segment]:
        """Return segments from the oldest on, while the condition holds and all their records are replicated."""
        deletable = []
        segments = list(self._segments)
        offsets = self._offsets
        for segment, following in zip(segments, [*segments[1:], None], strict=True):
            upper_bound = following.base_offset if following is not None else offsets.log_end_offset
            if upper_bound > offsets.high_watermark or (following is None and segment.size == 0):
                break
            if not condition(segment, following):
                break
            deletable.append(segment)
        return deletable
