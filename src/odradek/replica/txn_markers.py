"""Markers that end a producer's transaction in partitions that this broker leads."""

from collections.abc import Sequence
from dataclasses import dataclass

from odradek.common.ids import TopicPartition
from odradek.log.offsets import AppendOrigin
from odradek.records.batch import NO_PRODUCER_EPOCH, NO_PRODUCER_ID
from odradek.records.builder import end_transaction_marker
from odradek.replica.partition import ACKS_ALL
from odradek.replica.replica_manager import ReplicaManager
from odradek.replica.values import ProduceCallback, ProduceEntry

#: How long the markers' replicas are waited for, before the coordinator asks again: Kafka's `request.timeout.ms`.
_TIMEOUT_MS = 30_000


@dataclass(frozen=True, slots=True)
class TransactionMarker:
    producer_id: int
    producer_epoch: int
    is_commit: bool
    #: Leader epoch of the coordinator's partition: an older coordinator's markers are refused.
    coordinator_epoch: int
    #: Of transactions: from version 2 on a marker has an epoch of its own.
    transaction_version: int

    @property
    def has_producer(self) -> bool:
        """Without a producer's id and epoch there is no marker."""
        return self.producer_id != NO_PRODUCER_ID and self.producer_epoch != NO_PRODUCER_EPOCH


def append_markers(
    manager: ReplicaManager, places: Sequence[TopicPartition], marker: TransactionMarker, callback: ProduceCallback
) -> None:
    """The callback is called when all replicas in sync have them, with a result for each place."""
    batch = end_transaction_marker(
        commit=marker.is_commit,
        timestamp=manager.clock.wall_ms(),
        producer_id=marker.producer_id,
        producer_epoch=marker.producer_epoch,
        coordinator_epoch=marker.coordinator_epoch,
    )
    manager.produce(
        [ProduceEntry(place, bytearray(batch)) for place in places],
        ACKS_ALL,
        _TIMEOUT_MS,
        callback,
        origin=AppendOrigin.COORDINATOR,
        internal_topics_allowed=True,
        transaction_version=marker.transaction_version,
    )
