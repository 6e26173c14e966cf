"""What a producer may raise beside what all clients do (`odradek.client.errors`)."""

from odradek.client.errors import RequestTimedOut
from odradek.common.failures import ApiError
from odradek.protocol.error_codes import ErrorCode


class RecordTooLarge(ApiError):
    """A record that `max.request.size` or `buffer.memory` has no room for; it was not taken."""

    code = ErrorCode.MESSAGE_TOO_LARGE


class BufferExhausted(RequestTimedOut):
    """No room in `buffer.memory` within `max.block.ms`; the record was not taken."""


class DeliveryTimedOut(RequestTimedOut):
    """Not acknowledged within `delivery.timeout.ms`. Whether the record was written is not known."""


class ProducerClosed(ApiError):
    """The producer was closed before the record was acknowledged, or before it was taken."""

    code = ErrorCode.NETWORK_EXCEPTION


class ProducerFenced(ApiError):
    """Another producer with the same transactional id has begun, or this one's transaction took too long. Fatal."""

    code = ErrorCode.PRODUCER_FENCED


class ProducerFailed(ApiError):
    """Something failed that no further attempt mends: close this producer and begin another. Fatal."""


class TransactionAborted(ApiError):
    """The record was not sent, since its transaction is aborted."""

    code = ErrorCode.TRANSACTION_ABORTABLE


class TransactionMustAbort(ApiError):
    """Something in the transaction failed: it can only be aborted, and then the producer may go on."""

    code = ErrorCode.TRANSACTION_ABORTABLE


class WrongTransactionState(ApiError):
    """A call that makes no sense now: a commit without a transaction, a record before one."""

    code = ErrorCode.INVALID_TXN_STATE
