"""Incremental fetch sessions (KIP-227): after one full request, only what changed is sent, and only what there is comes
back. Pure; one for each node.

Both ends remember the partitions of the session, in epochs that rise by one with each request: 0 makes a new session,
-1 closes it. A response that shows that the two ends no longer agree is of no use, and the next request is full again.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from odradek.client.types import TopicPartition
from odradek.common.ids import ZERO_UUID
from odradek.protocol.error_codes import ErrorCode
from odradek.protocol.messages.fetch_request import FetchPartition, FetchRequest, FetchTopic, ForgottenTopic
from odradek.protocol.messages.fetch_response import FetchResponse, PartitionData

_NO_SESSION = 0
_FIRST_EPOCH = 0
_FINAL_EPOCH = -1
_EPOCH_MAX = 2**31 - 1

#: From this version on topics go by their ids.
_TOPIC_IDS_FROM = 13


class PartitionFetch(NamedTuple):
    """What is asked for in one partition. `generation` is the position's, for whoever gets the answer."""

    topic_id: bytes
    fetch_offset: int
    max_bytes: int
    leader_epoch: int
    generation: int


@dataclass(frozen=True, slots=True)
class SessionRequest:
    session_id: int
    epoch: int
    to_send: Mapping[TopicPartition, PartitionFetch]
    #: With the topic id that the session had for each.
    to_forget: Mapping[TopicPartition, bytes] = field(default_factory=dict)
    has_topic_ids: bool = True

    @property
    def last_version(self) -> int:
        """The highest in which it can be said: without ids the last that has names."""
        return FetchRequest.VERSIONS[1] if self.has_topic_ids else _TOPIC_IDS_FROM - 1

    def fill(self, request: FetchRequest) -> None:
        """Writes the session's part of a request. Topics keep the order of their first partition."""
        request.session_id, request.session_epoch = self.session_id, self.epoch
        topics: dict[tuple[str, bytes], FetchTopic] = {}
        for (topic, partition), wanted in self.to_send.items():
            entry = topics.get((topic, wanted.topic_id))
            if entry is None:
                entry = topics[topic, wanted.topic_id] = FetchTopic(topic=topic, topic_id=wanted.topic_id)
            entry.partitions.append(
                FetchPartition(
                    partition=partition,
                    current_leader_epoch=wanted.leader_epoch,
                    fetch_offset=wanted.fetch_offset,
                    partition_max_bytes=wanted.max_bytes,
                )
            )
        forgotten: dict[tuple[str, bytes], ForgottenTopic] = {}
        for (topic, partition), topic_id in self.to_forget.items():
            gone = forgotten.setdefault((topic, topic_id), ForgottenTopic(topic=topic, topic_id=topic_id))
            gone.partitions.append(partition)
        request.topics, request.forgotten_topics_data = list(topics.values()), list(forgotten.values())


class FetchSession:
    def __init__(self) -> None:
        self._id = _NO_SESSION
        self._epoch = _FIRST_EPOCH
        #: What both ends have in the session, as of the last request.
        self.partitions: dict[TopicPartition, PartitionFetch] = {}
        self._names: dict[bytes, str] = {}

    @property
    def is_full(self) -> bool:
        return self._epoch in (_FIRST_EPOCH, _FINAL_EPOCH)

    def build(self, wanted: Mapping[TopicPartition, PartitionFetch]) -> SessionRequest:
        """The next request. What is not wanted any more leaves the session."""
        known, self.partitions = self.partitions, dict(wanted)
        has_ids = all(each.topic_id != ZERO_UUID for each in wanted.values())
        if self.is_full:
            self._remember_names(wanted, has_ids)
            return SessionRequest(self._id, self._epoch, self.partitions, {}, has_ids)
        has_ids &= all(each.topic_id != ZERO_UUID for each in known.values())
        to_send = {partition: each for partition, each in wanted.items() if known.get(partition) != each}
        to_forget = {
            partition: each.topic_id
            for partition, each in known.items()
            if partition not in wanted or wanted[partition].topic_id != each.topic_id
        }
        self._remember_names(wanted, has_ids)
        return SessionRequest(self._id, self._epoch, to_send, to_forget, has_ids)

    def closing(self) -> SessionRequest | None:
        """The request that ends the session at the other end; None if there is none."""
        if self._id == _NO_SESSION:
            return None
        closing = SessionRequest(self._id, _FINAL_EPOCH, {})
        self._begin_anew()
        return closing

    def handle_response(self, response: FetchResponse, version: int) -> dict[TopicPartition, PartitionData] | None:
        """What it has for each partition; None if the two ends do not agree, and the next request is a full one."""
        if response.error_code:
            if response.error_code == ErrorCode.FETCH_SESSION_ID_NOT_FOUND:
                self._begin_anew()
            else:
                self.handle_error()
            return None
        found = self._named(response, version)
        agrees = all(partition in self.partitions for partition in found)
        if self.is_full:
            agrees &= len(found) == len(self.partitions)
        if not agrees:  # also a full response without any partition, which is how a client is throttled (KIP-219)
            if self.is_full:
                self._begin_anew()
            else:
                self.handle_error()
            return None
        if response.session_id == _NO_SESSION:
            self._begin_anew()
        elif self.is_full:
            self._id, self._epoch = response.session_id, _FIRST_EPOCH + 1
        else:
            self._epoch = _FIRST_EPOCH + 1 if self._epoch == _EPOCH_MAX else self._epoch + 1
        return found

    def handle_error(self) -> None:
        """No answer: whether the other end counts the request is not known. The next one ends its session, and asks for
        a new one."""
        self._epoch = _FIRST_EPOCH

    def _begin_anew(self) -> None:
        self._id, self._epoch = _NO_SESSION, _FIRST_EPOCH

    def _remember_names(self, wanted: Mapping[TopicPartition, PartitionFetch], has_ids: bool) -> None:
        self._names = {each.topic_id: partition.topic for partition, each in wanted.items()} if has_ids else {}

    def _named(self, response: FetchResponse, version: int) -> dict[TopicPartition, PartitionData]:
        """Of a topic id that is not in the session the name is its hex form, which is none of ours."""
        found = {}
        for topic in response.responses:
            name = topic.topic if version < _TOPIC_IDS_FROM else self._names.get(topic.topic_id, topic.topic_id.hex())
            for data in topic.partitions:
                found[TopicPartition(name, data.partition_index)] = data
        return found
