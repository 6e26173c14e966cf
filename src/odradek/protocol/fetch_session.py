"""The requesting side of incremental fetch sessions (KIP-227), for consumers and for followers. Pure.

After one full request, only the partitions that changed are sent, and only those with news come back. Both ends
remember the partitions of the session, in epochs that increase by one with each request: 0 opens a new session, -1
closes it. If a response shows that the two ends do not agree, its partitions are not used and the next request is full
again. There is one handler for each broker that is fetched from.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from odradek.common.ids import ZERO_UUID, TopicPartition
from odradek.protocol.error_codes import ErrorCode
from odradek.protocol.messages.fetch_request import FetchPartition, FetchRequest, FetchTopic, ForgottenTopic
from odradek.protocol.messages.fetch_response import FetchResponse, PartitionData

_NO_SESSION = 0
_INITIAL_EPOCH = 0
_FINAL_EPOCH = -1
_EPOCH_MAX = 2**31 - 1

#: First version with topic ids instead of names.
_FIRST_TOPIC_ID_VERSION = 13


class PartitionFetch(NamedTuple):
    """Parameters of the fetch of one partition; a partition is sent again when any of them changes."""

    topic_id: bytes
    fetch_offset: int
    max_bytes: int
    leader_epoch: int
    log_start_offset: int = -1
    last_fetched_epoch: int = -1
    #: Not sent: identifies a position of the caller, who compares it when the response arrives.
    generation: int = 0


@dataclass(frozen=True, slots=True)
class FetchRequestData:
    """The part of a Fetch request that belongs to its session."""

    session_id: int
    epoch: int
    to_send: Mapping[TopicPartition, PartitionFetch]
    #: Partitions that leave the session, with the topic id that they had in it.
    to_forget: Mapping[TopicPartition, bytes] = field(default_factory=dict)
    has_topic_ids: bool = True

    @property
    def last_version(self) -> int:
        """Highest version that can carry the request: without topic ids, the last one with names."""
        return FetchRequest.VERSIONS[1] if self.has_topic_ids else _FIRST_TOPIC_ID_VERSION - 1

    def topics(self) -> list[FetchTopic]:
        """Return the partitions to send by topic; topics keep the order of their first partition."""
        topics: dict[tuple[str, bytes], FetchTopic] = {}
        for (topic, partition), fetch in self.to_send.items():
            fetch_topic = topics.get((topic, fetch.topic_id))
            if fetch_topic is None:
                fetch_topic = topics[topic, fetch.topic_id] = FetchTopic(topic=topic, topic_id=fetch.topic_id)
            fetch_topic.partitions.append(
                FetchPartition(
                    partition=partition,
                    current_leader_epoch=fetch.leader_epoch,
                    fetch_offset=fetch.fetch_offset,
                    last_fetched_epoch=fetch.last_fetched_epoch,
                    log_start_offset=fetch.log_start_offset,
                    partition_max_bytes=fetch.max_bytes,
                )
            )
        return list(topics.values())

    def forgotten_topics(self) -> list[ForgottenTopic]:
        forgotten: dict[tuple[str, bytes], ForgottenTopic] = {}
        for (topic, partition), topic_id in self.to_forget.items():
            forgotten_topic = forgotten.setdefault((topic, topic_id), ForgottenTopic(topic=topic, topic_id=topic_id))
            forgotten_topic.partitions.append(partition)
        return list(forgotten.values())


class FetchSessionHandler:
    """Session with one broker: builds the requests, and decides whether a response belongs to it."""

    __slots__ = ("_epoch", "_id", "_names", "partitions")

    def __init__(self) -> None:
        self._id = _NO_SESSION
        self._epoch = _INITIAL_EPOCH
        #: Partitions that both ends have in the session, as of the last request.
        self.partitions: Mapping[TopicPartition, PartitionFetch] = {}
        #: Topic names by id.
        self._names: dict[bytes, str] = {}

    @property
    def is_full(self) -> bool:
        """True if the next request names all partitions."""
        return self._epoch in (_INITIAL_EPOCH, _FINAL_EPOCH)

    def build(self, partitions: Mapping[TopicPartition, PartitionFetch]) -> FetchRequestData:
        """Return the next request, which reads these partitions. Others leave the session."""
        previous, self.partitions = self.partitions, partitions
        previous_has_ids = ZERO_UUID not in self._names
        self._names = {fetch.topic_id: partition.topic for partition, fetch in partitions.items()}
        has_ids = ZERO_UUID not in self._names
        if self.is_full:
            return FetchRequestData(self._id, self._epoch, partitions, {}, has_ids)
        to_send = {partition: fetch for partition, fetch in partitions.items() if previous.get(partition) != fetch}
        to_forget = {
            partition: fetch.topic_id
            for partition, fetch in previous.items()
            if partition not in partitions or partitions[partition].topic_id != fetch.topic_id
        }
        return FetchRequestData(self._id, self._epoch, to_send, to_forget, has_ids and previous_has_ids)

    def build_close_request(self) -> FetchRequestData | None:
        """Return the request that closes the session at the broker, or None if there is no session."""
        if self._id == _NO_SESSION:
            return None
        closing = FetchRequestData(self._id, _FINAL_EPOCH, {})
        self._restart()
        return closing

    def handle_response(self, response: FetchResponse, version: int) -> dict[TopicPartition, PartitionData] | None:
        """Return the data of each partition, or None if the two ends disagree and the next request is full."""
        if response.error_code:
            if response.error_code == ErrorCode.FETCH_SESSION_ID_NOT_FOUND:
                self._restart()
            else:
                self.handle_error()
            return None
        data_by_partition = self._data_by_partition(response, version)
        agrees = data_by_partition.keys() <= self.partitions.keys()
        if self.is_full:
            agrees = agrees and len(data_by_partition) == len(self.partitions)
        if not agrees:  # also a full response without any partition, which is how a client is throttled (KIP-219)
            if self.is_full:
                self._restart()
            else:
                self.handle_error()
            return None
        if response.session_id == _NO_SESSION:
            self._restart()
        elif self.is_full:
            self._id, self._epoch = response.session_id, _INITIAL_EPOCH + 1
        else:
            self._epoch = _INITIAL_EPOCH + 1 if self._epoch == _EPOCH_MAX else self._epoch + 1
        return data_by_partition

    def handle_error(self) -> None:
        """Close the session with the next request, and open a new one.

        Without a usable response it is unknown whether the broker counted the request."""
        self._epoch = _INITIAL_EPOCH

    def _restart(self) -> None:
        self._id, self._epoch = _NO_SESSION, _INITIAL_EPOCH

    def _data_by_partition(self, response: FetchResponse, version: int) -> dict[TopicPartition, PartitionData]:
        """A topic id that is not in the session gets its hex form as name, which no partition of the session has."""
        by_name = version < _FIRST_TOPIC_ID_VERSION
        data_by_partition = {}
        for topic in response.responses:
            name = topic.topic if by_name else self._names.get(topic.topic_id, topic.topic_id.hex())
            for data in topic.partitions:
                data_by_partition[TopicPartition(name, data.partition_index)] = data
        return data_by_partition
