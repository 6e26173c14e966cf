"""The transactions of an exactly-once sink, as the driver asks the cluster about them."""

from collections.abc import Sequence

from odradek.client.direct.transactions import Transactions
from odradek.client.errors import Refused
from odradek.client.producer.sequences import ProducerIdentity
from odradek.protocol.error_codes import ErrorCode
from odradek.spark.decisions import PreparedTransaction
from odradek.spark.transactions import Fate

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

    def __init__(self, transactions: Transactions) -> None:
        self._transactions = transactions

    def fate(self, transaction: PreparedTransaction) -> Fate:
        """An id is used for one transaction, so that its state is that of the transaction. An abort by the broker
        raises the epoch; a commit does not."""
        found = self._transactions.describe(transaction.transactional_id)
        if found is None:
            return Fate.UNKNOWN
        if found.state in _ABORTED and found.identity.producer_id == transaction.producer_id:
            return Fate.ABORTED
        if found.identity != _identity(transaction):
            return Fate.UNKNOWN
        if found.state in _COMMITTED:
            return Fate.COMMITTED
        return Fate.OPEN if found.state == "Ongoing" else Fate.UNKNOWN

    def commit(self, transaction: PreparedTransaction) -> None:
        self._transactions.end(transaction.transactional_id, _identity(transaction), is_commit=True)

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


def _identity(transaction: PreparedTransaction) -> ProducerIdentity:
    return ProducerIdentity(transaction.producer_id, transaction.epoch)
