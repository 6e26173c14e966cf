"""A consumer's membership of its group, as the consumer sees it.

There are three kinds: the classic protocol (`classic_driver`), the consumer protocol of KIP-848 (`consumer_driver`),
both by `group.protocol`, and none at all (no `group.id`), where commits are refused. With partitions that were assigned
by hand the first two join nothing, and commit alone.

Requests, heartbeats among them, go out from tasks of the membership's own. What concerns the application happens in
`poll`, in the caller's task: callbacks of rebalances, the commit before partitions are given up, automatic commits
(what was handed out before this poll counts as handled). `needs_poll` says that there is something of that kind; it
also becomes true now and then by itself, so that the time between two polls (max.poll.interval.ms) is noticed without
a look at the clock for each record. A consumer that waits for records must look again when `wake` is called.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Protocol

from odradek.client.consumer.subscriptions import Subscriptions
from odradek.client.group.classic_driver import ClassicDriver
from odradek.client.group.consumer_driver import ConsumerDriver
from odradek.client.group.group_metadata import GroupMetadata
from odradek.client.group.groupless import NoMembership
from odradek.client.group.listener import RebalanceListener
from odradek.client.net.network_client import NetworkClient
from odradek.client.settings.settings import ConsumerConfig
from odradek.client.types import OffsetAndMetadata, TopicPartition


class Membership(Protocol):
    @property
    def needs_poll(self) -> bool:
        """Cheap, for the hot path: call `poll` before records are handed out."""

    #: Called whenever `needs_poll` becomes true; set by the consumer.
    wake: Callable[[], None]

    async def poll(self, timeout_ms: float) -> None:
        """Joins, finishes rebalances (callbacks run here), commits automatically.

        Waits for the coordinator only while a rebalance is under way, and at most `timeout_ms`: with 0 it does what can
        be done now. Raises what the application must know: an error of its group, of its rights, or of a callback.
        """

    async def commit(self, offsets: Mapping[TopicPartition, OffsetAndMetadata], timeout_ms: float) -> None:
        """Tries again what may be tried again until the time is up. Raises CommitFailed if we are no member now."""

    async def committed(
        self, partitions: Iterable[TopicPartition], timeout_ms: float
    ) -> dict[TopicPartition, OffsetAndMetadata | None]:
        """Return the committed offsets of the group; None for partitions without one."""

    def group_metadata(self) -> GroupMetadata: ...

    def enforce_rebalance(self, reason: str | None = None) -> None:
        """At the next poll, with the classic protocol; the consumer protocol knows no such thing, as in Kafka."""

    async def leave(self, timeout_ms: float) -> None:
        """For `unsubscribe`: callbacks, a last automatic commit, and out of the group. It may be joined again."""

    async def close(self, timeout_ms: float) -> None:
        """Leave and stop the tasks. A member with `group.instance.id` stays in its group."""


def membership(
    settings: ConsumerConfig,
    network: NetworkClient,
    subscriptions: Subscriptions,
    listener: Callable[[], RebalanceListener | None],
) -> Membership:
    """`listener` is asked each time, since every `subscribe` may bring another."""
    if settings.group_id is None:
        return NoMembership(subscriptions)
    driver = ConsumerDriver if settings.group_protocol == "consumer" else ClassicDriver
    return driver(settings, network, subscriptions, listener)


__all__ = ["GroupMetadata", "Membership", "RebalanceListener", "membership"]
