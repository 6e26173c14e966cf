"""Committed offsets of groups: list, alter, delete."""

from collections.abc import Mapping, Sequence

from odradek.client.admin.cluster_router import ClusterRouter
from odradek.client.admin.node_requests import CoordinatorRequests
from odradek.client.admin.outcomes import Outcomes
from odradek.client.admin.partitions_by_topic import indexes_by_topic
from odradek.client.errors import refusal
from odradek.client.net.coordinator_kind import CoordinatorKind
from odradek.client.types import OffsetAndMetadata, TopicPartition
from odradek.common.addresses import HostPort
from odradek.errors import Refused
from odradek.protocol.messages.offset_commit_request import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from odradek.protocol.messages.offset_commit_response import OffsetCommitResponse
from odradek.protocol.messages.offset_delete_request import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
)
from odradek.protocol.messages.offset_delete_response import OffsetDeleteResponse
from odradek.protocol.messages.offset_fetch_request import OffsetFetchRequest, OffsetFetchRequestGroup
from odradek.protocol.messages.offset_fetch_response import OffsetFetchResponse, OffsetFetchResponsePartitions

#: Last version with names of topics instead of ids.
_LAST_NAMED_VERSION = 9
_NO_OFFSET = -1
_NO_EPOCH = -1


class GroupOffsetOperations:
    """Lists, alters and deletes the committed offsets of groups."""

    def __init__(self, router: ClusterRouter) -> None:
        self._router = router
        self._coordinators = CoordinatorRequests(router, CoordinatorKind.GROUP)

    async def list_committed(
        self, group_ids: Sequence[str], *, require_stable: bool = False
    ) -> Outcomes[str, Outcomes[TopicPartition, OffsetAndMetadata]]:
        """Return all committed offsets of each group.

        With `require_stable`, offsets that an open transaction is about to commit are rejected with
        UNSTABLE_OFFSET_COMMIT.
        """

        async def send(
            address: HostPort, ids: Sequence[str]
        ) -> dict[str, Outcomes[TopicPartition, OffsetAndMetadata] | Refused]:
            groups = [OffsetFetchRequestGroup(group_id=group_id, topics=None) for group_id in ids]
            response: OffsetFetchResponse = await self._router.send_to(
                address,
                OffsetFetchRequest(groups=groups, require_stable=require_stable),
                last_version=_LAST_NAMED_VERSION,
            )
            return {
                group.group_id: refusal(group.error_code)
                or Outcomes(
                    {
                        TopicPartition(topic.name, partition.partition_index): refusal(partition.error_code)
                        or _committed_offset(partition)
                        for topic in group.topics
                        for partition in topic.partitions
                        if partition.committed_offset != _NO_OFFSET or partition.error_code
                    }
                )
                for group in response.groups
            }

        return await self._coordinators.send(group_ids, send)

    async def alter(
        self, group_id: str, offsets: Mapping[TopicPartition, int | OffsetAndMetadata]
    ) -> Outcomes[TopicPartition, int]:
        """Commit offsets for a group that has no members, and return them. Raises Refused for the whole group."""
        targets = {
            partition: OffsetAndMetadata(offset) if isinstance(offset, int) else offset
            for partition, offset in offsets.items()
        }
        topics = [
            OffsetCommitRequestTopic(
                name=topic,
                partitions=[_offset_to_commit(index, targets[TopicPartition(topic, index)]) for index in indexes],
            )
            for topic, indexes in indexes_by_topic(targets).items()
        ]

        async def send(address: HostPort, ids: Sequence[str]) -> dict[str, Outcomes[TopicPartition, int] | Refused]:
            request = OffsetCommitRequest(group_id=group_id, topics=topics)
            response: OffsetCommitResponse = await self._router.send_to(
                address, request, last_version=_LAST_NAMED_VERSION
            )
            outcomes: Outcomes[TopicPartition, int] = Outcomes()
            for topic in response.topics:
                for result in topic.partitions:
                    partition = TopicPartition(topic.name, result.partition_index)
                    outcomes[partition] = refusal(result.error_code) or targets[partition].offset
            return {group_id: outcomes}

        return (await self._coordinators.send([group_id], send)).values_or_raise()[group_id]

    async def delete(self, group_id: str, partitions: Sequence[TopicPartition]) -> Outcomes[TopicPartition, None]:
        """Delete offsets of topics that the group is not subscribed to. Raises Refused for the whole group."""
        topics = [
            OffsetDeleteRequestTopic(
                name=topic, partitions=[OffsetDeleteRequestPartition(partition_index=index) for index in indexes]
            )
            for topic, indexes in indexes_by_topic(partitions).items()
        ]

        async def send(address: HostPort, ids: Sequence[str]) -> dict[str, Outcomes[TopicPartition, None] | Refused]:
            request = OffsetDeleteRequest(group_id=group_id, topics=topics)
            response: OffsetDeleteResponse = await self._router.send_to(address, request)
            outcomes: Outcomes[TopicPartition, None] = Outcomes(
                {
                    TopicPartition(topic.name, partition.partition_index): refusal(partition.error_code)
                    for topic in response.topics
                    for partition in topic.partitions
                }
            )
            return {group_id: refusal(response.error_code) or outcomes}

        return (await self._coordinators.send([group_id], send)).values_or_raise()[group_id]


def _committed_offset(partition: OffsetFetchResponsePartitions) -> OffsetAndMetadata:
    leader_epoch = None if partition.committed_leader_epoch < 0 else partition.committed_leader_epoch
    return OffsetAndMetadata(partition.committed_offset, leader_epoch, partition.metadata or "")


def _offset_to_commit(partition_index: int, offset: OffsetAndMetadata) -> OffsetCommitRequestPartition:
    return OffsetCommitRequestPartition(
        partition_index=partition_index,
        committed_offset=offset.offset,
        committed_leader_epoch=_NO_EPOCH if offset.leader_epoch is None else offset.leader_epoch,
        committed_metadata=offset.metadata,
    )
