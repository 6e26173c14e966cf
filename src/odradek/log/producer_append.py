"""Deciding about a producer's batches before they are written.

A `ProducerAppend` starts from what the partition knows of the producer and takes the producer's batches of one append,
in order. It refuses what is fenced, out of order or outside of a transaction; what it accepts it adds up to the state
after the append. Nothing is changed until the batches are in the log and `ProducerState.update` applies it.

How much is checked depends on who appends: a client's batches by epoch and sequence, a coordinator's (they carry no
sequence) by epoch, a leader's not at all, since it has checked them: a follower only takes note.
"""

from odradek.common.failures import check
from odradek.common.ids import TopicPartition
from odradek.log.errors import (
    InvalidProducerEpoch,
    InvalidTxnState,
    OutOfOrderSequence,
    TransactionCoordinatorFenced,
)
from odradek.log.offsets import AppendOrigin, CompletedTxn, OffsetMetadata
from odradek.log.producer_entry import (
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

_MAX_EPOCH = 2**15 - 1
_MAX_SEQUENCE = 2**31 - 1


class ProducerAppend:
    """The batches of one producer in one append. After it, `updated` is the state to be, with the new batches only."""

    __slots__ = (
        "_current",
        "_origin",
        "_topic_partition",
        "_verification",
        "clears_verification",
        "started",
        "updated",
    )

    def __init__(
        self,
        topic_partition: TopicPartition,
        producer_id: int,
        current: ProducerEntry | None,
        origin: AppendOrigin,
        verification: VerificationEntry | None,
    ) -> None:
        self._topic_partition = topic_partition
        self._origin = origin
        self._verification = verification
        self.clears_verification = False
        self.started: list[OffsetMetadata] = []  # where transactions began in this append
        if current is None:
            self._current = ProducerEntry(producer_id)
            self.updated = ProducerEntry(producer_id)
        else:
            self._current = current
            self.updated = ProducerEntry(
                producer_id,
                current.producer_epoch,
                current.coordinator_epoch,
                current.last_timestamp,
                current.current_txn_first_offset,
            )

    @property
    def producer_id(self) -> int:
        return self.updated.producer_id

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
        updated = self.updated
        if epoch < updated.producer_epoch:
            self._refuse_epoch(epoch, offset, "<")
        if self._origin is AppendOrigin.CLIENT:
            self._check_sequence(epoch, first_sequence, offset)
        last_sequence = first_sequence + delta
        if last_sequence > _MAX_SEQUENCE or first_sequence == NO_SEQUENCE:
            last_sequence = batch.last_sequence
        if epoch != updated.producer_epoch:
            updated.producer_epoch = epoch
            updated.batches.clear()
        updated.batches.append(BatchMetadata(last_sequence, offset + delta, delta, batch.max_timestamp))
        if len(updated.batches) > BATCHES_TO_RETAIN:
            del updated.batches[0]
        updated.last_timestamp = batch.max_timestamp
        is_transactional = batch.attributes & TRANSACTIONAL_BIT != 0
        if is_transactional != (updated.current_txn_first_offset is not None):
            if not is_transactional:
                raise InvalidTxnState(
                    f"Expected transactional write from producer {self.producer_id} at offset {offset} in partition "
                    f"{self._topic_partition}"
                )
            updated.current_txn_first_offset = offset
            self.started.append(first_offset or OffsetMetadata(offset))

    def append_end_marker(
        self, marker: EndTransaction, producer_epoch: int, offset: int, timestamp: int, transaction_version: int
    ) -> CompletedTxn | None:
        """The end of a transaction. Without data in this partition there is nothing to complete."""
        if transaction_version == TV_UNKNOWN:
            # The leader has checked by the real version; a follower does not know it and goes by the milder rule.
            check(self._origin is AppendOrigin.REPLICATION, "a marker comes with its transaction version")
            transaction_version = 0
        self._check_marker_epoch(producer_epoch, offset, transaction_version)
        self._check_coordinator_epoch(marker.coordinator_epoch, offset)
        updated = self.updated
        completed = None
        if updated.current_txn_first_offset is not None:
            completed = CompletedTxn(
                updated.producer_id, updated.current_txn_first_offset, offset, is_aborted=not marker.committed
            )
        if producer_epoch != updated.producer_epoch:
            updated.producer_epoch = producer_epoch
            updated.batches.clear()
        updated.coordinator_epoch = marker.coordinator_epoch
        updated.current_txn_first_offset = None
        updated.last_timestamp = timestamp
        return completed

    def _check_marker_epoch(self, epoch: int, offset: int, transaction_version: int) -> None:
        updated = self.updated
        if transaction_version < _TV_EPOCH_BUMP:
            if epoch < updated.producer_epoch:
                self._refuse_epoch(epoch, offset, "<")
        elif epoch <= updated.producer_epoch:
            # A marker that is written again, because its first answer was lost, finds no transaction: let it in.
            # At the largest epoch there is none above it for the marker, so there it is let in as well.
            repeated = updated.current_txn_first_offset is None or epoch == _MAX_EPOCH
            if not (epoch == updated.producer_epoch and repeated):
                self._refuse_epoch(epoch, offset, "<=")

    def _refuse_epoch(self, epoch: int, offset: int, comparison: str) -> None:
        if self._origin is not AppendOrigin.REPLICATION:
            raise InvalidProducerEpoch(
                f"Epoch of producer {self.producer_id} at offset {offset} in {self._topic_partition} is {epoch}, which "
                f"is {comparison} the last seen epoch {self.updated.producer_epoch}"
            )

    def _check_coordinator_epoch(self, coordinator_epoch: int, offset: int) -> None:
        known = self.updated.coordinator_epoch
        if known > coordinator_epoch and self._origin is not AppendOrigin.REPLICATION:
            raise TransactionCoordinatorFenced(
                f"Invalid coordinator epoch for producerId {self.producer_id} at offset {offset} in partition "
                f"{self._topic_partition}: {coordinator_epoch} (zombie), {known} (current)"
            )

    def _check_sequence(self, epoch: int, first_sequence: int, offset: int) -> None:
        current, updated = self._current, self.updated
        if self._verification is not None:
            self._check_verified_sequence(self._verification, first_sequence, offset)
        if epoch != updated.producer_epoch:
            # A new epoch starts at 0. A producer that is not known may start anywhere: its records were deleted.
            if first_sequence != 0 and updated.producer_epoch != NO_PRODUCER_EPOCH:
                self._out_of_order(
                    offset,
                    f"{epoch} (request epoch), {first_sequence} (seq. number), {updated.producer_epoch} (current "
                    "producer epoch)",
                )
        elif current.producer_epoch != NO_PRODUCER_EPOCH:
            if updated.batches:
                last = updated.batches[-1].last_sequence
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

    def _out_of_order(self, offset: int, what: str) -> None:
        raise OutOfOrderSequence(
            f"Out of order sequence number for producer {self.producer_id} at offset {offset} in partition "
            f"{self._topic_partition}: {what}"
        )

    def _decide_verification(self, is_marker: bool, producer_epoch: int) -> None:
        """With the batch written, the guard has done its work. Only a marker of the very epoch that is being verified
        leaves it: under version 2 of the protocol that is the marker of the transaction before."""
        entry = self._verification
        if entry is not None and not (entry.supports_epoch_bump and is_marker and producer_epoch == entry.epoch):
            self.clears_verification = True
