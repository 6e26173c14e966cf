"""Deciding about a producer's batches before they are written. Skeleton of signatures."""

from odradek.common.ids import TopicPartition
from odradek.log.offsets import AppendOrigin, CompletedTxn, OffsetMetadata
from odradek.log.producer_entry import ProducerEntry, VerificationEntry
from odradek.records.batch import Batch

#: Where the version of the transaction protocol is not known: replication, and batches that are no markers.
TV_UNKNOWN = -1


class ProducerAppend:
    """The batches of one producer in one append: checked against its state, which stays as it is until
    `ProducerState.update`."""

    def __init__(
        self,
        topic_partition: TopicPartition,
        producer_id: int,
        current: ProducerEntry | None,
        origin: AppendOrigin,
        verification: VerificationEntry | None,
    ) -> None:
        raise NotImplementedError

    def append(
        self, batch: Batch, first_offset: OffsetMetadata | None = None, transaction_version: int = TV_UNKNOWN
    ) -> CompletedTxn | None:
        """Raises InvalidProducerEpoch, OutOfOrderSequence, InvalidTxnState, TransactionCoordinatorFenced."""
        raise NotImplementedError
