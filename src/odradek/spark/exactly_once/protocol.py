"""The protocol that commits a batch exactly once, although many tasks write it, each in its own transaction. Pure.

Before the tasks begin, the driver begins a run (`begin_run`): it completes the unfinished decisions of earlier drivers,
makes the number of the run durable, and aborts transactions that earlier runs left open. Each task attempt opens one
transaction, whose id contains run, partition and attempt, writes, flushes and leaves it open. When all tasks have
succeeded, the driver decides (`commit`):

1. a batch that was decided before is a replay: its new transactions are aborted, and nothing else is done;
2. all transactions must still be open, and no newer run may have begun, or else the batch fails and Spark replays it;
3. the decision, which lists the transactions, is made durable;
4. each transaction is committed;
5. the decision is marked as completed; transactions of other attempts are aborted.

The write of step 5 also begins the next run of the same driver: unless an error occurs in between, the next batch has
nothing to complete, abort or write before its tasks begin. If another driver begins a run in the meantime, that batch
fails at its commit.

Before step 3 nothing of the batch is visible and all of it can be aborted. From step 3 all of it will be committed, by
this driver or by the next one: committing a committed transaction has no effect. The store separates drivers: opening
it fences the previous owner, so that a decision is made on the newest state or not at all.

A broker aborts transactions that time out. Between steps 3 and 4 this happens only if the driver is down for that long.
If no transaction was committed by then, the others are aborted as well and the decision is revoked: Spark's replay of
the batch is committed instead. If some were committed, the error is permanent: half a batch cannot be undone.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from enum import Enum, auto
from typing import Protocol, TypeVar

from odradek.common.failures import ApiError
from odradek.errors import BatchLost, BatchTorn, Superseded
from odradek.spark.exactly_once.decisions import TOPIC, Decision, PreparedTransaction, SinkState

Result = TypeVar("Result")

#: How often another driver may take the store: a driver that is about to fail takes it twice, in commit and in abort.
_ATTEMPTS_MAX = 4


class Fate(Enum):
    """State of a transaction that was prepared."""

    OPEN = auto()
    COMMITTED = auto()
    ABORTED = auto()
    #: The coordinator no longer has the transaction, or its id has another owner.
    UNKNOWN = auto()


class Store(Protocol):
    """Durable state of one sink, which one driver owns at a time."""

    def open(self) -> SinkState:
        """Return the newest state, and fence the previous owner."""

    def write(self, state: SinkState) -> None:
        """Make the state durable. Raise StoreTaken if another driver has opened the store."""


class Coordinator(Protocol):
    """Operations on the transactions of a sink."""

    def fates(self, transactions: Sequence[PreparedTransaction]) -> dict[PreparedTransaction, Fate]: ...

    def commit(self, transactions: Sequence[PreparedTransaction]) -> None:
        """Commit the transactions in any order; committed ones stay committed.

        Raise ApiError if one cannot be committed."""

    def abort(self, transaction: PreparedTransaction) -> None:
        """Abort the transaction, unless it has ended."""

    def open_ids(self, prefix: str) -> Sequence[str]:
        """Return the transactional ids with this prefix that have an open transaction."""

    def fence(self, transactional_id: str) -> None:
        """Abort the open transaction of the id, and fence its producer."""


class StoreTaken(ApiError):
    """Another driver has opened the store."""


def transactional_id(sink_id: str, run: int, partition: int, attempt: int) -> str:
    """Return the transactional id of one task attempt."""
    return f"{sink_id}-{run}-{partition}-{attempt}"


class ExactlyOnce:
    """Driver side of the protocol, for one sink."""

    def __init__(self, sink_id: str, store: Store, coordinator: Coordinator) -> None:
        self._sink_id = sink_id
        self._store = store
        self._coordinator = coordinator

    def begin_run(self) -> int:
        """Return the number of the run, which is passed to the tasks. Raise Superseded, BatchTorn."""
        return self._with_store(self._begin_run)

    def _begin_run(self, state: SinkState) -> int:
        state = self._finish_all(state).next_run()
        self._store.write(state)
        self._abort_left_over(state, state.run)
        return state.run

    def commit(
        self, run: int, query_id: str, batch_id: int, prepared: Sequence[PreparedTransaction], record_count: int
    ) -> int | None:
        """Return the number of the next run, which has begun for this driver, or None if the driver has to begin it.
        Raise Superseded, BatchLost, BatchTorn."""
        decision = Decision(query_id, batch_id, record_count, tuple(prepared))
        return self._with_store(lambda state: self._commit(state, run, decision))

    def _commit(self, state: SinkState, run: int, decision: Decision) -> int | None:
        next_run = None
        state = self._finish_all(state)
        last = state.of_query(decision.query_id)
        if last is not None and decision.batch_id == last.batch_id:
            self._abort(decision.transactions)
        elif decision.transactions:
            self._check(state, run, decision)
            state = state.decided(decision)
            self._store.write(state)
            state = self._commit_all(state, decision, begins_next=True)
            next_run = state.run
        self._abort_left_over(state, run)
        return next_run

    def abort(self, run: int, prepared: Sequence[PreparedTransaction]) -> None:
        """Abort a run whose tasks or commit failed; after a failed commit the batch may be decided nevertheless."""
        self._with_store(lambda state: self._abort_run(state, run, prepared))

    def _abort_run(self, state: SinkState, run: int, prepared: Sequence[PreparedTransaction]) -> None:
        self._store.write(state)  # succeeds only on the newest state
        decided = {transaction for decision in state.unfinished for transaction in decision.transactions}
        self._abort(transaction for transaction in prepared if transaction not in decided)
        self._abort_left_over(state, run)

    def _with_store(self, work: Callable[[SinkState], Result]) -> Result:
        """Run `work` on the newest state.

        If another driver takes the store meanwhile, repeat it on the state it wrote."""
        for _ in range(_ATTEMPTS_MAX):
            try:
                return work(self._store.open())
            except StoreTaken:
                continue
        raise Superseded(f"sink {self._sink_id}: another driver is writing to it")

    def _check(self, state: SinkState, run: int, decision: Decision) -> None:
        """Raise an error if the batch cannot be decided."""
        if state.run < run:
            raise BatchLost(
                f"sink {self._sink_id}: run {run} is no longer in topic {TOPIC}: the topic or its records were "
                "deleted after the run began. Nothing that the run wrote is committed; start the query again, and "
                "Spark replays the batch"
            )
        if state.run > run:
            raise Superseded(f"sink {self._sink_id}: run {run} tried to commit, but run {state.run} has begun")
        last, batch_id = state.of_query(decision.query_id), decision.batch_id
        if last is not None and batch_id < last.batch_id:
            raise BatchLost(
                f"sink {self._sink_id}: batch {batch_id} of query {decision.query_id} comes after batch "
                f"{last.batch_id}, which is committed. Was the checkpoint rolled back? To write these rows again, "
                "start with a new checkpoint"
            )
        fates = self._coordinator.fates(decision.transactions)
        lost = [transaction.transactional_id for transaction, fate in fates.items() if fate is not Fate.OPEN]
        if lost:
            raise BatchLost(
                f"sink {self._sink_id}: batch {batch_id} exceeded the transaction time-out, or was fenced; nothing of "
                f"it is committed. Lost: {', '.join(lost)}. A longer kafka.transaction.timeout.ms may help"
            )

    def _commit_all(self, state: SinkState, decision: Decision, *, begins_next: bool = False) -> SinkState:
        # The first one by itself: if it timed out, nothing is committed yet, and the decision can be revoked.
        for transactions in (decision.transactions[:1], decision.transactions[1:]):
            self._coordinator.commit(transactions)
        state = state.completed(decision)
        if begins_next:
            state = state.next_run()
        self._store.write(state)
        return state

    def _finish_all(self, state: SinkState) -> SinkState:
        for decision in state.unfinished:
            state = self._finish(state, decision)
        return state

    def _finish(self, state: SinkState, decision: Decision) -> SinkState:
        """Complete or revoke a decision of a driver that may have died."""
        fates = self._coordinator.fates(decision.transactions)
        if Fate.ABORTED in fates.values() and Fate.COMMITTED not in fates.values():
            self._abort(decision.transactions)
            fates = self._coordinator.fates(decision.transactions)  # the deciding driver may have committed meanwhile
        if all(fate is Fate.ABORTED for fate in fates.values()):
            state = state.revoked(decision)
            self._store.write(state)
            return state
        if all(fate in (Fate.OPEN, Fate.COMMITTED) for fate in fates.values()):
            return self._commit_all(state, decision)
        states = ", ".join(f"{transaction.transactional_id} {fate.name.lower()}" for transaction, fate in fates.items())
        raise BatchTorn(
            f"sink {self._sink_id}: batch {decision.batch_id} of query {decision.query_id} was decided, but "
            f"not all its transactions were committed before they timed out: {states}. See docs/spark.md, Torn batches"
        )

    def _abort(self, prepared: Iterable[PreparedTransaction]) -> None:
        for transaction in prepared:
            self._coordinator.abort(transaction)

    def _abort_left_over(self, state: SinkState, run: int) -> None:
        """Abort open transactions of this run and of earlier ones that nobody will commit: of attempts that died, or
        that Spark did not select. Newer runs belong to other drivers."""
        pattern = re.compile(re.escape(self._sink_id) + r"-(\d+)-\d+-\d+")
        to_commit = {txn.transactional_id for decision in state.unfinished for txn in decision.transactions}
        for open_id in self._coordinator.open_ids(f"{self._sink_id}-"):
            match = pattern.fullmatch(open_id)
            if match and int(match[1]) <= run and open_id not in to_commit:
                self._coordinator.fence(open_id)
