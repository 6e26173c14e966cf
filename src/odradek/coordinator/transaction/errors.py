"""Errors of the transaction coordinator."""

from odradek.common.failures import ApiError
from odradek.protocol.error_codes import ErrorCode


class InvalidProducerIdMapping(ApiError):
    """The transactional id is not known, or belongs to another producer id."""

    code = int(ErrorCode.INVALID_PRODUCER_ID_MAPPING)


class ProducerFenced(ApiError):
    """A newer producer has the transactional id."""

    code = int(ErrorCode.PRODUCER_FENCED)


class ConcurrentTransactions(ApiError):
    """Something about the transaction is not finished yet: the producer asks again."""

    code = int(ErrorCode.CONCURRENT_TRANSACTIONS)


class InvalidTxnState(ApiError):
    code = int(ErrorCode.INVALID_TXN_STATE)


class InvalidTransactionTimeout(ApiError):
    code = int(ErrorCode.INVALID_TRANSACTION_TIMEOUT)


class TransactionalIdNotFound(ApiError):
    code = int(ErrorCode.TRANSACTIONAL_ID_NOT_FOUND)


class TwoPhaseCommitRefused(ApiError):
    """Kafka's word for it."""

    code = int(ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)
