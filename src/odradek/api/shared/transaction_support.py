"""Verifies with the transaction coordinator that partitions are in a transaction, or adds them, before an append
(KIP-890).

Clients differ in the errors that they understand: the oldest do not know TRANSACTION_ABORTABLE, newer ones do. Those
with transactions of version 2 leave it to the brokers to add partitions.
"""

import asyncio
from collections.abc import Iterable, Mapping
from enum import Enum

from odradek.api.dispatch.context import Context
from odradek.common.ids import TopicPartition
from odradek.protocol.error_codes import ErrorCode

#: While the last transaction of the producer is being completed: a retry here costs less than a round trip of its
#: batch. Kafka's `add.partitions.to.txn.retry.backoff.max.ms`, and a shorter wait than its 20 ms: markers take a few.
_RETRY_MS = 5
_RETRIES_MS = 100

#: Errors of the coordinator that producers may not know as retriable.
_RETRIABLE = (
    ErrorCode.NETWORK_EXCEPTION,
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_COORDINATOR,
)


class Support(Enum):
    """Transaction features of a client, derived from the version of its request."""

    OLD_ERRORS = "old errors"
    ABORTABLE = "TRANSACTION_ABORTABLE"
    #: Version 2 of transactions.
    ADD = "partitions are added by brokers"

    @property
    def adds(self) -> bool:
        return self is Support.ADD

    @classmethod
    def of(cls, version: int, *, abortable_from: int, adds_from: int) -> "Support":
        """Return the features for a version, given the first versions that support each."""
        if version >= adds_from:
            return cls.ADD
        return cls.ABORTABLE if version >= abortable_from else cls.OLD_ERRORS


async def ask_coordinator(
    ctx: Context,
    transactional_id: str,
    producer: tuple[int, int],
    partitions: Iterable[TopicPartition],
    support: Support,
) -> dict[TopicPartition, int]:
    """Return the error codes of the partitions that must not be appended to."""
    unverified, clock = tuple(partitions), ctx.services.clock
    give_up_ms = clock.monotonic_ms() + _RETRIES_MS
    while True:
        codes = await ctx.verifier.add_or_verify(transactional_id, *producer, unverified, adds=support.adds)
        is_ending = ErrorCode.CONCURRENT_TRANSACTIONS in codes.values()
        if not support.adds or not is_ending or clock.monotonic_ms() >= give_up_ms:
            return {tp: _known_code(code, support) for tp, code in codes.items() if code}
        await asyncio.sleep(_RETRY_MS / 1000)


def _known_code(code: int, support: Support) -> int:
    if code == ErrorCode.PRODUCER_FENCED:
        return ErrorCode.INVALID_PRODUCER_EPOCH
    if code == ErrorCode.TRANSACTION_ABORTABLE and support is Support.OLD_ERRORS:
        return ErrorCode.INVALID_TXN_STATE
    return code


def produce_codes(codes: Mapping[TopicPartition, int], support: Support) -> dict[TopicPartition, int]:
    """Replace what a producer may not retry by NOT_ENOUGH_REPLICAS: it sends its batch again, without a refresh of its
    metadata. Other requests are answered with the coordinator's own error."""
    return {tp: ErrorCode.NOT_ENOUGH_REPLICAS if _is_unknown(code, support) else code for tp, code in codes.items()}


def _is_unknown(code: int, support: Support) -> bool:
    return code in _RETRIABLE or (code == ErrorCode.CONCURRENT_TRANSACTIONS and not support.adds)
