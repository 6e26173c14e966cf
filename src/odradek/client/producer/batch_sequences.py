"""Sequence numbers of batches: which batch may be sent, and what a failed one means for the others. Pure.

When a gap in the sequences of a partition cannot be closed, an idempotent producer raises its epoch by itself and
renumbers what is in flight. A transactional one closes the gap, or its transaction must be aborted.
"""

from collections.abc import Sequence

from odradek.client.producer.identity_keeper import ProducerIdentityKeeper
from odradek.client.producer.partition_sequences import SequenceTable
from odradek.client.producer.producer_batch import NO_OFFSET, ProducerBatch
from odradek.client.producer.transaction_partitions import TransactionPartitions
from odradek.client.producer.transaction_states import TransactionPhase, TransactionStateMachine
from odradek.client.types import TopicPartition
from odradek.common.failures import ApiError
from odradek.errors import TransactionMustAbort
from odradek.protocol.error_codes import ErrorCode
from odradek.records.record import NO_SEQUENCE

#: Errors of a batch after which the producer cannot go on.
_FATAL_FOR_BATCHES = (
    ErrorCode.CLUSTER_AUTHORIZATION_FAILED,
    ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
    ErrorCode.PRODUCER_FENCED,
    ErrorCode.UNSUPPORTED_VERSION,
    ErrorCode.INVALID_PRODUCER_ID_MAPPING,
)


