"""Subscription and assignment of a consumer: Kafka's SubscriptionState. Pure.

A consumer subscribes to topics (by name, by a pattern of its own, or by a pattern that the broker matches), and then
its group assigns partitions to it; or it assigns them itself. Never both at once. Each assigned partition has a
`PartitionState`. Who holds partitions in order of assignment can rely on it: dicts here keep that order.

Three parts of the consumer meet here. The group's membership reads `topics` and calls `assign_from_group`,
`mark_pending_revocation`, `all_consumed`; the offsets part gives partitions their positions (`initializing`,
`awaiting_reset`, `awaiting_validation`); the fetcher asks which are fetchable, and the collector advances positions.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from enum import Enum

from odradek.client.consumer.partition_state import FetchPosition, FetchState, PartitionState
from odradek.client.net.metadata_cache import LeaderAndEpoch
from odradek.client.settings.settings import OffsetReset
from odradek.client.types import OffsetAndMetadata, TopicPartition
from odradek.common.failures import InputError, check


class SubscriptionKind(Enum):
    NONE = "nothing"
    TOPICS = "topics"
    PATTERN = "a pattern"
    SERVER_PATTERN = "a pattern that the broker matches"
    ASSIGNED = "partitions assigned by hand"


class Subscriptions:
    def __init__(self, reset: OffsetReset) -> None:
        """`reset` is auto.offset.reset."""
        self.kind = SubscriptionKind.NONE
        self.reset = reset
        #: Subscribed to; under PATTERN those that match it now. In ascending order.
        self.topics: tuple[str, ...] = ()
        self.pattern: re.Pattern[str] | None = None
        #: RE2 in the words of the broker (KIP-848).
        self.server_pattern: str | None = None
        #: Of all members, where this one leads a classic group: metadata of these is kept, too.
        self.group_topics: tuple[str, ...] = ()
        #: Rises whenever topics or pattern change: a reason to join again.
        self.subscription_version = 0
        #: Rises whenever the assignment changes.
        self.assignment_version = 0
        #: Called when something became fetchable, or ceased to be; set by the consumer, like the two below.
        self.on_change: Callable[[], None] = lambda: None
        #: Called before positions are looked at: those of records that are being handed out are not noted one by one.
        self.before_read: Callable[[], None] = lambda: None
        #: Called before a position jumps or may not be read on: what was not handed out yet is not to be.
        self.before_change: Callable[[], None] = lambda: None
        self._states: dict[TopicPartition, PartitionState] = {}

    # What is wanted

    @property
    def has_group_assignment(self) -> bool:
        """Return whether the group assigns the partitions."""
        return self.kind not in (SubscriptionKind.NONE, SubscriptionKind.ASSIGNED)

    def subscribe(self, topics: Iterable[str]) -> None:
        self._become(SubscriptionKind.TOPICS)
        self._want(topics)

    def subscribe_pattern(self, pattern: re.Pattern[str]) -> None:
        """Topics are found by `match_topics`, once there is metadata of all of them."""
        self._become(SubscriptionKind.PATTERN)
        if pattern != self.pattern:
            self.pattern = pattern
            self.subscription_version += 1

    def subscribe_server_pattern(self, pattern: str) -> None:
        self._become(SubscriptionKind.SERVER_PATTERN)
        if pattern != self.server_pattern:
            self.server_pattern = pattern
            self.subscription_version += 1

    def match_topics(self, names: Iterable[str]) -> bool:
        """Under PATTERN, of all topics that there are (internal ones left out). Whether the topics changed."""
        if self.pattern is None:
            return False
        return self._want(name for name in names if self.pattern.fullmatch(name))

    def group_subscribe(self, topics: Iterable[str]) -> None:
        self.group_topics = tuple(sorted({*topics}))

    def metadata_topics(self) -> tuple[str, ...]:
        """Whose metadata this consumer needs, apart from patterns."""
        assigned = (partition.topic for partition in self._states)
        return tuple(sorted({*self.topics, *self.group_topics, *assigned}))

    def unsubscribe(self) -> None:
        self.kind = SubscriptionKind.NONE
        self.topics, self.group_topics = (), ()
        self.pattern, self.server_pattern = None, None
        self.subscription_version += 1
        self._assign(())

    def _become(self, kind: SubscriptionKind) -> None:
        if self.kind not in (SubscriptionKind.NONE, kind):
            raise InputError(
                f"this consumer is subscribed to {self.kind.value}, and it can have only one kind of subscription: "
                f"call unsubscribe() before {kind.value}"
            )
        self.kind = kind

    def _want(self, topics: Iterable[str]) -> bool:
        sorted_topics = tuple(sorted({*topics}))
        if sorted_topics == self.topics:
            return False
        self.topics = sorted_topics
        self.subscription_version += 1
        return True

    # What is assigned

    def assign(self, partitions: Iterable[TopicPartition]) -> None:
        """Assign partitions for the application. Partitions that were assigned before keep their position."""
        self._become(SubscriptionKind.ASSIGNED)
        self._assign(partitions)

    def assign_from_group(self, partitions: Iterable[TopicPartition], *, awaiting_callback: bool = False) -> None:
        """All that are ours from now on. Those that were before keep their position; others begin to initialize, and
        with `awaiting_callback` are not fetched before `callback_done`."""
        check(self.has_group_assignment, "a group assigns no partitions to a consumer that does not subscribe")
        states = self._states
        self._assign(partitions)
        for state in self._states.values():
            state.pending_revocation = False  # of a step that was broken off
        if awaiting_callback:
            for partition, state in self._states.items():
                state.pending_assigned_callback |= partition not in states

    def callback_done(self, partitions: Iterable[TopicPartition]) -> None:
        for partition in partitions:
            if (state := self._states.get(partition)) is not None:
                state.pending_assigned_callback = False
        self.on_change()

    def mark_pending_revocation(self, partitions: Iterable[TopicPartition]) -> None:
        """They are ours still, but nothing more of them is handed out or fetched."""
        self.before_change()
        for partition in partitions:
            if (state := self._states.get(partition)) is not None:
                state.pending_revocation = True
        self.on_change()

    def partitions(self) -> tuple[TopicPartition, ...]:
        return tuple(self._states)

    def is_assigned(self, partition: TopicPartition) -> bool:
        return partition in self._states

    def state(self, partition: TopicPartition) -> PartitionState | None:
        return self._states.get(partition)

    def states(self) -> Iterable[tuple[TopicPartition, PartitionState]]:
        return self._states.items()

    def assigned_state(self, partition: TopicPartition) -> PartitionState:
        """Raises InputError: an application asked for what it does not have."""
        state = self._states.get(partition)
        if state is None:
            raise InputError(f"{partition} is not assigned to this consumer; assignment() returns what is")
        return state

    def _assign(self, partitions: Iterable[TopicPartition]) -> None:
        self.before_change()
        states = self._states
        self._states = {partition: states.get(partition) or PartitionState() for partition in dict.fromkeys(partitions)}
        for partition, state in states.items():
            if partition not in self._states:
                state.generation += 1
        self.assignment_version += 1
        self.on_change()

    # Positions

    def position(self, partition: TopicPartition) -> FetchPosition | None:
        """None while it has no valid one, or is not assigned."""
        self.before_read()
        state = self._states.get(partition)
        return state.position if state is not None and state.has_valid_position else None

    def seek(self, partition: TopicPartition, position: FetchPosition) -> None:
        state = self.assigned_state(partition)
        self.before_change()
        state.seek(position)
        self.on_change()

    def meet_leader(self, partition: TopicPartition, leader: LeaderAndEpoch) -> None:
        """The metadata has a leader for it. With another one than before the position is validated."""
        state = self._states.get(partition)
        if state is not None and state.position is not None and state.position.leader != leader:
            self.before_change()
            state.meet_leader(leader)

    def request_reset(self, partition: TopicPartition, reset: OffsetReset | None = None) -> None:
        """Request that the position is reset as `reset` says, or as auto.offset.reset does."""
        state = self.assigned_state(partition)
        self.before_change()
        state.await_reset(reset or self.reset)
        self.on_change()

    def all_consumed(self) -> dict[TopicPartition, OffsetAndMetadata]:
        """Return the offsets to commit of all partitions."""
        self.before_read()
        return {
            partition: OffsetAndMetadata(state.position.offset, state.position.offset_epoch, "")
            for partition, state in self._states.items()
            if state.position is not None and state.has_valid_position
        }

    def initializing(self) -> tuple[TopicPartition, ...]:
        """They have no position at all: the committed ones come first, the reset policy second."""
        return tuple(
            partition
            for partition, state in self._states.items()
            if state.state is FetchState.INITIALIZING and not state.pending_revocation
        )

    def awaiting_reset(self, now_ms: float) -> tuple[TopicPartition, ...]:
        return self._due(FetchState.AWAIT_RESET, now_ms)

    def awaiting_validation(self, now_ms: float) -> tuple[TopicPartition, ...]:
        return self._due(FetchState.AWAIT_VALIDATION, now_ms)

    def _due(self, state: FetchState, now_ms: float) -> tuple[TopicPartition, ...]:
        return tuple(
            partition for partition, partition_state in self._states.items() if partition_state.is_due(state, now_ms)
        )

    def has_all_positions(self) -> bool:
        return all(state.has_valid_position for state in self._states.values())

    def back_off(self, partitions: Iterable[TopicPartition], until_ms: float) -> None:
        """A request for their positions was sent, or failed: not again before then."""
        for partition in partitions:
            if (state := self._states.get(partition)) is not None:
                state.next_retry_ms = until_ms

    # Pausing and fetching

    def pause(self, partitions: Iterable[TopicPartition]) -> None:
        states = [self.assigned_state(partition) for partition in partitions]
        self.before_change()
        for state in states:
            state.paused = True
        self.on_change()

    def resume(self, partitions: Iterable[TopicPartition]) -> None:
        for state in [self.assigned_state(partition) for partition in partitions]:
            state.paused = False
        self.on_change()

    def paused(self) -> tuple[TopicPartition, ...]:
        return tuple(partition for partition, state in self._states.items() if state.paused)

    def is_fetchable(self, partition: TopicPartition) -> bool:
        state = self._states.get(partition)
        return state is not None and state.is_fetchable and self._is_subscribed(partition)

    def fetchable(self) -> Iterator[tuple[TopicPartition, PartitionState]]:
        """In the order in which they are to be asked for."""
        for partition, state in self._states.items():
            if state.is_fetchable and self._is_subscribed(partition):
                yield partition, state

    def move_to_end(self, partition: TopicPartition) -> None:
        """Move a partition that returned data behind the others, which are fetched first."""
        if (state := self._states.pop(partition, None)) is not None:
            self._states[partition] = state

    def _is_subscribed(self, partition: TopicPartition) -> bool:
        """A topic that was given up is still assigned until the group has rebalanced."""
        return self.kind is not SubscriptionKind.TOPICS or partition.topic in self.topics

    # Lag

    def lag(self, partition: TopicPartition, *, read_committed: bool) -> int | None:
        """Records behind the end, as the last fetch knew it; None before that."""
        self.before_read()
        state = self.assigned_state(partition)
        end = state.last_stable_offset if read_committed else state.high_watermark
        if state.position is None or end is None:
            return None
        return max(0, end - state.position.offset)
