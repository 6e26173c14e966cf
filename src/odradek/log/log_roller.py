"""Starting a new segment at the end of a log.

A roll seals the active segment and takes a snapshot of the producers at the new segment's base offset, so that the
loader finds one for each segment. It also requests a flush: sealed segments become durable soon, and recovery stays
short.
"""

from __future__ import annotations

from odradek.log.log_flusher import LogFlusher
from odradek.log.log_health import LogHealth
from odradek.log.log_offsets import LogOffsets
from odradek.log.producers.producer_state import ProducerState
from odradek.log.segment_list import SegmentList
from odradek.log.segments.segment import Segment


class LogRoller:
    """Rolls the active segment of one log."""

    __slots__ = ("_flusher", "_health", "_offsets", "_producers", "_segments")

    def __init__(
        self,
        segments: SegmentList,
        offsets: LogOffsets,
        producers: ProducerState,
        flusher: LogFlusher,
        health: LogHealth,
    ) -> None:
        self._segments = segments
        self._offsets = offsets
        self._producers = producers
        self._flusher = flusher
        self._health = health

    def roll(self, expected_next_offset: int = 0) -> Segment:
        """Seal the active segment, and return a new one at the log end, or at `expected_next_offset` if it is later."""
        self._health.check_online()
        with self._health.guard():
            base_offset = max(expected_next_offset, self._offsets.log_end_offset)
            segment = self._segments.roll(base_offset)
            self._producers.update_map_end_offset(base_offset)
            self._flusher.take_producer_snapshot()
            self._flusher.request(base_offset)
            return segment
