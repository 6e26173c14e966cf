"""Requests of the driver about the transactions of an exactly-once sink.

A batch has one transaction for each task. Brokers process the requests of a connection one after the other, and the
response to EndTxn waits for replication: so the transactions are distributed over lanes, which are threads with their
own connections.
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

#: Transaction time-out of a producer that only fences the previous owner of its id.
_FENCING_TIMEOUT_MS = 60_000

#: The transaction has ended, its id has another owner, or it is unknown: there is nothing to abort.
_ENDED = (
    ErrorCode.INVALID_TXN_STATE,
    ErrorCode.PRODUCER_FENCED,
    ErrorCode.INVALID_PRODUCER_EPOCH,
    ErrorCode.INVALID_PRODUCER_ID_MAPPING,
)

_COMMITTED = ("PrepareCommit", "CompleteCommit")
_ABORTED = ("PrepareAbort", "CompleteAbort", "PrepareEpochFence")


class SinkCoordinator:
    """Implementation of `Coordinator` for one sink."""

    def __init__(self, lanes: Sequence[Transactions]) -> None:
        """Create a coordinator over `lanes`, none of which shares connections with another."""
        self._lanes = lanes
        self._transactions = lanes[0]

    def fates(self, transactions: Sequence[PreparedTransaction]) -> dict[PreparedTransaction, Fate]:
        return self._in_lanes(_fate, transactions)

    def commit(self, transactions: Sequence[PreparedTransaction]) -> None:
        self._in_lanes(_commit, transactions)

    def _in_lanes(
        self, work: Callable[[Transactions, PreparedTransaction], Result], transactions: Sequence[PreparedTransaction]
    ) -> dict[PreparedTransaction, Result]:
        """Return the results of all transactions. Raise the first error after all lanes have ended."""
        count = len(self._lanes)
        shares = [(lane, transactions[index::count]) for index, lane in enumerate(self._lanes[: len(transactions)])]
        with ThreadPoolExecutor(count) as pool:
            results = pool.map(
                lambda share: [(transaction, work(share[0], transaction)) for transaction in share[1]], shares
            )
            return {transaction: result for lane_results in results for transaction, result in lane_results}

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
    """Return the fate of a transaction. Its id is used once, so that the state of the id is that of the transaction. An
    abort by the broker increases the epoch; a commit does not."""
    description = lane.describe(transaction.transactional_id)
    if description is None:
        return Fate.UNKNOWN
    if description.state in _ABORTED and description.identity.producer_id == transaction.producer_id:
        return Fate.ABORTED
    if description.identity != _identity(transaction):
        return Fate.UNKNOWN
    if description.state in _COMMITTED:
        return Fate.COMMITTED
    return Fate.OPEN if description.state == "Ongoing" else Fate.UNKNOWN


def _identity(transaction: PreparedTransaction) -> ProducerIdentity:
    return ProducerIdentity(transaction.producer_id, transaction.epoch)
