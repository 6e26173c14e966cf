"""Asking a transaction's coordinator before something is appended for it, and saying what it said (KIP-890).

Clients differ in what they understand: the oldest know no error that asks for an abort, newer ones do, and those with
transactions of version 2 leave it to the brokers to add partitions, and wait on their own while a transaction ends.
"""

import asyncio
from collections.abc import Iterable
from enum import Enum

from odradek.api.context import Context
from odradek.common.ids import TopicPartition
from odradek.protocol.error_codes import ErrorCode

#: While the last transaction of the producer is being completed: asking again here costs less than a round trip of its
#: batch. Kafka's `add.partitions.to.txn.retry.backoff.max.ms`, and a shorter wait than its 20 ms: markers take a few.
_RETRY_MS = 5
_RETRIES_MS = 100

#: The client is to send its batch again, and need not learn about anything anew.
_FOR_NOW = (
    ErrorCode.NETWORK_EXCEPTION,
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_COORDINATOR,
)


class Support(Enum):
    """What a client understands, by the version of its request."""

    OLD_ERRORS = "old errors"
    ABORTABLE = "TRANSACTION_ABORTABLE"
    #: Version 2 of transactions.
    ADD = "partitions are added by brokers"

    @property
    def adds(self) -> bool:
        return self is Support.ADD

    @classmethod
    def of(cls, version: int, *, abortable_from: int, adds_from: int) -> "Support":
        """By the first versions of its request that understand the one and the other."""
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
    """Codes of those partitions that cannot be appended to, as the client is to be told."""
    asked, clock = tuple(partitions), ctx.services.clock
    give_up_ms = clock.monotonic_ms() + _RETRIES_MS
    while True:
        codes = await ctx.verifier.add_or_verify(transactional_id, *producer, asked, adds=support.adds)
        is_ending = ErrorCode.CONCURRENT_TRANSACTIONS in codes.values()
        if not support.adds or not is_ending or clock.monotonic_ms() >= give_up_ms:
            return {tp: _told(code, support) for tp, code in codes.items() if code}
        await asyncio.sleep(_RETRY_MS / 1000)


def _told(code: int, support: Support) -> int:
    if code == ErrorCode.PRODUCER_FENCED:
        return ErrorCode.INVALID_PRODUCER_EPOCH
    if code == ErrorCode.TRANSACTION_ABORTABLE and support is Support.OLD_ERRORS:
        return ErrorCode.INVALID_TXN_STATE
    if code in _FOR_NOW or (code == ErrorCode.CONCURRENT_TRANSACTIONS and not support.adds):
        return ErrorCode.NOT_ENOUGH_REPLICAS
    return code
