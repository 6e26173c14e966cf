"""Changes that a leader or the cleaner makes in place to a batch of magic 2 in a writable buffer.

Offsets and the leader epoch lie outside of the CRC. The rest lies inside: those functions write the CRC anew, so the
batch must have been checked before.
"""

import struct

from odradek.common.failures import check
from odradek.records.batch import (
    APPEND_TIME_BIT,
    ATTRIBUTES_AT,
    BASE_TIMESTAMP_AT,
    CRC_AT,
    DELETE_HORIZON_BIT,
    LEADER_EPOCH_AT,
    MAGIC_V2,
    MAX_TIMESTAMP_AT,
    Batch,
    read_batch,
)
from odradek.records.crc import crc32c
from odradek.records.record import TimestampType

WritableBuffer = bytearray | memoryview

_SHORT = struct.Struct(">h")
_LONG = struct.Struct(">q")

_pack_int = struct.Struct(">i").pack_into
_pack_long = _LONG.pack_into


def assign(buffer: WritableBuffer, position: int, base_offset: int, leader_epoch: int) -> None:
    """The leader's decision where a batch stands in the log; the CRC does not cover it."""
    _pack_long(buffer, position, base_offset)
    _pack_int(buffer, position + LEADER_EPOCH_AT, leader_epoch)


def set_max_timestamp(buffer: WritableBuffer, position: int, timestamp_type: TimestampType, max_timestamp: int) -> None:
    """Nothing is written, and no CRC computed, if it is so already."""
    batch = _batch_at(buffer, position)
    if batch.timestamp_type == timestamp_type and batch.max_timestamp == max_timestamp:
        return
    attributes = batch.attributes & ~APPEND_TIME_BIT
    if timestamp_type == TimestampType.LOG_APPEND_TIME:
        attributes |= APPEND_TIME_BIT
    _SHORT.pack_into(buffer, position + ATTRIBUTES_AT, attributes)
    _LONG.pack_into(buffer, position + MAX_TIMESTAMP_AT, max_timestamp)
    _renew_crc(buffer, position, batch)


def set_append_time(buffer: WritableBuffer, position: int, append_time_ms: int) -> None:
    """All records of the batch get the time of the leader's clock."""
    set_max_timestamp(buffer, position, TimestampType.LOG_APPEND_TIME, append_time_ms)


def set_delete_horizon(buffer: WritableBuffer, position: int, horizon_ms: int) -> None:
    """In place only where no record's time is counted from the base timestamp: an empty batch, or append time.

    Other batches are written anew with `builder.retained_batch(..., delete_horizon_ms=...)`."""
    batch = _batch_at(buffer, position)
    check(
        batch.count == 0 or batch.timestamp_type == TimestampType.LOG_APPEND_TIME,
        "a delete horizon in place would shift the timestamps of the records",
    )
    _SHORT.pack_into(buffer, position + ATTRIBUTES_AT, batch.attributes | DELETE_HORIZON_BIT)
    _LONG.pack_into(buffer, position + BASE_TIMESTAMP_AT, horizon_ms)
    _renew_crc(buffer, position, batch)


def _batch_at(buffer: WritableBuffer, position: int) -> Batch:
    batch = read_batch(buffer, position)
    check(batch.magic == MAGIC_V2, "batches of the older formats are only read")
    return batch


def _renew_crc(buffer: WritableBuffer, position: int, batch: Batch) -> None:
    struct.pack_into(">I", buffer, position + CRC_AT, crc32c(batch.buffer[ATTRIBUTES_AT:]))
