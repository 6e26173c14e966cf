"""Topics: create, delete, describe, list, add partitions."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from odradek.client.admin.cluster_router import ClusterRouter
from odradek.client.admin.outcomes import Outcomes
from odradek.client.errors import refusal
from odradek.errors import Refused
from odradek.protocol.error_codes import ErrorCode
from odradek.protocol.messages.create_partitions_request import (
    CreatePartitionsAssignment,
    CreatePartitionsRequest,
    CreatePartitionsTopic,
)
from odradek.protocol.messages.create_partitions_response import CreatePartitionsResponse
from odradek.protocol.messages.create_topics_request import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
)
from odradek.protocol.messages.create_topics_response import CreatableTopicResult, CreateTopicsResponse
from odradek.protocol.messages.delete_topics_request import DeleteTopicsRequest, DeleteTopicState
from odradek.protocol.messages.delete_topics_response import DeleteTopicsResponse
from odradek.protocol.messages.describe_topic_partitions_request import Cursor as RequestCursor
from odradek.protocol.messages.describe_topic_partitions_request import DescribeTopicPartitionsRequest, TopicRequest
from odradek.protocol.messages.describe_topic_partitions_response import (
    Cursor,
    DescribeTopicPartitionsResponse,
    DescribeTopicPartitionsResponsePartition,
    DescribeTopicPartitionsResponseTopic,
)
from odradek.protocol.messages.metadata_request import MetadataRequest
from odradek.protocol.messages.metadata_response import MetadataResponse

#: Partition limit of Kafka's clients; the broker's max.request.partition.size.limit may be less.
_PARTITIONS_PER_RESPONSE = 2_000

_UNSET = -1


@dataclass(frozen=True, slots=True)
class NewTopic:
    """Topic to create. The cluster chooses what is None.

    An assignment lists the brokers of each partition, from 0 on; it excludes a partition count and a replication
    factor.
    """

    name: str
    partitions: int | None = None
    replication_factor: int | None = None
    assignment: Sequence[Sequence[int]] = ()
    configs: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class CreatedTopic:
    """Topic as the cluster created it. Counts are None without permission to describe its settings."""

    topic_id: bytes
    partitions: int | None
    replication_factor: int | None


@dataclass(frozen=True, slots=True)
class PartitionDescription:
    """Leader and replicas of a partition."""

    index: int
    #: None while it has no leader.
    leader_id: int | None
    leader_epoch: int
    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    elr: tuple[int, ...]
    last_known_elr: tuple[int, ...]
    offline_replicas: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class TopicDescription:
    """Topic with its partitions."""

    name: str
    topic_id: bytes
    is_internal: bool
    partitions: tuple[PartitionDescription, ...]

    @property
    def replication_factor(self) -> int:
        """Number of replicas of the first partition: during a reassignment partitions differ."""
        return len(self.partitions[0].replicas) if self.partitions else 0


@dataclass(frozen=True, slots=True)
class TopicListing:
    """Name and size of a topic."""

    name: str
    topic_id: bytes
    is_internal: bool
    partitions: int
    replication_factor: int


class TopicOperations:
    """Creates, deletes, lists and describes topics, and adds partitions to them."""

    def __init__(self, router: ClusterRouter) -> None:
        self._router = router

    async def create(self, topics: Sequence[NewTopic], *, validate_only: bool = False) -> Outcomes[str, CreatedTopic]:
        request = CreateTopicsRequest(
            topics=[_creatable_topic(topic) for topic in topics],
            timeout_ms=self._router.config.request_timeout_ms,
            validate_only=validate_only,
        )
        response: CreateTopicsResponse = await self._router.send_change(
            request, lambda r: [topic.error_code for topic in r.topics]
        )
        outcomes: Outcomes[str, CreatedTopic] = Outcomes(
            {
                topic.name: refusal(topic.error_code, topic.error_message) or _created_topic(topic)
                for topic in response.topics
            }
        )
        return outcomes.in_order_of(topic.name for topic in topics)

    async def delete(self, names: Sequence[str]) -> Outcomes[str, None]:
        request = DeleteTopicsRequest(
            topics=[DeleteTopicState(name=name) for name in names],
            topic_names=list(names),
            timeout_ms=self._router.config.request_timeout_ms,
        )
        response: DeleteTopicsResponse = await self._router.send_change(
            request, lambda r: [topic.error_code for topic in r.responses]
        )
        outcomes: Outcomes[str, None] = Outcomes(
            {topic.name or "": refusal(topic.error_code, topic.error_message) for topic in response.responses}
        )
        return outcomes.in_order_of(names)

    async def create_partitions(
        self,
        counts: Mapping[str, int],
        assignments: Mapping[str, Sequence[Sequence[int]]] | None = None,
        *,
        validate_only: bool = False,
    ) -> Outcomes[str, None]:
        """Add partitions. `counts` are the new totals; `assignments` lists the brokers of each partition to add."""
        assigned = assignments or {}
        topics = [
            CreatePartitionsTopic(
                name=name,
                count=count,
                assignments=[CreatePartitionsAssignment(broker_ids=list(ids)) for ids in assigned[name]]
                if name in assigned
                else None,
            )
            for name, count in counts.items()
        ]
        request = CreatePartitionsRequest(
            topics=topics, timeout_ms=self._router.config.request_timeout_ms, validate_only=validate_only
        )
        response: CreatePartitionsResponse = await self._router.send_change(
            request, lambda r: [topic.error_code for topic in r.results]
        )
        outcomes: Outcomes[str, None] = Outcomes(
            {topic.name: refusal(topic.error_code, topic.error_message) for topic in response.results}
        )
        return outcomes.in_order_of(counts)

    async def list_all(self) -> list[TopicListing]:
        """Return all topics that the client may describe, by name."""
        response: MetadataResponse = await self._router.send_to_any(MetadataRequest(topics=None))
        listings = [
            TopicListing(
                topic.name or "",
                topic.topic_id,
                topic.is_internal,
                len(topic.partitions),
                len(topic.partitions[0].replica_nodes) if topic.partitions else 0,
            )
            for topic in response.topics
        ]
        return sorted(listings, key=lambda topic: topic.name)

    async def describe(self, names: Sequence[str]) -> Outcomes[str, TopicDescription]:
        """Return topics with their partitions. One with many partitions takes several requests."""
        outcomes: Outcomes[str, TopicDescription] = Outcomes()
        cursor: Cursor | None = None
        pending = sorted(set(names))
        while pending:
            response = await self._describe_next(pending, cursor)
            for topic in response.topics:
                name = topic.name or ""
                error = refusal(topic.error_code)
                outcomes[name] = error or _with_more_partitions(outcomes.get(name), topic)
            cursor = response.next_cursor
            pending = [name for name in pending if cursor is not None and name >= cursor.topic_name]
        return outcomes.in_order_of(names)

    async def _describe_next(self, names: list[str], cursor: Cursor | None) -> DescribeTopicPartitionsResponse:
        request = DescribeTopicPartitionsRequest(
            topics=[TopicRequest(name=name) for name in names], response_partition_limit=_PARTITIONS_PER_RESPONSE
        )
        if cursor is not None:
            request.cursor = RequestCursor(topic_name=cursor.topic_name, partition_index=cursor.partition_index)
        response: DescribeTopicPartitionsResponse = await self._router.send_to_any(request)
        return response


def _creatable_topic(topic: NewTopic) -> CreatableTopic:
    return CreatableTopic(
        name=topic.name,
        num_partitions=_UNSET if topic.partitions is None else topic.partitions,
        replication_factor=_UNSET if topic.replication_factor is None else topic.replication_factor,
        assignments=[
            CreatableReplicaAssignment(partition_index=index, broker_ids=list(ids))
            for index, ids in enumerate(topic.assignment)
        ],
        configs=[CreatableTopicConfig(name=key, value=value) for key, value in topic.configs.items()],
    )


def _created_topic(topic: CreatableTopicResult) -> CreatedTopic:
    if topic.topic_config_error_code != ErrorCode.NONE:
        return CreatedTopic(topic.topic_id, None, None)
    return CreatedTopic(topic.topic_id, topic.num_partitions, topic.replication_factor)


def _with_more_partitions(
    described: TopicDescription | Refused | None, topic: DescribeTopicPartitionsResponseTopic
) -> TopicDescription:
    previous = described.partitions if isinstance(described, TopicDescription) else ()
    added = tuple(_partition_description(partition) for partition in topic.partitions)
    return TopicDescription(topic.name or "", topic.topic_id, topic.is_internal, previous + added)


def _partition_description(partition: DescribeTopicPartitionsResponsePartition) -> PartitionDescription:
    return PartitionDescription(
        partition.partition_index,
        None if partition.leader_id < 0 else partition.leader_id,
        partition.leader_epoch,
        tuple(partition.replica_nodes),
        tuple(partition.isr_nodes),
        tuple(partition.eligible_leader_replicas or ()),
        tuple(partition.last_known_elr or ()),
        tuple(partition.offline_replicas),
    )
