"""Assignors, by which the leader of a classic group divides its partitions. Pure.

Kafka's own four, by their names or by the names of their classes in Java, and whatever an application brings along that
has the same shape.
"""

from collections.abc import Iterable, Sequence
from typing import Protocol, runtime_checkable

from odradek.client.group.assignors.stateless_assignors import RangeAssignor, RoundRobinAssignor
from odradek.client.group.assignors.sticky_assignor import CooperativeStickyAssignor, StickyAssignor
from odradek.client.group.subscription import Assignment, Members, Topics
from odradek.client.types import TopicPartition
from odradek.common.failures import InputError


@runtime_checkable
class Assignor(Protocol):
    """One for each member, since it may remember what it was assigned."""

    #: What the members of a group agree on.
    name: str
    #: Members keep their partitions while they join; one that moves is given up first and assigned in the next round.
    is_cooperative: bool

    def user_data(self) -> bytes | None:
        """Return the data that the leader's assignor gets from this member."""

    def on_assignment(self, partitions: Sequence[TopicPartition], generation_id: int) -> None:
        """This member has been assigned these."""

    def assign(self, topics: Topics, members: Members) -> Assignment:
        """Return partitions by member id, with an entry for each member. `topics` exist and have subscribers."""


_PACKAGE = "org.apache.kafka.clients.consumer."

_BUILT_IN: dict[str, type[Assignor]] = {
    assignor_type.name: assignor_type
    for assignor_type in (RangeAssignor, RoundRobinAssignor, StickyAssignor, CooperativeStickyAssignor)
}
_BY_CLASS_NAME = {_PACKAGE + assignor_type.__name__: assignor_type for assignor_type in _BUILT_IN.values()}


def make_assignors(strategies: Iterable[str | Assignor | type[Assignor]]) -> list[Assignor]:
    """Create the assignors of partition.assignment.strategy. Raises InputError."""
    assignors = [_make(strategy) for strategy in strategies]
    if not assignors:
        raise InputError("partition.assignment.strategy names no assignor; range is the usual one")
    names = [assignor.name for assignor in assignors]
    if len(set(names)) < len(names):
        raise InputError(f"partition.assignment.strategy names an assignor twice: {', '.join(names)}")
    return assignors


def is_cooperative(assignors: Sequence[Assignor]) -> bool:
    """Eager unless all of them can do otherwise: the group may choose any of them."""
    return all(assignor.is_cooperative for assignor in assignors)


def _make(strategy: str | Assignor | type[Assignor]) -> Assignor:
    if isinstance(strategy, str):
        assignor_type = _BUILT_IN.get(strategy.strip()) or _BY_CLASS_NAME.get(strategy.strip())
        if assignor_type is None:
            raise InputError(
                f"partition.assignment.strategy: {strategy} is not an assignor. Expected one of {', '.join(_BUILT_IN)} "
                f"(or the names of Kafka's classes), or an object with the methods of Assignor"
            )
        return assignor_type()
    return strategy() if isinstance(strategy, type) else strategy
