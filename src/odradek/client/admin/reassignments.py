"""Where partitions live, and who of their replicas leads: reassignments and elections from outside."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum

from odradek.client.admin.cluster_router import ClusterRouter
from odradek.client.admin.outcomes import Outcomes, TopicPartition, by_topic, change, in_order
from odradek.client.errors import check_error, refusal
from odradek.errors import Refused
from odradek.protocol.error_codes import ErrorCode
from odradek.protocol.messages.alter_partition_reassignments_request import (
    AlterPartitionReassignmentsRequest,
    ReassignablePartition,
    ReassignableTopic,
)
from odradek.protocol.messages.alter_partition_reassignments_response import AlterPartitionReassignmentsResponse
from odradek.protocol.messages.elect_leaders_request import ElectLeadersRequest, TopicPartitions
from odradek.protocol.messages.elect_leaders_response import ElectLeadersResponse
from odradek.protocol.messages.list_partition_reassignments_request import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsTopics,
)
from odradek.protocol.messages.list_partition_reassignments_response import ListPartitionReassignmentsResponse


class ElectionType(IntEnum):
    #: The first of the replicas, if it is in sync.
    PREFERRED = 0
    #: Any replica that is alive, for partitions that nobody leads: what only the others had is lost.
    UNCLEAN = 1


@dataclass(frozen=True, slots=True)
class Reassignment:
    """One that goes on: `replicas` has both, those that come and those that go."""

    replicas: tuple[int, ...]
    adding: tuple[int, ...]
    removing: tuple[int, ...]


async def alter_reassignments(
    cluster: ClusterRouter, targets: Mapping[TopicPartition, Sequence[int] | None]
) -> Outcomes[TopicPartition, None]:
    """Begins to move each partition to these brokers, in this order of preference; None cancels what goes on."""
    topics = [
        ReassignableTopic(name=topic, partitions=[_target(TopicPartition(topic, each), targets) for each in indexes])
        for topic, indexes in by_topic(targets).items()
    ]
    request = AlterPartitionReassignmentsRequest(timeout_ms=cluster.config.request_timeout_ms, topics=topics)
    response: AlterPartitionReassignmentsResponse = await change(cluster, request, lambda r: [r.error_code])
    check_error(response.error_code, response.error_message)
    outcomes = {
        TopicPartition(topic.name, each.partition_index): refusal(each.error_code, each.error_message)
        for topic in response.responses
        for each in topic.partitions
    }
    return in_order(outcomes, targets)


async def list_reassignments(
    cluster: ClusterRouter, partitions: Sequence[TopicPartition] | None = None
) -> Mapping[TopicPartition, Reassignment]:
    """Those that go on, of these partitions or of all."""
    topics = None
    if partitions is not None:
        asked = by_topic(partitions).items()
        topics = [ListPartitionReassignmentsTopics(name=topic, partition_indexes=indexes) for topic, indexes in asked]
    request = ListPartitionReassignmentsRequest(timeout_ms=cluster.config.request_timeout_ms, topics=topics)
    response: ListPartitionReassignmentsResponse = await cluster.send_to_leader(
        request, lambda r: int(r.error_code), repeatable=True
    )
    check_error(response.error_code, response.error_message)
    found = {
        TopicPartition(topic.name, each.partition_index): Reassignment(
            tuple(each.replicas), tuple(each.adding_replicas), tuple(each.removing_replicas)
        )
        for topic in response.topics
        for each in topic.partitions
    }
    return dict(sorted(found.items()))


async def elect_leaders(
    cluster: ClusterRouter, election: ElectionType, partitions: Sequence[TopicPartition] | None = None
) -> Outcomes[TopicPartition, bool]:
    """Of these partitions, or of all that need it. The value is whether there was anything to do."""
    asked = None
    if partitions is not None:
        topics = by_topic(partitions).items()
        asked = [TopicPartitions(topic=topic, partitions=indexes) for topic, indexes in topics]
    request = ElectLeadersRequest(
        election_type=election, topic_partitions=asked, timeout_ms=cluster.config.request_timeout_ms
    )
    response: ElectLeadersResponse = await change(cluster, request, lambda r: [r.error_code])
    check_error(response.error_code, None)
    return {
        TopicPartition(topic.topic, each.partition_id): _elected(each.error_code, each.error_message)
        for topic in response.replica_election_results
        for each in topic.partition_result
    }


def _target(partition: TopicPartition, targets: Mapping[TopicPartition, Sequence[int] | None]) -> ReassignablePartition:
    replicas = targets[partition]
    return ReassignablePartition(
        partition_index=partition.partition, replicas=None if replicas is None else list(replicas)
    )


def _elected(code: int, message: str | None) -> bool | Refused:
    if code == ErrorCode.ELECTION_NOT_NEEDED:
        return False
    return refusal(code, message) or True
