"""How a batch is committed exactly once, although it is written by many tasks, each in a transaction of its own. Pure.

Before the tasks begin, the driver begins a run (`begin_run`): what an earlier driver has decided and not finished is
finished, the number of the run is made durable, and transactions that earlier runs left open are aborted. Each attempt
of a task opens one transaction, under an id in which run, partition and attempt are named, writes, flushes and leaves
it open. When all tasks have succeeded the driver decides (`commit`):

1. a batch that was decided before is a replay: its own transactions are aborted, there is nothing else to do;
2. all transactions have to be open still, and no newer run may have begun, or the batch fails and Spark replays it;
3. the decision, with the transactions by name, is made durable;
4. each of them is committed;
5. the decision is made durable as done; transactions of attempts that were not chosen are aborted.

The write of step 5 also begins the next run, for the same driver: if nothing goes wrong in between, its next batch has
nothing to finish, to abort or to write before its tasks begin. If another driver has begun a run since, that batch
fails at its commit.

Until 3 nothing of the batch is visible and all of it can be aborted. From 3 on all of it will be committed, by this
driver or by the next: committing what is committed already does nothing. The store keeps drivers apart: who opens it
fences whoever had it, so that a decision is made on the newest state or not at all.

A broker aborts transactions whose time is up. That this happens between 3 and 4 takes a driver that stays away for that
long. If none was committed by then the others are aborted too and the decision is revoked: Spark's replay of the batch
is taken instead. If some were committed, this is an error that does not go away: half a batch cannot be undone.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from enum import Enum, auto
from typing import Protocol, TypeVar

from odradek.common.failures import ApiError
from odradek.errors import BatchLost, BatchTorn, Superseded
from odradek.spark.exactly_once.decisions import TOPIC, Decision, PreparedTransaction, SinkState

Result = TypeVar("Result")

#: How often the store may be taken from a driver: twice by one that is about to give up, in commit and in abort.
_ATTEMPTS_MAX = 4


class Fate(Enum):
    """Of a transaction that was prepared."""

    OPEN = auto()
    COMMITTED = auto()
    ABORTED = auto()
    #: The coordinator knows nothing of it any more, or somebody else has its id.
    UNKNOWN = auto()


class Store(Protocol):
    def open(self) -> SinkState:
        """The newest state. Whoever opened it before can write no more."""

    def write(self, state: SinkState) -> None:
        """Durable when it returns. Raises StoreTaken."""


class Coordinator(Protocol):
    def fates(self, transactions: Sequence[PreparedTransaction]) -> dict[PreparedTransaction, Fate]: ...

    def commit(self, transactions: Sequence[PreparedTransaction]) -> None:
        """In no order. Does nothing for those that are committed. Raises ApiError where one cannot be any more."""

    def abort(self, transaction: PreparedTransaction) -> None:
        """Does nothing if it has ended, however."""

    def open_ids(self, prefix: str) -> Sequence[str]:
        """Transactional ids that begin so, and have an open transaction."""

    def fence(self, transactional_id: str) -> None:
        """Abort what is open under the id, and leave its producer behind."""


class StoreTaken(ApiError):
    """Somebody has opened the store since."""


def transactional_id(sink_id: str, run: int, partition: int, attempt: int) -> str:
    """Of one attempt of a task, and of nobody else."""
    return f"{sink_id}-{run}-{partition}-{attempt}"


class ExactlyOnce:
    """The driver's part, for one sink."""

    def __init__(self, sink_id: str, store: Store, coordinator: Coordinator) -> None:
        self._sink_id = sink_id
        self._store = store
        self._coordinator = coordinator

    def begin_run(self) -> int:
        """Return the number of the run, which goes to the tasks. Raises Superseded, BatchTorn."""
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
        Raises Superseded, BatchLost, BatchTorn."""
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
        """Tasks have failed, or the commit has: then it may be decided all the same."""
        self._with_store(lambda state: self._abort_run(state, run, prepared))

    def _abort_run(self, state: SinkState, run: int, prepared: Sequence[PreparedTransaction]) -> None:
        self._store.write(state)  # which succeeds on the newest state alone
        decided = {each for decision in state.unfinished for each in decision.transactions}
        self._abort(each for each in prepared if each not in decided)
        self._abort_left_over(state, run)

    def _with_store(self, work: Callable[[SinkState], Result]) -> Result:
        """On the newest state. Two drivers that end at once, one for good, take the store from each other: each begins
        again with what it finds then."""
        for _ in range(_ATTEMPTS_MAX):
            try:
                return work(self._store.open())
            except StoreTaken:
                continue
        raise Superseded(f"sink {self._sink_id}: another driver writes to it at the same time")

    def _check(self, state: SinkState, run: int, decision: Decision) -> None:
        """Whether the batch may be decided; nothing has happened yet."""
        if state.run < run:
            raise BatchLost(
                f"sink {self._sink_id}: run {run} is not in topic {TOPIC} any more: the topic was deleted, or its "
                "records were, since the run began. Nothing that the run wrote is committed; start the query again, "
                "and Spark replays the batch"
            )
        if state.run > run:
            raise Superseded(f"sink {self._sink_id}: run {run} tried to commit, but run {state.run} has begun since")
        last, batch_id = state.of_query(decision.query_id), decision.batch_id
        if last is not None and batch_id < last.batch_id:
            raise BatchLost(
                f"sink {self._sink_id}: batch {batch_id} of query {decision.query_id} comes after batch "
                f"{last.batch_id}, which is committed. Was the checkpoint rolled back? To write these rows again, "
                "start with a new checkpoint"
            )
        fates = self._coordinator.fates(decision.transactions)
        lost = [each.transactional_id for each, fate in fates.items() if fate is not Fate.OPEN]
        if lost:
            raise BatchLost(
                f"sink {self._sink_id}: batch {batch_id} took longer than a transaction may, or was fenced; nothing of "
                f"it is committed. Lost: {', '.join(lost)}. A longer kafka.transaction.timeout.ms may help"
            )

    def _commit_all(self, state: SinkState, decision: Decision, *, begins_next: bool = False) -> SinkState:
        # The first one by itself: if its time was up, nothing is committed yet, and the decision can be revoked.
        for some in (decision.transactions[:1], decision.transactions[1:]):
            self._coordinator.commit(some)
        state = state.done(decision)
        if begins_next:
            state = state.next_run()
        self._store.write(state)
        return state

    def _finish_all(self, state: SinkState) -> SinkState:
        for decision in state.unfinished:
            state = self._finish(state, decision)
        return state

    def _finish(self, state: SinkState, decision: Decision) -> SinkState:
        """What a driver has decided, that may be gone by now."""
        fates = self._coordinator.fates(decision.transactions)
        if Fate.ABORTED in fates.values() and Fate.COMMITTED not in fates.values():
            self._abort(decision.transactions)
            fates = self._coordinator.fates(decision.transactions)  # the driver that decided may have been quicker
        if all(fate is Fate.ABORTED for fate in fates.values()):
            state = state.revoked(decision)
            self._store.write(state)
            return state
        if all(fate in (Fate.OPEN, Fate.COMMITTED) for fate in fates.values()):
            return self._commit_all(state, decision)
        told = ", ".join(f"{each.transactional_id} {fate.name.lower()}" for each, fate in fates.items())
        raise BatchTorn(
            f"sink {self._sink_id}: batch {decision.batch_id} of query {decision.query_id} was decided, and its "
            f"transactions were not all committed before their time was up: {told}. See docs/spark.md, Torn batches"
        )

    def _abort(self, prepared: Iterable[PreparedTransaction]) -> None:
        for each in prepared:
            self._coordinator.abort(each)

    def _abort_left_over(self, state: SinkState, run: int) -> None:
        """Open transactions of this run and of those before that nobody will commit: of attempts that died, or were not
        chosen. A newer run is none of ours."""
        pattern = re.compile(re.escape(self._sink_id) + r"-(\d+)-\d+-\d+")
        keep = {each.transactional_id for decision in state.unfinished for each in decision.transactions}
        for found in self._coordinator.open_ids(f"{self._sink_id}-"):
            matched = pattern.fullmatch(found)
            if matched and int(matched[1]) <= run and found not in keep:
                self._coordinator.fence(found)
