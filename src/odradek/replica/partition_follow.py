"""What a follower does to its log: append what it fetched, and cut what the leader does not have.

A diverging log is cut by epochs (KIP-101, KIP-279, KIP-595): the leader says where the largest epoch that both may
know ends, and the follower keeps what it has of that epoch, up to that end. What is committed is below the end of an
epoch on every leader, so with clean elections nothing below the high watermark is ever cut.
"""

from __future__ import annotations

import logging

from odradek.common.ports import Buffer
from odradek.log.log_appender import UnexpectedAppendOffset
from odradek.log.manager.log_changes import truncate_fully_and_start_at, truncate_to
from odradek.log.unified_log import UnifiedLog
from odradek.log.values import AppendInfo, EpochEndOffset
from odradek.replica.partition import Partition
from odradek.replica.values import NO_EPOCH, NO_OFFSET

logger = logging.getLogger("odradek.replica")


def append_as_follower(partition: Partition, records: Buffer, leader_epoch: int) -> AppendInfo:
    """Batches of the leader whose epoch is `leader_epoch`. Raises `ApiError` or `Fault`."""
    log = partition.local_log()
    try:
        return log.appender.append_as_follower(records, leader_epoch)
    except UnexpectedAppendOffset as error:
        is_empty = log.offsets.log_end_offset == log.offsets.log_start_offset
        if not (is_empty and error.first_offset < log.offsets.log_end_offset <= error.last_offset):
            raise
        # The leader's log starts within a batch: records were deleted up to an offset that no batch begins with.
        restart_log(partition, error.first_offset)
        return log.appender.append_as_follower(records, leader_epoch)


def follow_offsets(log: UnifiedLog, leader_high_watermark: int, leader_log_start_offset: int) -> bool:
    """What the leader said of itself, as far as the own log goes; whether the high watermark moved. It does not go
    back: a new leader may not have heard yet how far the last one was."""
    before = log.offsets.high_watermark
    if leader_high_watermark > before:
        log.offsets.set_high_watermark(leader_high_watermark)
    if log.offsets.log_start_offset < leader_log_start_offset <= log.offsets.high_watermark:
        log.offsets.raise_start(leader_log_start_offset)
    return log.offsets.high_watermark != before


def truncation_offset(log: UnifiedLog, leader_end: EpochEndOffset) -> int:
    """Where to cut a log that diverges from a leader's, by the leader's word on where an epoch ends."""
    if leader_end.end_offset == NO_OFFSET:
        return log.offsets.high_watermark
    end_offset = log.offsets.log_end_offset
    own = log.reader.end_offset_for_epoch(leader_end.leader_epoch)
    if leader_end.leader_epoch == NO_EPOCH or own is None:
        return min(leader_end.end_offset, end_offset)
    if own.leader_epoch != leader_end.leader_epoch:
        # An epoch that this log does not have: cut to the end of the one before it, and ask again from there.
        return min(own.end_offset, end_offset)
    return min(own.end_offset, leader_end.end_offset, end_offset)


def truncate(partition: Partition, offset: int) -> None:
    """Raises `KafkaStorageError`."""
    log = partition.local_log()
    if offset < log.offsets.high_watermark:
        logger.warning(
            "%s: cut to offset %d, below the high watermark %d: an unclean election took place",
            *(partition.topic_partition, offset, log.offsets.high_watermark),
        )
    elif offset < log.offsets.log_end_offset:
        logger.info("%s: cut from %d to %d", partition.topic_partition, log.offsets.log_end_offset, offset)
    truncate_to(partition.context.logs, {partition.topic_partition: offset})


def restart_log(partition: Partition, offset: int) -> None:
    """Drop everything and go on at `offset`. Raises `KafkaStorageError`."""
    logger.info("%s: dropped, to go on at offset %d", partition.topic_partition, offset)
    truncate_fully_and_start_at(partition.context.logs, partition.topic_partition, offset)
