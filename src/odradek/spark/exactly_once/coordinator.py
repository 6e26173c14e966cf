"""The transactions of an exactly-once sink, as the driver asks the cluster about them.

A batch has as many as it had tasks. Brokers take up one request of a connection after the other, and an end waits until
it is replicated: so they are shared out among lanes, each a thread with connections of its own.
"""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from odradek.client.direct.transactions import Transactions
from odradek.client.producer.producer_identity import ProducerIdentity
from odradek.errors import Refused
from odradek.protocol.error_codes import ErrorCode
from odradek.spark.exactly_once.decisions import PreparedTransaction
from odradek.spark.exactly_once.protocol import Fate

Result = TypeVar("Result")

#: Of the producer that takes over the id of one that died, and does nothing with it.
_FENCING_TIMEOUT_MS = 60_000

#: It has ended otherwise, somebody else has its id, or nobody knows of it: there is nothing left to abort.
_ENDED = (
    ErrorCode.INVALID_TXN_STATE,
    ErrorCode.PRODUCER_FENCED,
    ErrorCode.INVALID_PRODUCER_EPOCH,
    ErrorCode.INVALID_PRODUCER_ID_MAPPING,
)

_COMMITTED = ("PrepareCommit", "CompleteCommit")
_ABORTED = ("PrepareAbort", "CompleteAbort", "PrepareEpochFence")


class SinkCoordinator:
    """The `Coordinator` of a sink."""

    def __init__(self, lanes: Sequence[Transactions]) -> None:
        """Of which none shares connections with another."""
        self._lanes = lanes
        self._transactions = lanes[0]

    def fates(self, transactions: Sequence[PreparedTransaction]) -> dict[PreparedTransaction, Fate]:
        return self._in_lanes(_fate, transactions)

    def commit(self, transactions: Sequence[PreparedTransaction]) -> None:
        self._in_lanes(_commit, transactions)

    def _in_lanes(
        self, work: Callable[[Transactions, PreparedTransaction], Result], transactions: Sequence[PreparedTransaction]
    ) -> dict[PreparedTransaction, Result]:
        """Raises what the first that failed did, when all have come to an end."""
        count = len(self._lanes)
        shares = [(lane, transactions[number::count]) for number, lane in enumerate(self._lanes[: len(transactions)])]
        with ThreadPoolExecutor(count) as pool:
            found = pool.map(lambda share: [(each, work(share[0], each)) for each in share[1]], shares)
            return {each: result for results in found for each, result in results}

    def abort(self, transaction: PreparedTransaction) -> None:
        try:
            self._transactions.end(transaction.transactional_id, _identity(transaction), is_commit=False)
        except Refused as error:
            if error.code not in _ENDED:
                raise

    def open_ids(self, prefix: str) -> Sequence[str]:
        return self._transactions.ongoing(prefix)

    def fence(self, transactional_id: str) -> None:
        self._transactions.begin(transactional_id, _FENCING_TIMEOUT_MS)


def _commit(lane: Transactions, transaction: PreparedTransaction) -> None:
    lane.end(transaction.transactional_id, _identity(transaction), is_commit=True)


def _fate(lane: Transactions, transaction: PreparedTransaction) -> Fate:
    """An id is used for one transaction, so that its state is that of the transaction. An abort by the broker raises
    the epoch; a commit does not."""
    found = lane.describe(transaction.transactional_id)
    if found is None:
        return Fate.UNKNOWN
    if found.state in _ABORTED and found.identity.producer_id == transaction.producer_id:
        return Fate.ABORTED
    if found.identity != _identity(transaction):
        return Fate.UNKNOWN
    if found.state in _COMMITTED:
        return Fate.COMMITTED
    return Fate.OPEN if found.state == "Ongoing" else Fate.UNKNOWN


def _identity(transaction: PreparedTransaction) -> ProducerIdentity:
    return ProducerIdentity(transaction.producer_id, transaction.epoch)
