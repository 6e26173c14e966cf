"""What all administration from outside has in common: outcomes, and who is asked.

The operations are in `topics`, `partitions`, `configs`, `cluster` and `reassignments`:
functions on a `ClusterRouter`, each with typed arguments and results. An operation on many things has an outcome for
each of them: its value, or a `Refused` that says why not. An error of the operation as a whole is raised.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

from odradek.client.admin.cluster_router import ClusterRouter
from odradek.client.types import TopicPartition
from odradek.errors import PartlyRefused, Refused
from odradek.protocol.error_codes import ErrorCode
from odradek.protocol.message import Message

__all__ = ["Outcomes", "TopicPartition", "accepted_all", "by_topic", "change", "in_order"]

_Key = TypeVar("_Key")
_Value = TypeVar("_Value")

#: For each thing what was asked for, or why not.
Outcomes = Mapping[_Key, _Value | Refused]


async def change(cluster: ClusterRouter, request: Message, codes_of: Callable[[Any], Iterable[int]]) -> Any:
    """The active controller's response to a change; `codes_of` finds all error codes in it.

    It is sent again only if it was not this controller's to decide: after a connection that broke nobody knows whether
    it was carried out.
    """

    def not_controller(response: Any) -> int:
        refused = ErrorCode.NOT_CONTROLLER in codes_of(response)
        return ErrorCode.NOT_CONTROLLER if refused else ErrorCode.NONE

    return await cluster.send_to_leader(request, not_controller, repeatable=False)


def by_topic(partitions: Iterable[TopicPartition]) -> dict[str, list[int]]:
    """As requests have them: topics, and partitions in them."""
    found: dict[str, list[int]] = {}
    for topic, partition in partitions:
        found.setdefault(topic, []).append(partition)
    return found


def in_order(outcomes: Outcomes[_Key, _Value], asked: Iterable[_Key]) -> Outcomes[_Key, _Value]:
    """As it was asked; nodes answer in an order of their own."""
    return {key: outcomes[key] for key in dict.fromkeys(asked) if key in outcomes}


def accepted_all(outcomes: Outcomes[_Key, _Value]) -> dict[_Key, _Value]:
    """Raises Refused if it was refused for the only one, PartlyRefused if for some of several."""
    refused = {key: each for key, each in outcomes.items() if isinstance(each, Refused)}
    if not refused:
        return {key: each for key, each in outcomes.items() if not isinstance(each, Refused)}
    first = next(iter(refused.values()))
    if len(outcomes) == 1:
        raise first
    said = "; ".join(f"{key}: {each.message}" for key, each in refused.items())
    raise PartlyRefused(f"{len(refused)} of {len(outcomes)}: {said}", first.code, outcomes)
