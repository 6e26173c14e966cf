"""Questions about offsets, and their answers: ListOffsets and OffsetForLeaderEpoch. Pure."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Generic, NamedTuple, TypeVar

from odradek.client.consumer.partition_state import FetchPosition
from odradek.client.net.metadata_cache import NO_EPOCH, LeaderAndEpoch
from odradek.client.types import TopicPartition
from odradek.protocol.error_codes import ErrorCode
from odradek.protocol.messages.list_offsets_request import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from odradek.protocol.messages.list_offsets_response import ListOffsetsResponse
from odradek.protocol.messages.offset_for_leader_epoch_request import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)
from odradek.protocol.messages.offset_for_leader_epoch_response import OffsetForLeaderEpochResponse

#: Of a consumer, as ListOffsets and OffsetForLeaderEpoch have it.
_CONSUMER = -1

_UNKNOWN_OFFSET = -1


class ListedOffset(NamedTuple):
    """`timestamp_ms` is that of the record at the offset, where a time was asked for."""

    offset: int
    timestamp_ms: int
    leader_epoch: int | None


class EpochEnd(NamedTuple):
    """The largest epoch up to the one asked for, and the offset behind its last record; -1 where there is none."""

    epoch: int
    end_offset: int

    @property
    def is_undefined(self) -> bool:
        return self.epoch == NO_EPOCH or self.end_offset == _UNKNOWN_OFFSET


_Answer = TypeVar("_Answer")


@dataclass(slots=True)
class Answers(Generic[_Answer]):
    """Results of one response: offsets, partitions to request again, and topics that are not authorized."""

    found: dict[TopicPartition, _Answer] = field(default_factory=dict)
    retry: list[TopicPartition] = field(default_factory=list)
    forbidden: list[str] = field(default_factory=list)

    def fail(self, partition: TopicPartition, code: int) -> None:
        """Kafka's consumers ask again after any error but this one: the others may all pass."""
        if code == ErrorCode.TOPIC_AUTHORIZATION_FAILED:
            self.forbidden.append(partition.topic)
        else:
            self.retry.append(partition)


def list_offsets_request(
    timestamps_ms: Mapping[TopicPartition, int],
    leaders: Mapping[TopicPartition, LeaderAndEpoch],
    isolation_level: int,
    timeout_ms: float,
) -> ListOffsetsRequest:
    """Build a ListOffsets request to one leader. Without a leader epoch the current one is used."""
    topics: dict[str, ListOffsetsTopic] = {}
    for partition, timestamp_ms in timestamps_ms.items():
        topic = topics.setdefault(partition.topic, ListOffsetsTopic(name=partition.topic))
        topic.partitions.append(
            ListOffsetsPartition(
                partition_index=partition.partition,
                current_leader_epoch=leaders[partition].epoch if partition in leaders else NO_EPOCH,
                timestamp=timestamp_ms,
            )
        )
    return ListOffsetsRequest(
        replica_id=_CONSUMER,
        isolation_level=isolation_level,
        topics=list(topics.values()),
        timeout_ms=int(timeout_ms),
    )


def listed_offsets(response: ListOffsetsResponse) -> Answers[ListedOffset | None]:
    """None where there is no record that late, or where the format has no times."""
    results: Answers[ListedOffset | None] = Answers()
    for topic in response.topics:
        for partition_response in topic.partitions:
            partition = TopicPartition(topic.name, partition_response.partition_index)
            if partition_response.error_code == ErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT:
                results.found[partition] = None
            elif partition_response.error_code:
                results.fail(partition, partition_response.error_code)
            else:
                epoch = None if partition_response.leader_epoch == NO_EPOCH else partition_response.leader_epoch
                listed = ListedOffset(partition_response.offset, partition_response.timestamp, epoch)
                results.found[partition] = None if partition_response.offset == _UNKNOWN_OFFSET else listed
    return results


def epochs_request(positions: Mapping[TopicPartition, FetchPosition]) -> OffsetForLeaderEpochRequest:
    """Build a request for the end offsets of the epochs of the last consumed records."""
    topics: dict[str, OffsetForLeaderTopic] = {}
    for partition, position in positions.items():
        topic = topics.setdefault(partition.topic, OffsetForLeaderTopic(topic=partition.topic))
        topic.partitions.append(
            OffsetForLeaderPartition(
                partition=partition.partition,
                current_leader_epoch=NO_EPOCH if position.leader is None else position.leader.epoch,
                leader_epoch=NO_EPOCH if position.offset_epoch is None else position.offset_epoch,
            )
        )
    return OffsetForLeaderEpochRequest(replica_id=_CONSUMER, topics=list(topics.values()))


def epoch_ends(response: OffsetForLeaderEpochResponse) -> Answers[EpochEnd]:
    results: Answers[EpochEnd] = Answers()
    for topic in response.topics:
        for partition_response in topic.partitions:
            partition = TopicPartition(topic.topic, partition_response.partition)
            if partition_response.error_code:
                results.fail(partition, partition_response.error_code)
            else:
                results.found[partition] = EpochEnd(partition_response.leader_epoch, partition_response.end_offset)
    return results


def by_leader(
    partitions: Mapping[TopicPartition, LeaderAndEpoch],
) -> Iterator[tuple[int, dict[TopicPartition, LeaderAndEpoch]]]:
    """Grouped by the node to ask."""
    nodes: dict[int, dict[TopicPartition, LeaderAndEpoch]] = {}
    for partition, leader in partitions.items():
        nodes.setdefault(leader.node_id, {})[partition] = leader
    return iter(nodes.items())
