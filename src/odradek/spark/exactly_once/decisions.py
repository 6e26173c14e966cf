"""What an exactly-once sink remembers: who writes to it, and which batch of each query was decided last. Pure.

It is one JSON value under the sink's id in a compacted topic. `run` counts the batches that were begun, by whichever
driver: a batch may only be decided by the run that began last. A query is known by the id that Spark keeps in its
checkpoint; with a new checkpoint the batches are numbered from 0 again under a new id, and are not taken for the old.

A decision that is not done names its transactions: they have to be committed, all of them, whatever happens.
"""

import json
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from odradek.common.failures import InputError

TOPIC = "__odradek_spark_decisions"

#: Checkpoints of one sink that are remembered: those used last.
_QUERIES_MAX = 16

_VERSION = 1


@dataclass(frozen=True, slots=True)
class PreparedTransaction:
    """Written by a task, flushed and left open: whoever has this can end it."""

    transactional_id: str
    producer_id: int
    epoch: int


@dataclass(frozen=True, slots=True)
class Decision:
    """To commit a batch."""

    query_id: str
    batch_id: int
    record_count: int
    #: Those that have to be committed; none once it is done.
    transactions: tuple[PreparedTransaction, ...]
    is_done: bool = False


@dataclass(frozen=True, slots=True)
class SinkState:
    run: int = 0
    #: The last of each query; the one decided last comes last.
    decisions: tuple[Decision, ...] = ()

    def of_query(self, query_id: str) -> Decision | None:
        return next((each for each in self.decisions if each.query_id == query_id), None)

    @property
    def unfinished(self) -> tuple[Decision, ...]:
        return tuple(each for each in self.decisions if not each.is_done)

    def next_run(self) -> "SinkState":
        return replace(self, run=self.run + 1)

    def decided(self, decision: Decision) -> "SinkState":
        return replace(self, decisions=(*self._without(decision.query_id), decision)[-_QUERIES_MAX:])

    def done(self, decision: Decision) -> "SinkState":
        return self.decided(replace(decision, transactions=(), is_done=True))

    def revoked(self, decision: Decision) -> "SinkState":
        """As if the batch before it had been the last: there is none older of which Spark would ask."""
        before = replace(decision, batch_id=decision.batch_id - 1, record_count=0, transactions=(), is_done=True)
        return self.decided(before)

    def _without(self, query_id: str) -> Iterable[Decision]:
        return (each for each in self.decisions if each.query_id != query_id)


def to_json(state: SinkState) -> bytes:
    decisions = [
        {
            "query": each.query_id,
            "batch": each.batch_id,
            "records": each.record_count,
            "done": each.is_done,
            "transactions": [[one.transactional_id, one.producer_id, one.epoch] for one in each.transactions],
        }
        for each in state.decisions
    ]
    return json.dumps({"version": _VERSION, "run": state.run, "decisions": decisions}).encode()


def from_json(text: bytes) -> SinkState:
    """Raises InputError for what a newer version, or somebody else, has written."""
    try:
        found = json.loads(text)
        if found["version"] != _VERSION:
            raise InputError(f"the sink's decisions are of version {found['version']}; this software knows {_VERSION}")
        return SinkState(found["run"], tuple(_decision(each) for each in found["decisions"]))
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(f"the sink's decisions cannot be read: {error!r} in {text[:200]!r}") from None


def _decision(found: dict[str, Any]) -> Decision:
    transactions = tuple(PreparedTransaction(*each) for each in found["transactions"])
    return Decision(found["query"], found["batch"], found["records"], transactions, found["done"])
