"""The offsets of one log and the rules by which they move.

    log_start_offset <= last_stable_offset <= high_watermark <= log_end_offset

The recovery point is the offset below which the log is durable. Records at or above it are checked after a crash and
cut where they are torn; records below it are taken to be sound, and damage there is a fault (`CorruptLog`), never a
reason to cut.

Leader epochs and producers depend on two of the offsets and are updated with them: transactions whose marker is below
the high watermark are decided, and epochs and transactions below the log start are dropped.
"""

from __future__ import annotations

from odradek.common.failures import fail
from odradek.log.errors import OffsetOutOfRange
from odradek.log.leader_epochs import LeaderEpochs
from odradek.log.log_health import LogHealth
from odradek.log.offsets import OffsetMetadata
from odradek.log.producers.producer_state import ProducerState


class LogOffsets:
    """The four offsets of a log, and the file position of the high watermark while it is known."""

    __slots__ = (
        "_epochs",
        "_health",
        "_producers",
        "high_watermark",
        "high_watermark_position",
        "log_end_offset",
        "log_start_offset",
        "recovery_point",
    )

    def __init__(
        self,
        log_start_offset: int,
        log_end_offset: int,
        recovery_point: int,
        epochs: LeaderEpochs,
        producers: ProducerState,
        health: LogHealth,
    ) -> None:
        self._epochs = epochs
        self._producers = producers
        self._health = health
        self.log_start_offset = log_start_offset
        self.log_end_offset = log_end_offset
        self.recovery_point = recovery_point
        self.high_watermark = log_start_offset
        #: May be of an earlier high watermark or have no position: `LogReader.high_watermark_position` looks it up.
        self.high_watermark_position = OffsetMetadata(log_start_offset)

    def __repr__(self) -> str:
        return f"{self.log_start_offset} <= {self.last_stable_offset} <= {self.high_watermark} <= {self.log_end_offset}"

    @property
    def is_empty(self) -> bool:
        return self.log_start_offset == self.log_end_offset

    @property
    def first_unstable_offset(self) -> int | None:
        """Start of the earliest transaction that is still undecided."""
        unstable = self._producers.first_unstable_offset()
        return None if unstable is None else max(unstable.message_offset, self.log_start_offset)

    @property
    def last_stable_offset(self) -> int:
        """Offset up to which every transaction is decided."""
        unstable = self.first_unstable_offset
        return self.high_watermark if unstable is None else min(unstable, self.high_watermark)

    def advance_end(self, offset: int) -> None:
        """Move the log end forward after an append."""
        self.log_end_offset = offset

    def cut_end(self, offset: int) -> None:
        """Move the log end back after a truncation.

        The high watermark follows by `set_high_watermark`, once the producers match the truncated log."""
        self.restart_at(offset, min(self.log_start_offset, offset))

    def restart_at(self, offset: int, log_start_offset: int) -> None:
        """Set log end and log start of a log whose records were dropped, with the same obligation as `cut_end`."""
        self.log_end_offset = offset
        self.log_start_offset = log_start_offset
        self.recovery_point = min(self.recovery_point, offset)
        self.forget_positions()

    def set_high_watermark(self, offset: int) -> int:
        """Set the high watermark, limited to the range from log start to log end, and return it.

        Followers and truncations use it, so it may also move back."""
        offset = min(max(offset, self.log_start_offset), self.log_end_offset)
        self.high_watermark = offset
        self._producers.on_high_watermark_updated(offset)
        return offset

    def raise_high_watermark(self, position: int | OffsetMetadata) -> bool:
        """Move the high watermark forward if `position` is beyond it, and return whether it moved.

        Leaders use it. The file position of an `OffsetMetadata` need not be looked up again."""
        offset = position if isinstance(position, int) else position.message_offset
        if offset <= self.high_watermark:
            return False
        if offset > self.log_end_offset:
            fail(f"high watermark {offset} is beyond the end {self.log_end_offset}")
        self.high_watermark = offset
        if not isinstance(position, int):
            self.high_watermark_position = position
        self._producers.on_high_watermark_updated(offset)
        return True

    def raise_start(self, offset: int) -> bool:
        """Stop serving records below `offset`, and return whether the log start moved.

        The next retention run deletes segments that are entirely below it."""
        health = self._health
        health.check_online()
        if offset > self.high_watermark:
            raise OffsetOutOfRange(
                f"Cannot increment the log start offset to {offset} of partition {health.topic_partition} since it is "
                f"larger than the high watermark {self.high_watermark}"
            )
        if offset <= self.log_start_offset:
            return False
        self.log_start_offset = offset
        with health.guard():
            self._epochs.truncate_from_start(offset)
            self._epochs.flush()
        self._producers.on_log_start_offset_incremented(offset)
        return True

    def set_recovery_point(self, offset: int) -> None:
        """Note that everything below `offset` is durable."""
        self.recovery_point = offset

    def remember_position(self, position: OffsetMetadata) -> None:
        """Keep the file position of the high watermark."""
        self.high_watermark_position = position

    def forget_positions(self) -> None:
        """Drop the remembered file position, because files were cut or replaced."""
        self.high_watermark_position = OffsetMetadata(self.high_watermark)
