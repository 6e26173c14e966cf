"""The states of a transaction, by Kafka's numbers and names, and which may follow which.

Ongoing begins with the first partition and ends with a decision: PrepareCommit or PrepareAbort, once written, is never
taken back. CompleteCommit or CompleteAbort follows when every partition has its marker. With transactions of version 2
a producer that is not sure may abort although nothing was begun. Dead is on its way out, after its id has expired.
"""

from enum import IntEnum


class TransactionState(IntEnum):
    EMPTY = 0
    ONGOING = 1
    PREPARE_COMMIT = 2
    PREPARE_ABORT = 3
    COMPLETE_COMMIT = 4
    COMPLETE_ABORT = 5
    DEAD = 6
    #: Never written: a producer is being fenced, and its transaction aborted. People may ask for it as for any other.
    PREPARE_EPOCH_FENCE = 7

    @property
    def shown(self) -> str:
        return self.name.title().replace("_", "")

    @property
    def is_decided(self) -> bool:
        """Its markers are on their way."""
        return self in (TransactionState.PREPARE_COMMIT, TransactionState.PREPARE_ABORT)

    @property
    def is_idle(self) -> bool:
        """Nothing is going on: the id may expire, and a new transaction may begin."""
        return self in (TransactionState.EMPTY, TransactionState.COMPLETE_COMMIT, TransactionState.COMPLETE_ABORT)


BY_NAME = {state.shown: state for state in TransactionState}

_IDLE = (TransactionState.EMPTY, TransactionState.COMPLETE_COMMIT, TransactionState.COMPLETE_ABORT)

#: State -> those it may come from.
LEGAL: dict[TransactionState, tuple[TransactionState, ...]] = {
    TransactionState.EMPTY: _IDLE,
    TransactionState.ONGOING: (TransactionState.ONGOING, *_IDLE),
    TransactionState.PREPARE_COMMIT: (TransactionState.ONGOING,),
    TransactionState.PREPARE_ABORT: (TransactionState.ONGOING, *_IDLE),
    TransactionState.COMPLETE_COMMIT: (TransactionState.PREPARE_COMMIT,),
    TransactionState.COMPLETE_ABORT: (TransactionState.PREPARE_ABORT,),
    TransactionState.DEAD: _IDLE,
}
