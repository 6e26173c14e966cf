"""Accumulator of batches before the leader appends them: records are collected for a moment (`append_linger_ms`) and
become few large batches.

The records of one call stay in one batch, so they are in the log together or not at all. Offsets are given out at
once: the caller knows where its records will be, should they be committed in this epoch.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from odradek.common.failures import ApiError, check
from odradek.protocol.error_codes import ErrorCode
from odradek.protocol.message import Message
from odradek.raft.storage.control_records import build_control_batch
from odradek.raft.values import NEVER_MS
from odradek.records.batch import HEADER_BYTES
from odradek.records.builder import BatchBuilder

#: More than a record needs besides its value: length, attributes, two deltas, key and value lengths, header count.
_RECORD_OVERHEAD_BYTES = 32


class BatchTooLarge(ApiError):
    code = ErrorCode.RECORD_LIST_TOO_LARGE


class TooManyWaiting(ApiError):
    """The disk is too slow; a later attempt may succeed."""

    code = ErrorCode.REQUEST_TIMED_OUT


@dataclass(frozen=True, slots=True)
class PendingBatch:
    base_offset: int
    last_offset: int
    data: bytes
    append_time_ms: int
    values: tuple[bytes, ...] = ()
    objects: tuple[object, ...] | None = None
    is_control: bool = False


class Accumulator:
    """Accumulator of one leader in one epoch."""

    def __init__(
        self, epoch: int, base_offset: int, *, linger_ms: int, max_batch_bytes: int, max_waiting_batches: int
    ) -> None:
        self.epoch = epoch
        self.next_offset = base_offset
        self._linger_ms = linger_ms
        self._max_batch_bytes = max_batch_bytes
        self._max_waiting = max_waiting_batches
        self._completed: list[PendingBatch] = []
        self._values: list[bytes] = []
        self._objects: list[object] = []
        self._size_bytes = HEADER_BYTES
        self._wall_ms = 0
        #: When to drain.
        self.deadline_ms = NEVER_MS

    def append(self, values: Sequence[bytes], objects: Sequence[object] | None, now_ms: int, wall_ms: int) -> int:
        """Append records, and return the offset of the last one."""
        check(len(values) > 0, "an append has at least one record")
        check(objects is None or len(objects) == len(values), "there is one object for each value, or none at all")
        needed = sum(map(len, values)) + _RECORD_OVERHEAD_BYTES * len(values)
        if HEADER_BYTES + needed > self._max_batch_bytes:
            raise BatchTooLarge(f"{len(values)} records of {needed} bytes: a batch has at most {self._max_batch_bytes}")
        if len(self._completed) >= self._max_waiting:
            raise TooManyWaiting(f"{len(self._completed)} batches wait to be written")
        if self._size_bytes + needed > self._max_batch_bytes:
            self._complete()
        if not self._values:
            self._wall_ms = wall_ms
        self._values += values
        self._objects += values if objects is None else objects
        self._size_bytes += needed
        self.next_offset += len(values)
        self.deadline_ms = min(self.deadline_ms, now_ms + self._linger_ms)
        return self.next_offset - 1

    def append_control(self, messages: Sequence[Message], now_ms: int, wall_ms: int) -> int:
        """Append control records. They do not linger, nor do records before them."""
        self._complete()
        data = build_control_batch(messages, self.next_offset, self.epoch, wall_ms)
        last_offset = self.next_offset + len(messages) - 1
        self._completed.append(PendingBatch(self.next_offset, last_offset, data, wall_ms, is_control=True))
        self.next_offset = last_offset + 1
        self.deadline_ms = now_ms
        return last_offset

    def drain(self) -> list[PendingBatch]:
        self._complete()
        drained, self._completed = self._completed, []
        self.deadline_ms = NEVER_MS
        return drained

    def take_completed(self) -> list[PendingBatch]:
        """Take the completed batches only."""
        taken, self._completed = self._completed, []
        return taken

    def _complete(self) -> None:
        if not self._values:
            return
        base_offset = self.next_offset - len(self._values)
        builder = BatchBuilder(base_offset=base_offset, leader_epoch=self.epoch)
        for value in self._values:
            builder.append(self._wall_ms, None, value)
        self._completed.append(
            PendingBatch(
                base_offset,
                self.next_offset - 1,
                builder.build(),
                self._wall_ms,
                tuple(self._values),
                tuple(self._objects),
            )
        )
        self._values, self._objects, self._size_bytes = [], [], HEADER_BYTES
