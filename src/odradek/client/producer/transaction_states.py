"""The states of a producer with an id of its own, and what it may become from each. Pure."""

from collections.abc import Callable, Mapping
from enum import Enum, auto


class State(Enum):
    #: No producer id yet, or not any more.
    UNINITIALIZED = auto()
    INITIALIZING = auto()
    #: Transactional: none is open. Idempotent: always.
    READY = auto()
    IN_TRANSACTION = auto()
    COMMITTING = auto()
    ABORTING = auto()
    #: Something failed: the transaction can only be aborted.
    ABORTABLE_ERROR = auto()
    #: The producer is of no use any more.
    FATAL_ERROR = auto()


_ENDING = (State.COMMITTING, State.ABORTING)

#: By state: from which it may be entered. What must not go on may always be entered.
SOURCES: Mapping[State, tuple[State, ...]] = {
    State.UNINITIALIZED: (State.READY, State.ABORTABLE_ERROR),
    State.INITIALIZING: (State.UNINITIALIZED, *_ENDING),
    State.READY: (State.INITIALIZING, *_ENDING),
    State.IN_TRANSACTION: (State.READY,),
    State.COMMITTING: (State.IN_TRANSACTION,),
    State.ABORTING: (State.IN_TRANSACTION, State.ABORTABLE_ERROR),
    State.ABORTABLE_ERROR: (State.IN_TRANSACTION, State.COMMITTING, State.ABORTABLE_ERROR, State.INITIALIZING),
    State.FATAL_ERROR: tuple(State),
}

#: In the words of those who called.
DESCRIPTIONS: Mapping[State, str] = {
    State.UNINITIALIZED: "init_transactions was not called",
    State.INITIALIZING: "init_transactions has not finished",
    State.READY: "no transaction is open",
    State.IN_TRANSACTION: "a transaction is open",
    State.COMMITTING: "the transaction is being committed",
    State.ABORTING: "the transaction is being aborted",
    State.ABORTABLE_ERROR: "the transaction has failed and can only be aborted",
    State.FATAL_ERROR: "the producer has failed for good",
}


class Result:
    """What becomes of an operation that takes requests; `is_acked` once its caller has seen it."""

    __slots__ = ("_listeners", "error", "is_acked", "is_done")

    def __init__(self) -> None:
        self.is_done = self.is_acked = False
        self.error: Exception | None = None
        self._listeners: list[Callable[[], None]] = []

    def done(self) -> None:
        self._finish(None)

    def fail(self, error: Exception) -> None:
        self._finish(error)

    def listen(self, listener: Callable[[], None]) -> None:
        if self.is_done:
            listener()
        else:
            self._listeners.append(listener)

    def _finish(self, error: Exception | None) -> None:
        if self.is_done:
            return
        self.is_done, self.error = True, error
        listeners, self._listeners = self._listeners, []
        for listener in listeners:
            listener()
