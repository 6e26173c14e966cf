"""Deciding about a producer's batches before they are written.

A `ProducerAppend` starts from what the partition knows of the producer and takes the producer's batches of one append,
in order. It refuses what is fenced, out of order or outside of a transaction; what it accepts it adds up to the state
after the append. Nothing is changed until the batches are in the log and `ProducerState.update` applies it.

How much is checked depends on who appends: a client's batches by epoch and sequence, a coordinator's (they carry no
sequence) by epoch, a leader's not at all, since it has checked them: a follower only takes note.
"""

from odradek.common.ids import TopicPartition
from odradek.log.errors import (
    InvalidArgument,
    InvalidProducerEpoch,
    InvalidTxnState,
    OutOfOrderSequence,
    TransactionCoordinatorFenced,
)
from odradek.log.offsets import AppendOrigin, CompletedTxn, OffsetMetadata
from odradek.log.producers.producer_entry import (
    BATCHES_TO_RETAIN,
    BatchMetadata,
    ProducerEntry,
    VerificationEntry,
)
from odradek.records.batch import CONTROL_BIT, NO_PRODUCER_EPOCH, TRANSACTIONAL_BIT, Batch
from odradek.records.control import EndTransaction, read_end_transaction
from odradek.records.record import NO_SEQUENCE

#: Where the version of the transaction protocol is not known: in replication, and for batches that are no markers.
TV_UNKNOWN = -1

#: From this version on (KIP-890) every transaction ends with an epoch of its own: the marker's is above the data's.
_TV_EPOCH_BUMP = 2

_CLIENT = AppendOrigin.CLIENT
_REPLICATION = AppendOrigin.REPLICATION

_MAX_EPOCH = 2**15 - 1
_MAX_SEQUENCE = 2**31 - 1

_new_tuple = tuple.__new__  # half the time of the named tuple's own constructor, on the path of every produced batch


