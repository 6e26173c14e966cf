"""Leaders of partitions and connections to them, cached for the lifetime of the process.

A process has one `Leaders` for a cluster: the next task that reads from the same cluster finds it connected. What is
known is asked for again when a leader refuses or does not answer.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from odradek.client.direct.connection import Connection
from odradek.common.addresses import HostPort
from odradek.common.ids import ZERO_UUID, TopicPartition
from odradek.errors import Disconnected, NoLeader, Refused, RequestTimedOut, Unreachable
from odradek.protocol.error_codes import ErrorCode
from odradek.protocol.error_names import error_name
from odradek.protocol.message import Message
from odradek.protocol.messages.metadata_request import MetadataRequest, MetadataRequestTopic
from odradek.protocol.messages.metadata_response import MetadataResponse, MetadataResponseTopic

#: Passing while a topic is made or a leader elected.
_PASSING = (ErrorCode.LEADER_NOT_AVAILABLE, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.NONE)


@dataclass(frozen=True, slots=True)
class Leadership:
    topic_id: bytes
    leader: HostPort
    leader_epoch: int


class Leaders:
    def __init__(self, bootstrap: Sequence[HostPort], client_id: str, timeout_ms: int) -> None:
        self._bootstrap = tuple(bootstrap)
        self._client_id = client_id
        self._timeout_ms = timeout_ms
        self._leaderships: dict[TopicPartition, Leadership] = {}
        self._topic_ids: dict[str, bytes] = {}
        self._connections: dict[HostPort, Connection] = {}

    def of(self, partition: TopicPartition) -> Leadership:
        """Raises NoLeader while there is none, Unreachable, or what the cluster says of the topic."""
        if partition not in self._leaderships:
            self.look_up([partition])
        if partition not in self._leaderships:
            raise NoLeader(f"{partition} has no leader now")
        return self._leaderships[partition]

    def knows(self, partition: TopicPartition) -> bool:
        """Return whether the leader is known without a request."""
        return partition in self._leaderships

    def look_up(self, partitions: Iterable[TopicPartition]) -> None:
        """Find the leaders of those partitions whose leader is not known, in one request. Raises as `topics` does."""
        topics = dict.fromkeys(partition.topic for partition in partitions if partition not in self._leaderships)
        if topics:
            self.topics(list(topics))

    def topic_id(self, topic: str) -> bytes:
        """Return the id of the topic in the last metadata response; ZERO_UUID if it had none, as from old brokers."""
        return self._topic_ids.get(topic, ZERO_UUID)

    def topic_ids_at(self, address: HostPort, topics: Sequence[str]) -> dict[str, bytes]:
        """Return the ids of those of the topics that exist according to one broker. Raises Disconnected,
        RequestTimedOut."""
        topics_to_request = [MetadataRequestTopic(name=name) for name in topics]
        try:
            response: MetadataResponse = self.connection(address).ask(
                MetadataRequest(topics=topics_to_request, allow_auto_topic_creation=False)
            )
        except (Disconnected, RequestTimedOut):
            self.drop(address)
            raise
        return {topic.name or "": topic.topic_id for topic in response.topics if topic.partitions}

    def connection(self, address: HostPort) -> Connection:
        """Raises Disconnected or RequestTimedOut."""
        if address not in self._connections:
            self._connections[address] = Connection(address, self._client_id, self._timeout_ms)
        return self._connections[address]

    def forget(self, partition: TopicPartition) -> None:
        """Its leader refused, or did not answer: the next one is looked up, and connected to anew."""
        leadership = self._leaderships.pop(partition, None)
        if leadership is not None:
            self.drop(leadership.leader)

    def drop(self, address: HostPort) -> None:
        connection = self._connections.pop(address, None)
        if connection is not None:
            connection.close()

    def close(self) -> None:
        for address in list(self._connections):
            self.drop(address)

    def topics(self, names: Sequence[str] | None = None, *, creates: bool = False) -> dict[str, tuple[int, ...]]:
        """Partitions by topic: of these, those of them that are there; without names all that are not internal.

        `creates`: the cluster may make those that are missing, if it does so for anybody."""
        topics_to_request = None if names is None else [MetadataRequestTopic(name=name) for name in names]
        response: MetadataResponse = self.ask_any(
            MetadataRequest(topics=topics_to_request, allow_auto_topic_creation=creates)
        )
        brokers = {broker.node_id: HostPort(broker.host, broker.port) for broker in response.brokers}
        partitions_by_topic: dict[str, tuple[int, ...]] = {}
        for topic in response.topics:
            if topic.error_code not in _PASSING:
                raise Refused(f"topic {topic.name}: {error_name(topic.error_code)}", topic.error_code)
            name = topic.name or ""  # null only for those who ask by id
            self._learn(name, topic, brokers)
            if topic.partitions and (names is not None or not topic.is_internal):
                partitions_by_topic[name] = tuple(sorted(partition.partition_index for partition in topic.partitions))
        return partitions_by_topic

    def _learn(self, name: str, topic: MetadataResponseTopic, brokers: Mapping[int, HostPort]) -> None:
        self._topic_ids[name] = topic.topic_id
        for partition in topic.partitions:
            leader = brokers.get(partition.leader_id)
            if leader is not None:
                topic_partition = TopicPartition(name, partition.partition_index)
                self._leaderships[topic_partition] = Leadership(topic.topic_id, leader, partition.leader_epoch)

    def brokers(self) -> tuple[HostPort, ...]:
        """All that are alive, as one of them tells. Raises Unreachable."""
        response: MetadataResponse = self.ask_any(MetadataRequest(topics=[], allow_auto_topic_creation=False))
        return tuple(HostPort(broker.host, broker.port) for broker in response.brokers)

    def ask_any(self, request: Message, last_version: int | None = None) -> Any:
        """Some broker; those that are connected first: they are alive. Raises Unreachable."""
        reasons = []
        for address in dict.fromkeys((*self._connections, *self._bootstrap)):
            try:
                connection = self.connection(address)
                version = None if last_version is None else connection.version(type(request), last_version)
                response = connection.ask(request, version)
            except (Disconnected, RequestTimedOut) as error:
                self.drop(address)
                reasons.append(error.message)
            else:
                return response
        raise Unreachable(f"no broker answers: {'; '.join(reasons)}")
