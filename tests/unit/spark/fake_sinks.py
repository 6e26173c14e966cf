"""A cluster, and a Spark, that are only as real as the protocol of exactly-once sinks needs: they crash at any step."""

from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from enum import Enum, auto

from odradek.common.failures import ApiError
from odradek.errors import Refused
from odradek.protocol.error_codes import ErrorCode
from odradek.spark.exactly_once.decisions import PreparedTransaction, SinkState, from_json, to_json
from odradek.spark.exactly_once.protocol import ExactlyOnce, Fate, StoreTaken, transactional_id


class Crash(Exception):
    """The driver is gone."""


class State(Enum):
    ONGOING = auto()
    COMMITTED = auto()
    ABORTED = auto()
    EMPTY = auto()


@dataclass
class Transaction:
    producer_id: int
    epoch: int
    rows: list[str]
    state: State = State.ONGOING


@dataclass
class World:
    """What outlives a driver: the broker's transactions, the store, Spark's checkpoint."""

    transactions: dict[str, Transaction] = field(default_factory=dict)
    stored: bytes = field(default_factory=lambda: to_json(SinkState()))
    owner: object = None
    #: The last batch that Spark has logged as committed.
    logged: int = -1
    steps: int = 0
    #: Called with the number of each step, before it and after it.
    on_step: Callable[[int], None] = lambda _: None

    def step(self) -> None:
        self.steps += 1
        self.on_step(self.steps)

    def visible(self) -> Counter[str]:
        """To those who read committed."""
        ended = (each.rows for each in self.transactions.values() if each.state is State.COMMITTED)
        return Counter(row for rows in ended for row in rows)

    def open_ids(self) -> list[str]:
        return [name for name, each in self.transactions.items() if each.state is State.ONGOING]

    def prepare(self, name: str, rows: list[str]) -> PreparedTransaction:
        assert name not in self.transactions, f"{name} is used twice"
        self.transactions[name] = Transaction(len(self.transactions), 0, rows)
        return PreparedTransaction(name, self.transactions[name].producer_id, 0)

    def time_out(self) -> None:
        """The broker's time is up for all that is open."""
        for each in self.transactions.values():
            if each.state is State.ONGOING:
                each.state, each.epoch = State.ABORTED, each.epoch + 1


class MemoryStore:
    def __init__(self, world: World) -> None:
        self._world = world

    def open(self) -> SinkState:
        self._world.step()
        self._world.owner = self
        found = from_json(self._world.stored)
        self._world.step()
        return found

    def write(self, state: SinkState) -> None:
        self._world.step()
        if self._world.owner is not self:
            raise StoreTaken("taken")
        self._world.stored = to_json(state)
        self._world.step()


class MemoryCoordinator:
    """EndTxn as Kafka's coordinator answers it to clients of the first protocol."""

    def __init__(self, world: World) -> None:
        self._world = world

    def fates(self, transactions: Sequence[PreparedTransaction]) -> dict[PreparedTransaction, Fate]:
        return {each: self._fate(each) for each in transactions}

    def _fate(self, transaction: PreparedTransaction) -> Fate:
        self._world.step()
        found = self._world.transactions[transaction.transactional_id]
        fates = {State.ONGOING: Fate.OPEN, State.COMMITTED: Fate.COMMITTED, State.ABORTED: Fate.ABORTED}
        return fates.get(found.state, Fate.UNKNOWN)

    def commit(self, transactions: Sequence[PreparedTransaction]) -> None:
        for each in reversed(transactions):  # in any order
            self._world.step()
            self._end(each, State.COMMITTED)
            self._world.step()

    def abort(self, transaction: PreparedTransaction) -> None:
        self._world.step()
        with suppress(Refused):
            self._end(transaction, State.ABORTED)
        self._world.step()

    def _end(self, transaction: PreparedTransaction, wanted: State) -> None:
        found = self._world.transactions[transaction.transactional_id]
        if found.epoch != transaction.epoch:
            raise Refused("fenced", ErrorCode.PRODUCER_FENCED)
        if found.state not in (State.ONGOING, wanted):
            raise Refused("ended otherwise", ErrorCode.INVALID_TXN_STATE)
        found.state = wanted

    def open_ids(self, prefix: str) -> Sequence[str]:
        self._world.step()
        return [name for name in self._world.open_ids() if name.startswith(prefix)]

    def fence(self, transactional_id: str) -> None:
        self._world.step()
        found = self._world.transactions[transactional_id]
        found.state = State.EMPTY if found.state is not State.ONGOING else State.ABORTED
        found.epoch += 1
        self._world.step()


def driver(world: World, sink_id: str = "sink") -> ExactlyOnce:
    return ExactlyOnce(sink_id, MemoryStore(world), MemoryCoordinator(world))


@dataclass
class Job:
    """A query of so many batches, each written by two tasks. Batch 1 has a task whose first attempt died."""

    world: World
    batches: int = 3
    query_id: str = "query"
    attempts: int = 0

    def rows(self, batch_id: int, partition: int) -> list[str]:
        return [f"{batch_id}/{partition}/{number}" for number in range(2)]

    def expected(self) -> Counter[str]:
        return Counter(
            row for batch in range(self.batches) for partition in range(2) for row in self.rows(batch, partition)
        )

    def run(self) -> None:
        """From where the checkpoint is to the end, as one driver."""
        protocol = driver(self.world)
        next_run = None
        for batch_id in range(self.world.logged + 1, self.batches):
            run = protocol.begin_run() if next_run is None else next_run
            prepared = [self.write(run, batch_id, partition) for partition in range(2)]
            if batch_id == 1:
                self.write(run, batch_id, 0)
            try:
                next_run = protocol.commit(run, self.query_id, batch_id, prepared, 4)
            except ApiError:
                protocol.abort(run, prepared)  # as Spark does
                raise
            self.world.logged = max(self.world.logged, batch_id)
            self.world.step()

    def write(self, run: int, batch_id: int, partition: int) -> PreparedTransaction:
        self.world.step()
        self.attempts += 1
        name = transactional_id("sink", run, partition, self.attempts)
        return self.world.prepare(name, self.rows(batch_id, partition))