class BatchSequences:
    def __init__(
        self,
        states: TransactionStateMachine,
        keeper: ProducerIdentityKeeper,
        partitions: TransactionPartitions,
        table: SequenceTable,
    ) -> None:
        self._states = states
        self._keeper = keeper
        self._partitions = partitions
        self._table = table
        self._is_transactional = states.is_transactional

    # Before a batch is sent

    def may_drain(self, first: ProducerBatch) -> bool:
        """Return whether the first batch that waits for a partition may be sent.

        New batches wait while some of another epoch are in flight, and while something is unresolved. They also wait
        for the response to the very first batch: a leader that does not know the producer accepts any sequence, so it
        could accept the second batch after the first one was rejected by a broker that was not the leader yet. Of
        batches that were sent before, only the one with the lowest sequence may be sent."""
        identity = self._keeper.identity
        if not identity.is_valid or not self.may_send_to(first.topic_partition):
            return False
        sequences = self._table.of(first.topic_partition)
        if not first.has_sequence:
            has_acked = sequences.identity == identity and sequences.last_acked_sequence != NO_SEQUENCE
            return sequences.unresolved is None and (has_acked or not sequences.in_flight)
        return not sequences.in_flight or sequences.in_flight[0].base_sequence == first.base_sequence

    def may_send_to(self, partition: TopicPartition) -> bool:
        if self._states.phase is TransactionPhase.FATAL_ERROR:
            return False
        return not self._is_transactional or partition in self._partitions.added

    def assign(self, batch: ProducerBatch) -> None:
        """Give identity and sequence to a batch that is sent for the first time."""
        identity = self._keeper.identity
        sequences = self._table.of(batch.topic_partition)
        if sequences.identity != identity and not sequences.in_flight:
            sequences.restart(identity)
        sequences.assign(batch, is_transactional=self._is_transactional)
        # With version 2 a transaction starts where its first batch arrives. Until one is sent there is nothing to end,
        # and the coordinator could take the end for a late one of the previous transaction.
        self._partitions.mark_started()

    def split(self, batch: ProducerBatch, parts: Sequence[ProducerBatch]) -> None:
        self._table.split(batch, parts)

    # After it was sent

    def handle_completed_batch(self, batch: ProducerBatch, base_offset: int) -> None:
        sequences = self._table.get(batch.topic_partition)
        if sequences is not None and sequences.identity == (batch.producer_id, batch.producer_epoch):
            last_offset = NO_OFFSET if base_offset == NO_OFFSET else base_offset + batch.count - 1
            sequences.acknowledge(batch.last_sequence, last_offset)
        self._table.remove_in_flight(batch)

    def handle_failed_batch(self, batch: ProducerBatch, error: Exception, *, is_certain: bool) -> None:
        """Handle a batch that is not sent again. `is_certain`: it was not written, so its sequence is free."""
        self._maybe_transition_to_error(error)
        self._table.remove_in_flight(batch)
        if self._states.has_fatal_error:
            return
        code = error.code if isinstance(error, ApiError) else None
        if code == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER and not self._is_transactional:
            self._keeper.renumber(batch.topic_partition)
        elif code == ErrorCode.UNKNOWN_PRODUCER_ID:
            self._table.forget(batch.topic_partition)
        elif is_certain and not self._is_transactional:
            self._keeper.renumber(batch.topic_partition)
        elif is_certain:
            sequences = self._table.get(batch.topic_partition)
            identity = (batch.producer_id, batch.producer_epoch)
            if sequences is not None and batch.has_sequence and sequences.identity == identity:
                sequences.close_gap(batch)

    def _maybe_transition_to_error(self, error: Exception) -> None:
        code = error.code if isinstance(error, ApiError) else None
        if code in _FATAL_FOR_BATCHES:
            self._states.transition_to_fatal_error(error)
        elif self._is_transactional:
            if not self._states.is_completing:
                self._keeper.request_bump()
            self._states.transition_to_abortable_error(error)

    def can_retry(self, batch: ProducerBatch, code: int, log_start_offset: int) -> bool:
        """Return whether a rejected batch is sent again; a new epoch may be requested first."""
        if code == ErrorCode.UNKNOWN_PRODUCER_ID:
            return self._can_retry_unknown_producer(batch, log_start_offset)
        if code == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER:
            return self._can_retry_out_of_order(batch)
        try:
            return ErrorCode(code).retriable
        except ValueError:
            return False

    def _can_retry_unknown_producer(self, batch: ProducerBatch, log_start_offset: int) -> bool:
        if log_start_offset < 0 or batch.sequence_has_been_reset:
            # The broker did not know its log start offset and will return it later; or the response is to what was
            # sent before the sequences restarted.
            return True
        if self._is_transactional:
            sequences = self._table.of(batch.topic_partition)
            if sequences.last_acked_offset >= log_start_offset:
                return False
            # Retention has deleted everything that this producer wrote.
            sequences.restart(self._keeper.identity)
            return True
        self._keeper.renumber(batch.topic_partition)
        return True

    def _can_retry_out_of_order(self, batch: ProducerBatch) -> bool:
        sequences = self._table.of(batch.topic_partition)
        was_reset = batch.sequence_has_been_reset
        is_overtaken = not was_reset and batch.base_sequence <= sequences.last_acked_sequence
        is_waiting = was_reset or not (is_overtaken or sequences.is_next(batch.base_sequence))
        if sequences.unresolved is None and is_waiting:
            return True  # an earlier batch is still to be written
        if self._is_transactional:
            return False
        if sequences.unresolved is None or sequences.unresolved == batch.base_sequence:
            self._keeper.renumber(batch.topic_partition)
        return True

    # Unresolved sequences

    def mark_unresolved(self, batch: ProducerBatch) -> None:
        """Note that a batch that was sent has expired: it may or may not have been written."""
        self._table.mark_unresolved(batch)

    def resolve_gaps(self) -> None:
        """Check unresolved partitions; called from time to time, before anything is sent."""
        for partition in self._table.resolve():
            self._handle_gap(partition)

    def _handle_gap(self, partition: TopicPartition) -> None:
        if not self._is_transactional:
            self._keeper.renumber(partition)
            return
        self._keeper.request_bump()
        reason = f"records to {partition} were not acknowledged and cannot be sent again"
        self._states.transition_to_abortable_error(TransactionMustAbort(f"{reason}; the transaction can be aborted"))
