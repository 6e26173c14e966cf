"""Results of batches that were sent, that expired, or whose transaction ended. Pure.

A response completes a batch, or puts it back to be sent again while `retries` and `delivery.timeout.ms` last. A batch
that is too large is split. A batch that has failed for good is reported to `BatchSequences`, which renumbers the others
or leaves the transaction only its abort.
"""

import logging
from collections.abc import Callable, Mapping, Sequence

from odradek.client.errors import refusal
from odradek.client.producer.producer_batch import ProducerBatch
from odradek.client.producer.record_accumulator import RecordAccumulator
from odradek.client.producer.transaction_manager import TransactionManager
from odradek.client.producer.transaction_states import TransactionPhase
from odradek.common.failures import ApiError
from odradek.errors import DeliveryTimedOut, ProducerFailed, TransactionAborted
from odradek.protocol.error_codes import ErrorCode
from odradek.protocol.error_names import error_name
from odradek.protocol.messages.produce_response import PartitionProduceResponse

_log = logging.getLogger("odradek.client.producer")


#: Errors of the first request of a producer; it succeeds once permissions have changed.
_AUTHORIZATION_ERRORS = (ErrorCode.CLUSTER_AUTHORIZATION_FAILED, ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)


class BatchResults:
    def __init__(
        self,
        accumulator: RecordAccumulator,
        transactions: TransactionManager | None,
        retries: int,
        on_released: Callable[[], None] = lambda: None,
    ) -> None:
        """`on_released` is called when memory has become free."""
        self._accumulator = accumulator
        self._transactions = transactions
        self._retries = retries
        self._on_released = on_released

    # Responses

    def complete(self, batch: ProducerBatch, response: PartitionProduceResponse, now_ms: float) -> bool:
        """Apply a response, and return whether the metadata must be refreshed."""
        batch.is_in_flight = False
        if self._accumulator.settings.is_muting:
            self._accumulator.unmute(batch.topic_partition)
        code = response.error_code
        if code == ErrorCode.NONE or code == ErrorCode.DUPLICATE_SEQUENCE_NUMBER:
            # A retry of a batch that the leader has written, but whose offset it no longer knows.
            self._succeed(batch, response)
            return False
        if code == ErrorCode.MESSAGE_TOO_LARGE and batch.count > 1 and not batch.is_done:
            self._accumulator.split(batch)
        elif self._can_retry(batch, response, now_ms):
            _log.debug("Produce to %s failed and will be retried: %s.", batch.topic_partition, error_name(code))
            self._accumulator.requeue(batch, now_ms)
        else:
            error = refusal(code, response.error_message) or ApiError("no error")
            self.fail([batch], error, _record_errors(response), is_certain=batch.attempts < self._retries)
        error_code = _error_code(code)
        return error_code is not None and error_code.refresh_metadata

    def _succeed(self, batch: ProducerBatch, response: PartitionProduceResponse) -> None:
        if self._transactions is not None:
            self._transactions.sequences.handle_completed_batch(batch, response.base_offset)
        batch.complete(response.base_offset, response.log_append_time_ms)
        self._accumulator.release(batch)
        self._on_released()

    def _can_retry(self, batch: ProducerBatch, response: PartitionProduceResponse, now_ms: float) -> bool:
        if batch.is_done or batch.attempts >= self._retries:
            return False
        if now_ms - batch.created_ms >= self._accumulator.settings.delivery_timeout_ms:
            return False
        if self._transactions is not None:
            return self._transactions.sequences.can_retry(batch, response.error_code, response.log_start_offset)
        error_code = _error_code(response.error_code)
        return error_code is not None and error_code.retriable

    def fail(
        self,
        batches: Sequence[ProducerBatch],
        error: Exception,
        record_errors: Mapping[int, Exception] | None = None,
        *,
        is_certain: bool = False,
    ) -> None:
        """Fail batches. `is_certain`: they were not written."""
        for batch in batches:
            if batch.fail(error, record_errors) and self._transactions is not None:
                self._transactions.sequences.handle_failed_batch(
                    batch, error, is_certain=is_certain and batch.has_sequence
                )
            self._accumulator.release(batch)
        if batches:
            self._on_released()

    # Time and transactions

    def expire(self, now_ms: float) -> None:
        accumulator = self._accumulator
        if accumulator.next_expiry_ms() > now_ms:
            return
        for batch in accumulator.expired(now_ms):
            was_sent = batch.has_sequence and batch.is_retried
            age_ms = now_ms - batch.created_ms
            error = DeliveryTimedOut(
                f"{batch.count} records to {batch.topic_partition} were not acknowledged within {age_ms:.0f} ms "
                f"(delivery.timeout.ms is {accumulator.settings.delivery_timeout_ms:g})"
            )
            self.fail([batch], error)
            if self._transactions is not None and was_sent:
                self._transactions.sequences.mark_unresolved(batch)

    def fail_unsendable(self) -> bool:
        """Fail batches that the state of the transaction forbids to send; return False if nothing can be sent."""
        transactions, accumulator = self._transactions, self._accumulator
        if transactions is None:
            return True
        transactions.sequences.resolve_gaps()
        states = transactions.states
        error = states.last_error
        if states.has_fatal_error:
            self.fail(accumulator.take_all(), error or ProducerFailed("the producer has failed"))
            transactions.fail_requests()
            return False
        if states.phase == TransactionPhase.ABORTABLE_ERROR:
            if isinstance(error, ApiError) and error.code in _AUTHORIZATION_ERRORS:
                self.fail(accumulator.take_all(), error)
                transactions.restart()
                return False
            self.fail(accumulator.take_unsent(), error or TransactionAborted("the transaction has failed"))
        elif states.phase == TransactionPhase.ABORTING:
            self.fail(accumulator.take_unsent(), TransactionAborted("the transaction is being aborted"))
        return True


def _error_code(code: int) -> ErrorCode | None:
    try:
        return ErrorCode(code)
    except ValueError:
        return None


def _record_errors(response: PartitionProduceResponse) -> dict[int, Exception]:
    """Return the errors of single records by index, if the broker names them."""
    code = response.error_code if len(response.record_errors) == 1 else ErrorCode.INVALID_RECORD
    errors: dict[int, Exception] = {}
    for record_error in response.record_errors:
        error = refusal(code, record_error.batch_index_error_message or response.error_message)
        if error is not None:
            errors[record_error.batch_index] = error
    return errors
