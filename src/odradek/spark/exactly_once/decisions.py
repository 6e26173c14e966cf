"""The state of an exactly-once sink: its current run, and the last decided batch of each query. Pure.

It is one JSON value under the sink's id in a compacted topic. `run` counts the batches that any driver has begun: a
batch can only be decided by the run that began last. A query is identified by the id that Spark keeps in its
checkpoint; with a new checkpoint the batches are numbered from 0 under a new id, and are not mistaken for the old ones.

A decision that is not completed lists its transactions: all of them must be committed.
"""

import json
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from odradek.common.failures import InputError

TOPIC = "__odradek_spark_decisions"

#: Queries of one sink in its state: the last ones used.
_QUERIES_MAX = 16

_VERSION = 1


@dataclass(frozen=True, slots=True)
class PreparedTransaction:
    """Transaction that a task has written, flushed and left open: enough to end it from another process."""

    transactional_id: str
    producer_id: int
    epoch: int


@dataclass(frozen=True, slots=True)
class Decision:
    """Decision to commit a batch."""

    query_id: str
    batch_id: int
    record_count: int
    #: Transactions that must be committed; empty when the decision is completed.
    transactions: tuple[PreparedTransaction, ...]
    is_completed: bool = False


@dataclass(frozen=True, slots=True)
class SinkState:
    """The durable state of one sink."""

    run: int = 0
    #: The last decision of each query; the most recent one comes last.
    decisions: tuple[Decision, ...] = ()

    def of_query(self, query_id: str) -> Decision | None:
        return next((decision for decision in self.decisions if decision.query_id == query_id), None)

    @property
    def unfinished(self) -> tuple[Decision, ...]:
        return tuple(decision for decision in self.decisions if not decision.is_completed)

    def next_run(self) -> "SinkState":
        return replace(self, run=self.run + 1)

    def decided(self, decision: Decision) -> "SinkState":
        return replace(self, decisions=(*self._without(decision.query_id), decision)[-_QUERIES_MAX:])

    def completed(self, decision: Decision) -> "SinkState":
        return self.decided(replace(decision, transactions=(), is_completed=True))

    def revoked(self, decision: Decision) -> "SinkState":
        """Return the state with the previous batch as the last one; Spark does not replay older batches."""
        previous = replace(decision, batch_id=decision.batch_id - 1, record_count=0, transactions=(), is_completed=True)
        return self.decided(previous)

    def _without(self, query_id: str) -> Iterable[Decision]:
        return (decision for decision in self.decisions if decision.query_id != query_id)


def to_json(state: SinkState) -> bytes:
    decisions = [
        {
            "query": decision.query_id,
            "batch": decision.batch_id,
            "records": decision.record_count,
            "done": decision.is_completed,
            "transactions": [[txn.transactional_id, txn.producer_id, txn.epoch] for txn in decision.transactions],
        }
        for decision in state.decisions
    ]
    return json.dumps({"version": _VERSION, "run": state.run, "decisions": decisions}).encode()


def from_json(text: bytes) -> SinkState:
    """Parse a state. Raise InputError for the format of a newer version, or for foreign data."""
    try:
        document = json.loads(text)
        version = document["version"]
        if version != _VERSION:
            raise InputError(f"the sink's decisions have format version {version}; only {_VERSION} is supported")
        return SinkState(document["run"], tuple(_decision(entry) for entry in document["decisions"]))
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(f"the sink's decisions cannot be read: {error!r} in {text[:200]!r}") from None


def _decision(entry: dict[str, Any]) -> Decision:
    transactions = tuple(PreparedTransaction(*fields) for fields in entry["transactions"])
    return Decision(entry["query"], entry["batch"], entry["records"], transactions, entry["done"])
