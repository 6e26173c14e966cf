"""OffsetCommit and OffsetFetch, from partitions and back. Pure.

Topics go by their ids where the coordinator's version has them and all ids are known, and by their names otherwise: an
id tells a topic from one that was made anew under its name.
"""

from collections.abc import Callable, Iterable, Mapping

from odradek.client.group.core import Identity
from odradek.client.group.subscription import NO_GENERATION, by_topic
from odradek.client.types import OffsetAndMetadata, TopicPartition
from odradek.common.ids import ZERO_UUID
from odradek.protocol.error_codes import ErrorCode
from odradek.protocol.messages.offset_commit_request import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from odradek.protocol.messages.offset_commit_response import OffsetCommitResponse
from odradek.protocol.messages.offset_fetch_request import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
    OffsetFetchRequestTopics,
)
from odradek.protocol.messages.offset_fetch_response import OffsetFetchResponse

#: The first version of both that has ids instead of names.
IDS_FROM = 10

#: The first version of OffsetFetch that asks for groups, and not for one.
GROUPS_FROM = 8

_NO_EPOCH = -1

TopicIds = Callable[[str], bytes | None]


def has_ids(topic_ids: TopicIds, partitions: Iterable[TopicPartition]) -> bool:
    return all((topic_ids(partition.topic) or ZERO_UUID) != ZERO_UUID for partition in partitions)


def commit_request(
    group_id: str,
    identity: Identity,
    group_instance_id: str | None,
    offsets: Mapping[TopicPartition, OffsetAndMetadata],
    topic_ids: TopicIds,
) -> OffsetCommitRequest:
    return OffsetCommitRequest(
        group_id=group_id,
        generation_id_or_member_epoch=identity.generation_id,
        member_id=identity.member_id if identity.generation_id != NO_GENERATION else "",
        group_instance_id=group_instance_id if identity.generation_id != NO_GENERATION else None,
        topics=[
            OffsetCommitRequestTopic(
                name=topic,
                topic_id=topic_ids(topic) or ZERO_UUID,
                partitions=[
                    _committed(partition_index, offsets[TopicPartition(topic, partition_index)])
                    for partition_index in partition_indexes
                ],
            )
            for topic, partition_indexes in by_topic(offsets).items()
        ],
    )


def _committed(partition_index: int, offset: OffsetAndMetadata) -> OffsetCommitRequestPartition:
    return OffsetCommitRequestPartition(
        partition_index=partition_index,
        committed_offset=offset.offset,
        committed_leader_epoch=_NO_EPOCH if offset.leader_epoch is None else offset.leader_epoch,
        committed_metadata=offset.metadata,
    )


def commit_errors(request: OffsetCommitRequest, response: OffsetCommitResponse) -> dict[TopicPartition, int]:
    names = {topic.topic_id: topic.name for topic in request.topics}
    return {
        TopicPartition(
            topic.name or names.get(topic.topic_id, ""), partition_response.partition_index
        ): partition_response.error_code
        for topic in response.topics
        for partition_response in topic.partitions
        if partition_response.error_code != ErrorCode.NONE
    }


def fetch_request(
    group_id: str, identity: Identity | None, partitions: Iterable[TopicPartition], topic_ids: TopicIds, version: int
) -> OffsetFetchRequest:
    """`identity` is that of a member of the consumer protocol. Offsets of open transactions are not to be told."""
    topics = by_topic(partitions)
    if version < GROUPS_FROM:
        old = [
            OffsetFetchRequestTopic(name=name, partition_indexes=partition_indexes)
            for name, partition_indexes in topics.items()
        ]
        return OffsetFetchRequest(group_id=group_id, topics=old, require_stable=version >= GROUPS_FROM - 1)
    group = OffsetFetchRequestGroup(
        group_id=group_id,
        topics=[
            OffsetFetchRequestTopics(
                name=name, topic_id=topic_ids(name) or ZERO_UUID, partition_indexes=partition_indexes
            )
            for name, partition_indexes in topics.items()
        ],
    )
    if identity is not None:
        group.member_id, group.member_epoch = identity.member_id, identity.generation_id
    return OffsetFetchRequest(groups=[group], require_stable=True)


def fetched(
    request: OffsetFetchRequest, response: OffsetFetchResponse
) -> tuple[dict[TopicPartition, OffsetAndMetadata | None], int, TopicPartition | None]:
    """The offsets; or an error, and the partition that it is about unless it is the group's."""
    requested, fetched_group = (request.groups[0], response.groups[0]) if response.groups else (request, response)
    names = {getattr(topic, "topic_id", ZERO_UUID): topic.name for topic in requested.topics or ()}
    offsets: dict[TopicPartition, OffsetAndMetadata | None] = {}
    if fetched_group.error_code:
        return offsets, fetched_group.error_code, None
    for topic in fetched_group.topics:
        name = topic.name or names.get(getattr(topic, "topic_id", ZERO_UUID), "")
        for partition_response in topic.partitions:
            partition = TopicPartition(name, partition_response.partition_index)
            if partition_response.error_code:
                return offsets, partition_response.error_code, partition
            epoch = None if partition_response.committed_leader_epoch < 0 else partition_response.committed_leader_epoch
            committed_offset = OffsetAndMetadata(
                partition_response.committed_offset, epoch, partition_response.metadata or ""
            )
            offsets[partition] = None if partition_response.committed_offset < 0 else committed_offset
    return offsets, ErrorCode.NONE, None
