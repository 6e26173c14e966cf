"""The follower's role of a partition: append what was fetched, and truncate what the leader does not have.

A diverging log is truncated by epochs (KIP-101, KIP-279, KIP-595): the leader responds with the end of the largest
epoch that both may have, and the follower keeps its records of that epoch up to that end. What is committed lies below
the end of an epoch on every leader, so with clean elections nothing below the high watermark is ever truncated.
"""

from __future__ import annotations

import logging

from odradek.common.ids import TopicPartition
from odradek.common.ports import Buffer
from odradek.log.log_appender import UnexpectedAppendOffset
from odradek.log.manager.log_changes import truncate_fully_and_start_at, truncate_to
from odradek.log.manager.log_manager import LogManager
from odradek.log.unified_log import UnifiedLog
from odradek.log.values import AppendInfo, EpochEndOffset
from odradek.metadata.image.partition_registration import PartitionRegistration
from odradek.protocol.error_codes import ErrorCode
from odradek.replica.requests import NO_EPOCH, NO_OFFSET

logger = logging.getLogger("odradek.replica")


class PartitionFollower:
    """`log` and the epochs are public to read."""

    __slots__ = ("_logs", "leader_epoch", "leader_id", "log", "partition_epoch", "replicas", "topic_partition")

    def __init__(
        self,
        topic_partition: TopicPartition,
        log: UnifiedLog,
        registration: PartitionRegistration,
        logs: LogManager,
    ) -> None:
        self._logs = logs
        self.topic_partition = topic_partition
        self.log = log
        self.leader_id = registration.leader
        self.leader_epoch = registration.leader_epoch
        self.partition_epoch = registration.partition_epoch
        self.replicas = registration.replicas

    def __repr__(self) -> str:
        return f"PartitionFollower(of broker {self.leader_id}, epoch {self.leader_epoch}, {self.log})"

    def replace_log(self, log: UnifiedLog) -> None:
        """Use the log in another directory, which has the same records."""
        self.log = log

    def reached(self, _: int) -> ErrorCode:
        """Return the result of a waiting append with `acks` all: only a leader can complete it."""
        return ErrorCode.NOT_LEADER_OR_FOLLOWER

    def append(self, records: Buffer, leader_epoch: int) -> AppendInfo:
        """Append batches fetched from the leader of `leader_epoch`. Raises `ApiError` or `Fault`."""
        log = self.log
        try:
            return log.appender.append_as_follower(records, leader_epoch)
        except UnexpectedAppendOffset as error:
            is_empty = log.offsets.log_end_offset == log.offsets.log_start_offset
            if not (is_empty and error.first_offset < log.offsets.log_end_offset <= error.last_offset):
                raise
            # The leader's log starts within a batch: records were deleted up to an offset inside of it.
            self.restart_at(error.first_offset)
            return log.appender.append_as_follower(records, leader_epoch)

    def set_offsets(self, leader_high_watermark: int, leader_log_start_offset: int) -> bool:
        """Adopt the leader's offsets, as far as this log has them; return whether the high watermark advanced. It never
        decreases: a new leader may not know yet how far its predecessor had advanced it."""
        offsets = self.log.offsets
        previous = offsets.high_watermark
        if leader_high_watermark > previous:
            offsets.set_high_watermark(leader_high_watermark)
        if offsets.log_start_offset < leader_log_start_offset <= offsets.high_watermark:
            offsets.raise_start(leader_log_start_offset)
        return offsets.high_watermark != previous

    def truncate(self, offset: int) -> None:
        """Remove the records from `offset` on. Raises `KafkaStorageError`."""
        offsets = self.log.offsets
        if offset < offsets.high_watermark:
            logger.warning(
                "%s: truncated to offset %d, below the high watermark %d: an unclean election took place",
                *(self.topic_partition, offset, offsets.high_watermark),
            )
        elif offset < offsets.log_end_offset:
            logger.info("%s: truncated from %d to %d", self.topic_partition, offsets.log_end_offset, offset)
        truncate_to(self._logs, {self.topic_partition: offset})

    def restart_at(self, offset: int) -> None:
        """Remove all records and continue at `offset`. Raises `KafkaStorageError`."""
        logger.info("%s: all records are removed; the log continues at offset %d", self.topic_partition, offset)
        truncate_fully_and_start_at(self._logs, self.topic_partition, offset)


def truncation_offset(log: UnifiedLog, leader_end: EpochEndOffset) -> int:
    """Return the offset to which a log is truncated that diverges from the leader's, given the end of the leader's
    epoch."""
    if leader_end.end_offset == NO_OFFSET:
        return log.offsets.high_watermark
    end_offset = log.offsets.log_end_offset
    local_end = log.reader.end_offset_for_epoch(leader_end.leader_epoch)
    if leader_end.leader_epoch == NO_EPOCH or local_end is None:
        return min(leader_end.end_offset, end_offset)
    if local_end.leader_epoch != leader_end.leader_epoch:
        # This log does not have the epoch: truncate to the end of the previous one, and compare again from there.
        return min(local_end.end_offset, end_offset)
    return min(local_end.end_offset, leader_end.end_offset, end_offset)
