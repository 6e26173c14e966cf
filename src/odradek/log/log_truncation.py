"""Removing records from the end: for a follower that is ahead of its leader, or a log that restarts at another offset.

Truncation goes by offsets, but a file is cut at a batch: the batch that holds the offset is removed with it. Epochs and
producers follow: epochs are cut at the same offset, producers are loaded again from a snapshot below it and the
records in between.
"""

from __future__ import annotations

from odradek.common.failures import check
from odradek.common.ports import Clock
from odradek.log.leader_epochs import LeaderEpochs
from odradek.log.log_health import LogHealth
from odradek.log.log_offsets import LogOffsets
from odradek.log.producers.producer_state import ProducerState
from odradek.log.recovery.producer_rebuild import rebuild_producers
from odradek.log.segment_list import SegmentList


class LogTruncation:
    """Truncates one log."""

    __slots__ = ("_clock", "_epochs", "_health", "_offsets", "_producers", "_segments")

    def __init__(
        self,
        clock: Clock,
        segments: SegmentList,
        offsets: LogOffsets,
        epochs: LeaderEpochs,
        producers: ProducerState,
        health: LogHealth,
    ) -> None:
        self._clock = clock
        self._segments = segments
        self._offsets = offsets
        self._epochs = epochs
        self._producers = producers
        self._health = health

    def truncate_to(self, offset: int) -> bool:
        """Remove every record at `offset` or above, and return whether there was one."""
        self._health.check_online()
        with self._health.guard():
            return self._truncate_to(offset)

    def restart_at(self, offset: int, log_start_offset: int | None = None) -> None:
        """Remove all records and continue at `offset`, which is also the log start unless another is given."""
        self._health.check_online()
        with self._health.guard():
            self._restart_at(offset, offset if log_start_offset is None else log_start_offset)

    def _truncate_to(self, offset: int) -> bool:
        check(offset >= 0, f"{self._health.topic_partition}: cannot truncate to the negative offset {offset}")
        log_end_offset = self._offsets.log_end_offset
        if offset >= log_end_offset:
            # The epoch of a leader that never wrote may start beyond the end.
            self._epochs.truncate_from_end(log_end_offset)
            self._epochs.flush()
            return False
        if self._segments.first.base_offset > offset:
            self._restart_at(offset, offset)
            return True
        self._segments.delete(self._segments.above(offset))
        self._segments.active.truncate_to(offset, self._clock.wall_ms())
        self._offsets.cut_end(offset)
        self._epochs.truncate_from_end(offset)
        self._epochs.flush()
        self._rebuild_producers()
        if self._offsets.high_watermark >= offset:
            self._offsets.set_high_watermark(offset)
        return True

    def _restart_at(self, offset: int, log_start_offset: int) -> None:
        self._segments.restart_at(offset)
        self._offsets.restart_at(offset, log_start_offset)
        self._epochs.clear_and_flush()
        self._producers.truncate_fully_and_start_at(offset)
        self._rebuild_producers()
        self._offsets.set_high_watermark(offset)

    def _rebuild_producers(self) -> None:
        offsets = self._offsets
        rebuild_producers(
            self._producers,
            self._segments,
            offsets.log_start_offset,
            offsets.log_end_offset,
            self._clock.wall_ms(),
        )
