"""What a client knows of the cluster: nodes, topics, who leads each partition, and how old all that is.

Pure: the time comes in with each call. The driver (`network_client`) asks `question()`, sends it as a Metadata request,
and gives the answer to `update()`.

What is asked for: every topic (`want_all`), or those that somebody wants. Consumers say the whole set (`want_topics`);
producers name topics as they use them (`use_topic`), and those that nobody used for metadata.max.idle.ms are dropped.

A partition's leader epoch never goes back: nodes learn of changes at different times, and an answer older than what is
known is left alone for that partition. Only a topic that was made anew, which its other id shows, starts again.
`version` rises at each change that is visible here, so that others may keep what they derived from it.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from odradek.client.topic_partition import TopicPartition
from odradek.protocol.messages.metadata_response import MetadataResponse

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

    # what is known

    @property
    def topics(self) -> Mapping[str, TopicMetadata]:
        """All that are known, by name."""
        raise NotImplementedError

    def topic(self, name: str) -> TopicMetadata | None:
        raise NotImplementedError

    def topic_error(self, name: str) -> int:
        """The error code that the last answer had for the topic; 0 for none."""
        raise NotImplementedError

    def partitions(self, topic: str) -> tuple[PartitionMetadata, ...]:
        """Of a topic; none if it is not known."""
        raise NotImplementedError

    def leader(self, partition: TopicPartition) -> LeaderAndEpoch | None:
        """None while it is not known, or nobody leads it."""
        raise NotImplementedError

    def leader_epoch(self, partition: TopicPartition) -> int:
        """The latest that was seen anywhere; NO_EPOCH for none."""
        raise NotImplementedError

    def topic_id(self, name: str) -> bytes | None:
        raise NotImplementedError

    def topic_name(self, topic_id: bytes) -> str | None:
        raise NotImplementedError

    # what is wanted

    def want_topics(self, names: Iterable[str]) -> None:
        """These and no others (but those in use); what is new among them is asked for at once."""
        raise NotImplementedError

    def want_all(self) -> None:
        raise NotImplementedError

    def use_topic(self, name: str, now_ms: float) -> None:
        """Wanted too, until nobody used it for metadata.max.idle.ms."""
        raise NotImplementedError

    def request_update(self) -> None:
        """What is known was found to be wrong."""
        raise NotImplementedError

    def is_stale(self, now_ms: float) -> bool:
        """Whether it is to be asked for: by its age, because somebody said so, or for a topic that is not known."""
        raise NotImplementedError

    def stale_at_ms(self) -> float:
        """When age alone makes it so."""
        raise NotImplementedError

    def question(self, now_ms: float) -> Question:
        """What to ask now; forgets topics that were idle for too long."""
        raise NotImplementedError

    # what changes it

    def update(self, response: MetadataResponse, now_ms: float, *, is_whole: bool = True) -> None:
        """Of an answer to a question that was whole or not."""
        raise NotImplementedError

    def update_leader(self, partition: TopicPartition, node_id: int, epoch: int, node: Node | None = None) -> bool:
        """What a Produce or Fetch response says about the new leader (KIP-951), with its address where that is said
        too. True if it was news: a later epoch than the one known."""
        raise NotImplementedError

    def see_epoch(self, partition: TopicPartition, epoch: int) -> bool:
        """An epoch that was met elsewhere (a commit, a record). True, and an update is due, if it is a later one."""
        raise NotImplementedError
