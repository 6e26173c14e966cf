"""What becomes of batches that were sent, expired, or lost their transaction. Pure.

An answer completes a batch, or puts it back to be sent again while `retries` and `delivery.timeout.ms` last. One that
is too large is split. What has failed for good is told to the transaction manager, which numbers the others anew or
leaves the transaction nothing but its abort.
"""

import logging
from collections.abc import Callable, Mapping, Sequence

from odradek.client.errors import refusal
from odradek.client.producer.producer_batch import ProducerBatch
from odradek.client.producer.record_accumulator import Accumulator
from odradek.client.producer.transaction_manager import TransactionManager
from odradek.client.producer.transaction_states import State
from odradek.common.failures import ApiError
from odradek.errors import DeliveryTimedOut, ProducerFailed, TransactionAborted
from odradek.protocol.error_codes import ErrorCode
from odradek.protocol.error_names import error_name
from odradek.protocol.messages.produce_response import PartitionProduceResponse

_log = logging.getLogger("odradek.client.producer")


#: Of the first request of a producer: another permission may mend it.
_AUTHORIZATION = (ErrorCode.CLUSTER_AUTHORIZATION_FAILED, ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)


class Outcomes:
    def __init__(
        self,
        accumulator: Accumulator,
        transactions: TransactionManager | None,
        retries: int,
        on_released: Callable[[], None] = lambda: None,
    ) -> None:
        """`on_released` is called when memory has become free."""
        self._accumulator = accumulator
        self._transactions = transactions
        self._retries = retries
        self._on_released = on_released

    # Answers

    def complete(self, batch: ProducerBatch, said: PartitionProduceResponse, now_ms: float) -> bool:
        """Whether it is time to learn anew who leads."""
        batch.is_in_flight = False
        if self._accumulator.settings.is_muting:
            self._accumulator.unmute(batch.place)
        code = said.error_code
        if code == ErrorCode.NONE or code == ErrorCode.DUPLICATE_SEQUENCE_NUMBER:
            # A repetition whose first was forgotten is written all the same; only where is not known any more.
            self._succeed(batch, said)
            return False
        if code == ErrorCode.MESSAGE_TOO_LARGE and batch.count > 1 and not batch.is_done:
            self._accumulator.split(batch)
        elif self._can_retry(batch, said, now_ms):
            _log.debug("Produce to %s failed, and is sent again: %s.", batch.place, error_name(code))
            self._accumulator.requeue(batch, now_ms)
        else:
            error = refusal(code, said.error_message) or ApiError("no error")
            self.fail([batch], error, _record_errors(said), is_certain=batch.attempts < self._retries)
        known = _known(code)
        return known is not None and known.refresh_metadata

    def _succeed(self, batch: ProducerBatch, said: PartitionProduceResponse) -> None:
        if self._transactions is not None:
            self._transactions.handle_completed_batch(batch, said.base_offset)
        batch.complete(said.base_offset, said.log_append_time_ms)
        self._accumulator.release(batch)
        self._on_released()

    def _can_retry(self, batch: ProducerBatch, said: PartitionProduceResponse, now_ms: float) -> bool:
        if batch.is_done or batch.attempts >= self._retries:
            return False
        if now_ms - batch.created_ms >= self._accumulator.settings.delivery_timeout_ms:
            return False
        if self._transactions is not None:
            return self._transactions.can_retry(batch, said.error_code, said.log_start_offset)
        known = _known(said.error_code)
        return known is not None and known.retriable

    def fail(
        self,
        batches: Sequence[ProducerBatch],
        error: Exception,
        record_errors: Mapping[int, Exception] | None = None,
        *,
        is_certain: bool = False,
    ) -> None:
        """`is_certain` if they were surely not written."""
        for batch in batches:
            if batch.fail(error, record_errors) and self._transactions is not None:
                self._transactions.handle_failed_batch(batch, error, is_certain=is_certain and batch.has_sequence)
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
            error = DeliveryTimedOut(
                f"{batch.count} records to {batch.place} were not acknowledged within {now_ms - batch.created_ms:.0f} "
                f"ms (delivery.timeout.ms is {accumulator.settings.delivery_timeout_ms:g})"
            )
            self.fail([batch], error)
            if self._transactions is not None and was_sent:
                self._transactions.sequences.mark_unresolved(batch)

    def heed_transaction(self) -> bool:
        """Give up what cannot be sent any more. False if nothing can."""
        transactions, accumulator = self._transactions, self._accumulator
        if transactions is None:
            return True
        transactions.resolve_sequences()
        error = transactions.last_error
        if transactions.has_fatal_error:
            self.fail(accumulator.take_all(), error or ProducerFailed("the producer has failed"))
            transactions.fail_requests()
            return False
        if transactions.state == State.ABORTABLE_ERROR:
            if isinstance(error, ApiError) and error.code in _AUTHORIZATION:
                self.fail(accumulator.take_all(), error)
                transactions.begin_anew()
                return False
            self.fail(accumulator.take_unsent(), error or TransactionAborted("the transaction has failed"))
        elif transactions.state == State.ABORTING:
            self.fail(accumulator.take_unsent(), TransactionAborted("the transaction is being aborted"))
        return True


def _known(code: int) -> ErrorCode | None:
    try:
        return ErrorCode(code)
    except ValueError:
        return None


def _record_errors(said: PartitionProduceResponse) -> dict[int, Exception]:
    """By index: the records that are to blame, where the broker names them."""
    code = said.error_code if len(said.record_errors) == 1 else ErrorCode.INVALID_RECORD
    found: dict[int, Exception] = {}
    for each in said.record_errors:
        error = refusal(code, each.batch_index_error_message or said.error_message)
        if error is not None:
            found[each.batch_index] = error
    return found
