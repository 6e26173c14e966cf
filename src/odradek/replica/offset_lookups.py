"""Offsets by timestamp and end offsets of leader epochs; errors become the codes of the results."""

from __future__ import annotations

from collections.abc import Iterable

from odradek.common.failures import ApiError
from odradek.common.special_timestamps import EARLIEST, EARLIEST_LOCAL, LATEST
from odradek.log.errors import DamagedFile, KafkaStorageError, StorageFault
from odradek.log.offsets import FoundTimestamp
from odradek.log.unified_log import UnifiedLog
from odradek.log.values import Isolation
from odradek.protocol.error_codes import ErrorCode
from odradek.replica.errors import OffsetNotAvailable
from odradek.replica.hosted_partitions import HostedPartitions
from odradek.replica.partition import Partition
from odradek.replica.partition_leader import PartitionLeader
from odradek.replica.replica_failures import ReplicaFailures
from odradek.replica.requests import (
    CONSUMER,
    DEBUGGING_CONSUMER,
    NO_EPOCH,
    NO_TIMESTAMP,
    EpochEntry,
    EpochResult,
    ListOffsetsEntry,
    ListOffsetsResult,
)


class OffsetLookups:
    __slots__ = ("_failures", "_hosted")

    def __init__(self, partitions: HostedPartitions, failures: ReplicaFailures) -> None:
        self._hosted = partitions
        self._failures = failures

    def list_offsets(
        self, entries: Iterable[ListOffsetsEntry], replica_id: int, isolation: Isolation
    ) -> list[ListOffsetsResult]:
        """Look up offsets by timestamp. `replica_id` is a broker's, `CONSUMER`, or `DEBUGGING_CONSUMER`, which may read
        from followers. The handler maps OFFSET_NOT_AVAILABLE to LEADER_NOT_AVAILABLE before version 5."""
        results = []
        for entry in entries:
            try:
                partition = self._hosted.find(entry.topic_partition)
                results.append(_list_offset(partition, entry, replica_id, isolation))
            except ApiError as error:
                results.append(ListOffsetsResult(error.code))
            except (StorageFault, DamagedFile) as fault:
                self._failures.log_failed(entry.topic_partition, fault)
                results.append(ListOffsetsResult(KafkaStorageError.code))
        return results

    def offsets_for_epoch(self, entries: Iterable[EpochEntry]) -> list[EpochResult]:
        """Look up where leader epochs end; offset -1 for an epoch that is unknown here."""
        results = []
        for entry in entries:
            try:
                leader = self._hosted.find(entry.topic_partition).leader(entry.current_leader_epoch)
                end = leader.log.reader.end_offset_for_epoch(entry.leader_epoch)
                results.append(EpochResult(0) if end is None else EpochResult(0, end.leader_epoch, end.end_offset))
            except ApiError as error:
                results.append(EpochResult(error.code))
        return results


def _list_offset(
    partition: Partition, entry: ListOffsetsEntry, replica_id: int, isolation: Isolation
) -> ListOffsetsResult:
    """Look up one offset. `isolation` applies to clients only; brokers and tools see the whole log. Raises ApiError."""
    epoch = entry.current_leader_epoch
    log = partition.readable(epoch) if replica_id == DEBUGGING_CONSUMER else partition.leader(epoch).log
    is_client = replica_id == CONSUMER
    last_fetchable = log.reader.visible_end(isolation).message_offset if is_client else log.offsets.log_end_offset
    is_behind = is_client and _is_behind_epoch(partition)
    if entry.timestamp == LATEST:
        if is_behind:
            raise _not_available(partition, log)
        return ListOffsetsResult(0, NO_TIMESTAMP, last_fetchable, partition.leader_epoch)
    by_timestamp = log.reader.offset_for_timestamp(entry.timestamp)
    if entry.timestamp in (EARLIEST, EARLIEST_LOCAL):
        return _result(by_timestamp)
    if by_timestamp is None or by_timestamp.offset >= last_fetchable:
        if is_behind:
            raise _not_available(partition, log)
        return ListOffsetsResult(ErrorCode.NONE)
    return _result(by_timestamp)


def _result(by_timestamp: FoundTimestamp | None) -> ListOffsetsResult:
    if by_timestamp is None:
        return ListOffsetsResult(ErrorCode.NONE)
    epoch = NO_EPOCH if by_timestamp.leader_epoch is None else by_timestamp.leader_epoch
    return ListOffsetsResult(0, by_timestamp.timestamp, by_timestamp.offset, epoch)


def _is_behind_epoch(partition: Partition) -> bool:
    """Return whether a new leader does not know yet how far its predecessor had advanced the high watermark: its
    offsets could go backwards (KIP-207)."""
    role = partition.role
    return isinstance(role, PartitionLeader) and role.leader_epoch_start_offset > role.log.offsets.high_watermark


def _not_available(partition: Partition, log: UnifiedLog) -> OffsetNotAvailable:
    return OffsetNotAvailable(
        f"The high watermark {log.offsets.high_watermark} of {partition.topic_partition} has not reached the start of "
        f"epoch {partition.leader_epoch}"
    )