class ProducerAppend:
    """The batches of one producer in one append.

    The public fields are the state after it; `batches` are the new ones only. `started` says where transactions
    began, `clears_verification` that the producer's transaction need not be verified any more."""

    __slots__ = (
        "_current",
        "_origin",
        "_topic_partition",
        "_verification",
        "batches",
        "clears_verification",
        "coordinator_epoch",
        "current_txn_first_offset",
        "last_timestamp",
        "producer_epoch",
        "producer_id",
        "started",
    )

    def __init__(
        self,
        topic_partition: TopicPartition,
        producer_id: int,
        current: ProducerEntry | None,
        origin: AppendOrigin,
        verification: VerificationEntry | None,
    ) -> None:
        if current is None:
            current = ProducerEntry(producer_id)
        self._topic_partition = topic_partition
        self._current = current
        self._origin = origin
        self._verification = verification
        self.producer_id = producer_id
        self.producer_epoch = current.producer_epoch
        self.coordinator_epoch = current.coordinator_epoch
        self.last_timestamp = current.last_timestamp
        self.current_txn_first_offset = current.current_txn_first_offset
        self.batches: list[BatchMetadata] = []
        self.started: list[OffsetMetadata] | None = None
        self.clears_verification = False

    def append(
        self, batch: Batch, first_offset: OffsetMetadata | None = None, transaction_version: int = TV_UNKNOWN
    ) -> CompletedTxn | None:
        """Raises InvalidProducerEpoch, OutOfOrderSequence, InvalidTxnState, TransactionCoordinatorFenced.

        `first_offset` is the batch's place, where it is known. A marker that ends a transaction with data in this
        partition returns it, to be completed once the append is done."""
        attributes = batch.attributes
        completed = None
        if attributes & CONTROL_BIT:
            marker = read_end_transaction(batch)
            if marker is not None:  # None: the cleaner has emptied the batch, the transaction is gone from the log
                completed = self.append_end_marker(
                    marker, batch.producer_epoch, batch.base_offset, batch.max_timestamp, transaction_version
                )
        else:
            self.append_data(batch, first_offset)
        if attributes & TRANSACTIONAL_BIT and self._verification is not None:
            self._decide_verification(attributes & CONTROL_BIT != 0, batch.producer_epoch)
        return completed

    def append_data(self, batch: Batch, first_offset: OffsetMetadata | None = None) -> None:
        """A batch of records."""
        epoch = batch.producer_epoch
        offset = batch.base_offset
        first_sequence = batch.base_sequence
        delta = batch.last_offset_delta
        if epoch < self.producer_epoch:
            self._refuse_epoch(epoch, offset, "<")
        batches = self.batches
        if self._origin is _CLIENT:
            self._check_sequence(epoch, first_sequence, offset)
        last_sequence = first_sequence + delta
        if last_sequence > _MAX_SEQUENCE or first_sequence < 0:
            last_sequence = batch.last_sequence
        if epoch != self.producer_epoch:
            self.producer_epoch = epoch
            batches.clear()
        timestamp = self.last_timestamp = batch.max_timestamp
        batches.append(_new_tuple(BatchMetadata, (last_sequence, offset + delta, delta, timestamp)))
        if len(batches) > BATCHES_TO_RETAIN:
            del batches[0]
        if batch.attributes & TRANSACTIONAL_BIT:
            if self.current_txn_first_offset is None:
                self.current_txn_first_offset = offset
                self.started = [*(self.started or ()), first_offset or OffsetMetadata(offset)]
        elif self.current_txn_first_offset is not None:
            raise InvalidTxnState(
                f"Expected transactional write from producer {self.producer_id} at offset {offset} in partition "
                f"{self._topic_partition}"
            )

    def append_end_marker(
        self, marker: EndTransaction, producer_epoch: int, offset: int, timestamp: int, transaction_version: int
    ) -> CompletedTxn | None:
        """The end of a transaction. Without data in this partition there is nothing to complete."""
        if transaction_version == TV_UNKNOWN:
            # The leader has checked by the real version; a follower does not know it and goes by the milder rule.
            if self._origin is not _REPLICATION:
                raise InvalidArgument(
                    f"A marker of producer {self.producer_id} for {self._topic_partition} has no transaction version"
                )
            transaction_version = 0
        self._check_marker_epoch(producer_epoch, offset, transaction_version)
        self._check_coordinator_epoch(marker.coordinator_epoch, offset)
        completed = None
        if self.current_txn_first_offset is not None:
            completed = CompletedTxn(
                self.producer_id, self.current_txn_first_offset, offset, is_aborted=not marker.committed
            )
        if producer_epoch != self.producer_epoch:
            self.producer_epoch = producer_epoch
            self.batches.clear()
        self.coordinator_epoch = marker.coordinator_epoch
        self.current_txn_first_offset = None
        self.last_timestamp = timestamp
        return completed

    def _check_marker_epoch(self, epoch: int, offset: int, transaction_version: int) -> None:
        if transaction_version < _TV_EPOCH_BUMP:
            if epoch < self.producer_epoch:
                self._refuse_epoch(epoch, offset, "<")
        elif epoch <= self.producer_epoch:
            # A marker that is written again, because its first answer was lost, finds no transaction: let it in.
            # At the largest epoch there is none above it for the marker, so there it is let in as well.
            repeated = self.current_txn_first_offset is None or epoch == _MAX_EPOCH
            if not (epoch == self.producer_epoch and repeated):
                self._refuse_epoch(epoch, offset, "<=")

    def _refuse_epoch(self, epoch: int, offset: int, comparison: str) -> None:
        if self._origin is not _REPLICATION:
            raise InvalidProducerEpoch(
                f"Epoch of producer {self.producer_id} at offset {offset} in {self._topic_partition} is {epoch}, which "
                f"is {comparison} the last seen epoch {self.producer_epoch}"
            )

    def _check_coordinator_epoch(self, coordinator_epoch: int, offset: int) -> None:
        current_epoch = self.coordinator_epoch
        if current_epoch > coordinator_epoch and self._origin is not _REPLICATION:
            raise TransactionCoordinatorFenced(
                f"Invalid coordinator epoch for producerId {self.producer_id} at offset {offset} in partition "
                f"{self._topic_partition}: {coordinator_epoch} (zombie), {current_epoch} (current)"
            )

    def _check_sequence(self, epoch: int, first_sequence: int, offset: int) -> None:
        current = self._current
        if self._verification is not None:
            self._check_verified_sequence(self._verification, first_sequence, offset)
        if epoch != self.producer_epoch:
            # A new epoch starts at 0. A producer that is not known may start anywhere: its records were deleted.
            if first_sequence != 0 and self.producer_epoch != NO_PRODUCER_EPOCH:
                self._out_of_order(
                    offset,
                    f"{epoch} (request epoch), {first_sequence} (seq. number), {self.producer_epoch} (current "
                    "producer epoch)",
                )
        elif current.producer_epoch != NO_PRODUCER_EPOCH:
            if self.batches:
                last = self.batches[-1].last_sequence
            elif current.batches and epoch == current.producer_epoch:
                last = current.batches[-1].last_sequence
            else:
                last = NO_SEQUENCE
            if first_sequence != last + 1 and not (first_sequence == 0 and last == _MAX_SEQUENCE):
                self._out_of_order(
                    offset, f"{first_sequence} (incoming seq. number), {last} (current end sequence number)"
                )

    def _check_verified_sequence(self, verification: VerificationEntry, first_sequence: int, offset: int) -> None:
        if verification.supports_epoch_bump and first_sequence != 0 and self._current.is_empty:
            self._out_of_order(
                offset,
                f"{first_sequence} (incoming seq. number). Expected sequence 0 for transactions v2 idempotent producer "
                "with no existing state.",
            )
        if first_sequence > verification.lowest_sequence:
            self._out_of_order(
                offset,
                f"{first_sequence} (incoming seq. number), {verification.lowest_sequence} (earliest seen sequence)",
            )

    def _out_of_order(self, offset: int, problem: str) -> None:
        raise OutOfOrderSequence(
            f"Out of order sequence number for producer {self.producer_id} at offset {offset} in partition "
            f"{self._topic_partition}: {problem}"
        )

    def _decide_verification(self, is_marker: bool, producer_epoch: int) -> None:
        """Decide whether the written batch clears the guard. Only a marker of the very epoch that is being verified
        does not: under version 2 of the protocol that is the marker of the previous transaction."""
        entry = self._verification
        if entry is not None and not (entry.supports_epoch_bump and is_marker and producer_epoch == entry.epoch):
            self.clears_verification = True
