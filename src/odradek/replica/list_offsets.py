"""Offsets by time and ends of leader epochs, of many partitions; refusals become the codes of their results."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from odradek.common.failures import ApiError
from odradek.log.errors import DamagedFile, KafkaStorageError, StorageFault
from odradek.log.values import Isolation
from odradek.replica.partition_reads import list_offset, offset_for_epoch
from odradek.replica.values import EpochEntry, EpochResult, ListOffsetsEntry, ListOffsetsResult

if TYPE_CHECKING:
    from odradek.replica.replica_manager import ReplicaManager


def list_offsets(
    manager: ReplicaManager, entries: Iterable[ListOffsetsEntry], replica_id: int, isolation: Isolation
) -> list[ListOffsetsResult]:
    results = []
    for entry in entries:
        try:
            results.append(list_offset(manager.find(entry.topic_partition), entry, replica_id, isolation))
        except ApiError as error:
            results.append(ListOffsetsResult(error.code))
        except (StorageFault, DamagedFile) as fault:
            manager.log_failed(entry.topic_partition, fault)
            results.append(ListOffsetsResult(KafkaStorageError.code))
    return results


def offsets_for_leader_epoch(manager: ReplicaManager, entries: Iterable[EpochEntry]) -> list[EpochResult]:
    results = []
    for entry in entries:
        try:
            results.append(offset_for_epoch(manager.find(entry.topic_partition), entry))
        except ApiError as error:
            results.append(EpochResult(error.code))
    return results
