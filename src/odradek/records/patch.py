"""What a leader or the cleaner changes in a batch of magic 2 in place, on a writable buffer.

Offsets and the leader epoch lie outside of the CRC. The rest lies inside: those functions write the CRC anew, so the
batch must have been checked before.
"""

import struct

from odradek.records.batch import LEADER_EPOCH_AT
from odradek.records.record import TimestampType

WritableBuffer = bytearray | memoryview

_BASE_OFFSET = struct.Struct(">q")
_LEADER_EPOCH = struct.Struct(">i")

_pack_base_offset = _BASE_OFFSET.pack_into
_pack_leader_epoch = _LEADER_EPOCH.pack_into


def assign(buffer: WritableBuffer, position: int, base_offset: int, leader_epoch: int) -> None:
    """The leader's decision where a batch stands in the log; the CRC does not cover it."""
    _pack_base_offset(buffer, position, base_offset)
    _pack_leader_epoch(buffer, position + LEADER_EPOCH_AT, leader_epoch)


def set_max_timestamp(
    buffer: WritableBuffer, position: int, timestamp_type: TimestampType, max_timestamp: int
) -> None:
    """Nothing is written, and no CRC computed, if it is so already."""
    raise NotImplementedError


def set_append_time(buffer: WritableBuffer, position: int, append_time_ms: int) -> None:
    """All records of the batch get the time of the leader's clock."""
    set_max_timestamp(buffer, position, TimestampType.LOG_APPEND_TIME, append_time_ms)


def set_delete_horizon(buffer: WritableBuffer, position: int, horizon_ms: int) -> None:
    """In place only where no record's time is counted from the base timestamp: an empty batch, or append time.

    Other batches are written anew with `builder.retained_batch(..., delete_horizon_ms=...)`."""
    raise NotImplementedError
