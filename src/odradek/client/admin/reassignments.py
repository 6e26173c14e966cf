"""Reassignments of partitions to other brokers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from odradek.client.admin.cluster_router import ClusterRouter
from odradek.client.admin.outcomes import Outcomes
from odradek.client.admin.partitions_by_topic import indexes_by_topic
from odradek.client.errors import check_error, refusal
from odradek.client.types import TopicPartition
from odradek.protocol.messages.alter_partition_reassignments_request import (
    AlterPartitionReassignmentsRequest,
    ReassignablePartition,
    ReassignableTopic,
)
from odradek.protocol.messages.alter_partition_reassignments_response import AlterPartitionReassignmentsResponse
from odradek.protocol.messages.list_partition_reassignments_request import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsTopics,
)
from odradek.protocol.messages.list_partition_reassignments_response import ListPartitionReassignmentsResponse


@dataclass(frozen=True, slots=True)
class Reassignment:
    """Reassignment in progress. `replicas` includes those that are being added and those that are being removed."""

    replicas: tuple[int, ...]
    adding: tuple[int, ...]
    removing: tuple[int, ...]


class ReassignmentOperations:
    """Starts, cancels and lists reassignments of partitions."""

    def __init__(self, router: ClusterRouter) -> None:
        self._router = router

    async def alter(self, targets: Mapping[TopicPartition, Sequence[int] | None]) -> Outcomes[TopicPartition, None]:
        """Start to move each partition to these brokers, the preferred leader first; None cancels its reassignment."""
        topics = [
            ReassignableTopic(
                name=topic,
                partitions=[_reassignable_partition(index, targets[TopicPartition(topic, index)]) for index in indexes],
            )
            for topic, indexes in indexes_by_topic(targets).items()
        ]
        request = AlterPartitionReassignmentsRequest(timeout_ms=self._router.config.request_timeout_ms, topics=topics)
        response: AlterPartitionReassignmentsResponse = await self._router.send_change(
            request, lambda r: [r.error_code]
        )
        check_error(response.error_code, response.error_message)
        outcomes: Outcomes[TopicPartition, None] = Outcomes(
            {
                TopicPartition(topic.name, partition.partition_index): refusal(
                    partition.error_code, partition.error_message
                )
                for topic in response.responses
                for partition in topic.partitions
            }
        )
        return outcomes.in_order_of(targets)

    async def list_in_progress(
        self, partitions: Sequence[TopicPartition] | None = None
    ) -> dict[TopicPartition, Reassignment]:
        """Return the reassignments in progress, of these partitions or of all. Raises Refused."""
        topics = None
        if partitions is not None:
            topics = [
                ListPartitionReassignmentsTopics(name=topic, partition_indexes=indexes)
                for topic, indexes in indexes_by_topic(partitions).items()
            ]
        request = ListPartitionReassignmentsRequest(timeout_ms=self._router.config.request_timeout_ms, topics=topics)
        response: ListPartitionReassignmentsResponse = await self._router.send_to_leader(
            request, lambda r: int(r.error_code), repeatable=True
        )
        check_error(response.error_code, response.error_message)
        reassignments = {
            TopicPartition(topic.name, partition.partition_index): Reassignment(
                tuple(partition.replicas), tuple(partition.adding_replicas), tuple(partition.removing_replicas)
            )
            for topic in response.topics
            for partition in topic.partitions
        }
        return dict(sorted(reassignments.items()))


def _reassignable_partition(partition_index: int, replicas: Sequence[int] | None) -> ReassignablePartition:
    return ReassignablePartition(partition_index=partition_index, replicas=None if replicas is None else list(replicas))
