"""Metadata of the cluster as a client knows it: nodes, topics, leaders of partitions, and their age.

Pure: the time comes in with each call. The driver (`metadata_updater`) asks `question()`, sends it as a Metadata
request, and gives the answer to `update()`.

What is asked for: every topic (`want_all`), or those that somebody wants. Consumers say the whole set (`want_topics`);
producers name topics as they use them (`use_topic`), and those that nobody used for metadata.max.idle.ms are dropped.

A partition's leader epoch never goes back: nodes learn of changes at different times, and an answer older than what is
known is left alone for that partition. Only a topic that was made anew, which its other id shows, starts again.
`version` rises at each change that is visible here, so that others may keep what they derived from it.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

from odradek.client.types import TopicPartition
from odradek.common.ids import ZERO_UUID
from odradek.protocol.error_codes import ErrorCode
from odradek.protocol.messages.metadata_response import (
    MetadataResponse,
    MetadataResponsePartition,
    MetadataResponseTopic,
)

#: On the wire: no epoch is known.
NO_EPOCH = -1


@dataclass(frozen=True, slots=True)
class Node:
    id: int
    host: str
    port: int
    rack: str | None = None


class LeaderAndEpoch(NamedTuple):
    node_id: int
    #: NO_EPOCH from nodes that are too old to say.
    epoch: int


@dataclass(frozen=True, slots=True)
class PartitionMetadata:
    topic: str
    partition: int
    #: None while nobody leads it.
    leader_id: int | None
    leader_epoch: int
    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    offline_replicas: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class TopicMetadata:
    name: str
    #: ZERO_UUID from nodes that are too old to say.
    topic_id: bytes
    is_internal: bool
    #: By their number; place 0 is partition 0.
    partitions: tuple[PartitionMetadata, ...]


@dataclass(frozen=True, slots=True)
class Question:
    """`topics` is None for all of them. `is_whole` unless only topics that are not known yet are asked for."""

    topics: tuple[str, ...] | None
    is_whole: bool


class MetadataCache:
    def __init__(self, max_age_ms: float, max_idle_ms: float | None = None) -> None:
        """`max_idle_ms`: metadata.max.idle.ms of producers."""
        self.version = 0
        self.cluster_id: str | None = None
        self.controller_id: int | None = None
        #: By id.
        self.nodes: Mapping[int, Node] = {}
        self._max_age_ms = max_age_ms
        self._max_idle_ms = max_idle_ms
        self._topics: dict[str, TopicMetadata] = {}
        self._names: dict[bytes, str] = {}
        self._leaders: dict[TopicPartition, LeaderAndEpoch] = {}
        #: Of every partition that was ever told of; also those that nobody leads now.
        self._epochs: dict[TopicPartition, int] = {}
        self._errors: dict[str, int] = {}
        self._wants_all = False
        self._used_topics: dict[str, None] = {}
        self._used_ms: dict[str, float] = {}
        #: Wanted, and not in any answer yet.
        self._new: dict[str, None] = {}
        self._is_requested = True
        self._updated_ms = float("-inf")

    # what is known

    @property
    def topics(self) -> Mapping[str, TopicMetadata]:
        """All that are known, by name."""
        return self._topics

    def topic(self, name: str) -> TopicMetadata | None:
        return self._topics.get(name)

    def topic_error(self, name: str) -> int:
        """The error code that the last answer had for the topic; 0 for none."""
        return self._errors.get(name, ErrorCode.NONE)

    def partitions(self, topic: str) -> tuple[PartitionMetadata, ...]:
        """Return the partitions of a topic; none if it is not cached."""
        metadata = self._topics.get(topic)
        return () if metadata is None else metadata.partitions

    def leader(self, partition: TopicPartition) -> LeaderAndEpoch | None:
        """None while it is not known, or nobody leads it."""
        return self._leaders.get(partition)

    def leader_epoch(self, partition: TopicPartition) -> int:
        """The latest that was seen anywhere; NO_EPOCH for none."""
        return self._epochs.get(partition, NO_EPOCH)

    def topic_id(self, name: str) -> bytes | None:
        """None also from nodes that are too old to say."""
        metadata = self._topics.get(name)
        return None if metadata is None or metadata.topic_id == ZERO_UUID else metadata.topic_id

    def topic_name(self, topic_id: bytes) -> str | None:
        return self._names.get(topic_id)

    # what is wanted

    def want_topics(self, names: Iterable[str]) -> None:
        """These and no others (but those in use); what is new among them is asked for at once."""
        previous, self._used_topics = self._used_topics, dict.fromkeys(names)
        self._wants_all = False
        for name in self._used_topics:
            if name not in previous:
                self._want_new(name)

    def want_all(self) -> None:
        if not self._wants_all:
            self._wants_all = True
            self._is_requested = True

    def use_topic(self, name: str, now_ms: float) -> None:
        """Wanted too, until nobody used it for metadata.max.idle.ms."""
        if name not in self._used_ms:
            self._want_new(name)
        self._used_ms[name] = now_ms

    def _want_new(self, name: str) -> None:
        if name not in self._topics:
            self._new[name] = None

    def request_update(self) -> None:
        """Request an update, because the cached metadata turned out to be wrong."""
        self._is_requested = True

    @property
    def has_new(self) -> bool:
        """A topic is wanted that no answer was about."""
        return bool(self._new)

    @property
    def is_requested(self) -> bool:
        """Somebody said so, or wants a topic that is not known; age apart."""
        return self._is_requested or bool(self._new)

    def is_stale(self, now_ms: float) -> bool:
        """Return whether an update is due: by age, on request, or for a topic that is not cached."""
        return self.is_requested or now_ms >= self.stale_at_ms()

    def stale_at_ms(self) -> float:
        """Return the time at which the metadata is too old."""
        return self._updated_ms + self._max_age_ms

    def question(self, now_ms: float) -> Question:
        """Return the topics to request now; forgets topics that were idle for too long."""
        self._forget_idle(now_ms)
        if self._wants_all:
            return Question(None, is_whole=True)
        if self._new and not self._is_requested and now_ms < self.stale_at_ms():
            return Question(tuple(self._new), is_whole=False)
        return Question(tuple(self._used_topics | self._used_ms), is_whole=True)

    def _forget_idle(self, now_ms: float) -> None:
        if self._max_idle_ms is None:
            return
        idle = [name for name, used_ms in self._used_ms.items() if now_ms - used_ms >= self._max_idle_ms]
        for name in idle:
            del self._used_ms[name]
            if name not in self._used_topics:
                self._new.pop(name, None)

    # what changes it

    def update(self, response: MetadataResponse, now_ms: float, *, is_whole: bool = True) -> None:
        """Apply a response; `is_whole` if the request named all used topics."""
        self.version += 1
        self.cluster_id = response.cluster_id
        self.controller_id = None if response.controller_id < 0 else response.controller_id
        self.nodes = {
            broker.node_id: Node(broker.node_id, broker.host, broker.port, broker.rack) for broker in response.brokers
        }
        if is_whole:
            self._is_requested = False
            self._updated_ms = now_ms
            self._forget_absent({topic.name for topic in response.topics})
            self._errors.clear()
        for topic in response.topics:
            self._update_topic(topic)

    def _forget_absent(self, names: "set[str | None]") -> None:
        for name in [name for name in self._topics if name not in names]:
            self._forget(name)

    def _forget(self, name: str) -> None:
        metadata = self._topics.pop(name, None)
        if metadata is None:
            return
        self._names.pop(metadata.topic_id, None)
        for partition in metadata.partitions:
            self._leaders.pop(TopicPartition(name, partition.partition), None)

    def _update_topic(self, response: MetadataResponseTopic) -> None:
        name = response.name or ""
        self._new.pop(name, None)
        if response.error_code != ErrorCode.NONE:
            self._forget(name)
            self._errors[name] = response.error_code
            if response.error_code in _PASSING:
                self._is_requested = True
            return
        self._errors.pop(name, None)
        previous = self._topics.get(name)
        if previous is not None and previous.topic_id != response.topic_id:
            self._forget(name)
            previous = None
        partitions = tuple(
            self._newer(name, partition, previous)
            for partition in sorted(response.partitions, key=lambda partition: partition.partition_index)
        )
        self._topics[name] = TopicMetadata(name, response.topic_id, response.is_internal, partitions)
        if response.topic_id != ZERO_UUID:
            self._names[response.topic_id] = name
        for partition in partitions:
            self._lead(partition)

    def _newer(
        self, topic: str, response: MetadataResponsePartition, previous: TopicMetadata | None
    ) -> PartitionMetadata:
        """Return the partition of the response, or of `previous` (the same topic) if that has a newer epoch."""
        topic_partition = TopicPartition(topic, response.partition_index)
        is_known = previous is not None and response.partition_index < len(previous.partitions)
        if previous is not None and is_known and NO_EPOCH < response.leader_epoch < self.leader_epoch(topic_partition):
            return previous.partitions[response.partition_index]
        if response.error_code in _PASSING:
            self._is_requested = True
        self._epochs[topic_partition] = response.leader_epoch
        return PartitionMetadata(
            topic,
            response.partition_index,
            None if response.leader_id < 0 else response.leader_id,
            response.leader_epoch,
            tuple(response.replica_nodes),
            tuple(response.isr_nodes),
            tuple(response.offline_replicas),
        )

    def _lead(self, partition: PartitionMetadata) -> None:
        topic_partition = TopicPartition(partition.topic, partition.partition)
        if partition.leader_id is None:
            self._leaders.pop(topic_partition, None)
        else:
            self._leaders[topic_partition] = LeaderAndEpoch(partition.leader_id, partition.leader_epoch)

    def update_leader(self, partition: TopicPartition, node_id: int, epoch: int, node: Node | None = None) -> bool:
        """What a Produce or Fetch response says about the new leader (KIP-951), with its address where that is said
        too. True if it was news: a later epoch than the one known, of a node whose address is known."""
        metadata = self._topics.get(partition.topic)
        if metadata is None or partition.partition >= len(metadata.partitions) or epoch <= self.leader_epoch(partition):
            return False
        if node is not None:
            self.nodes = {**self.nodes, node_id: node}
        if node_id not in self.nodes:
            return False
        changed = replace(metadata.partitions[partition.partition], leader_id=node_id, leader_epoch=epoch)
        partitions = list(metadata.partitions)
        partitions[partition.partition] = changed
        self._topics[partition.topic] = replace(metadata, partitions=tuple(partitions))
        self._epochs[partition] = epoch
        self._lead(changed)
        self.version += 1
        return True

    def see_epoch(self, partition: TopicPartition, epoch: int) -> bool:
        """An epoch that was met elsewhere (a commit, a record). True, and an update is due, if it is a later one."""
        cached_epoch = self._epochs.get(partition)
        if cached_epoch is None or epoch <= cached_epoch:
            return False
        self._epochs[partition] = epoch
        self._is_requested = True
        return True


#: What passes by itself: worth asking again soon.
_PASSING = (
    ErrorCode.LEADER_NOT_AVAILABLE,
    ErrorCode.LISTENER_NOT_FOUND,
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
)
