"""Topics from outside: create, delete, describe, list, add partitions."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from odradek.client.admin.cluster_router import ClusterRouter
from odradek.client.admin.outcomes import Outcomes, change, in_order
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
from odradek.protocol.messages.describe_topic_partitions_request import Cursor as AskedCursor
from odradek.protocol.messages.describe_topic_partitions_request import DescribeTopicPartitionsRequest, TopicRequest
from odradek.protocol.messages.describe_topic_partitions_response import (
    Cursor,
    DescribeTopicPartitionsResponse,
    DescribeTopicPartitionsResponsePartition,
    DescribeTopicPartitionsResponseTopic,
)
from odradek.protocol.messages.metadata_request import MetadataRequest
from odradek.protocol.messages.metadata_response import MetadataResponse

#: What Kafka's clients ask for; the broker's max.request.partition.size.limit may be less.
_PARTITIONS_AT_A_TIME = 2_000

_UNSET = -1


@dataclass(frozen=True, slots=True)
class NewTopic:
    """What is left out is for the cluster to say. An assignment names the brokers of each partition, from 0 on, and
    then there is neither a count nor a factor."""

    name: str
    partitions: int | None = None
    replication_factor: int | None = None
    assignment: Sequence[Sequence[int]] = ()
    configs: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class CreatedTopic:
    """With what the cluster has chosen; None where we may not see it."""

    topic_id: bytes
    partitions: int | None
    replication_factor: int | None


@dataclass(frozen=True, slots=True)
class PartitionDescription:
    index: int
    #: None while nobody leads it.
    leader_id: int | None
    leader_epoch: int
    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    elr: tuple[int, ...]
    last_known_elr: tuple[int, ...]
    offline_replicas: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class TopicDescription:
    name: str
    topic_id: bytes
    is_internal: bool
    partitions: tuple[PartitionDescription, ...]

    @property
    def replication_factor(self) -> int:
        """Of the first partition: while one moves, they differ."""
        return len(self.partitions[0].replicas) if self.partitions else 0


@dataclass(frozen=True, slots=True)
class TopicListing:
    name: str
    topic_id: bytes
    is_internal: bool
    partitions: int
    replication_factor: int


async def create_topics(
    cluster: ClusterRouter, topics: Sequence[NewTopic], *, validate_only: bool = False
) -> Outcomes[str, CreatedTopic]:
    request = CreateTopicsRequest(
        topics=[_creatable(topic) for topic in topics],
        timeout_ms=cluster.config.request_timeout_ms,
        validate_only=validate_only,
    )
    response: CreateTopicsResponse = await change(cluster, request, lambda r: [each.error_code for each in r.topics])
    outcomes = {each.name: refusal(each.error_code, each.error_message) or _created(each) for each in response.topics}
    return in_order(outcomes, [topic.name for topic in topics])


async def delete_topics(cluster: ClusterRouter, names: Sequence[str]) -> Outcomes[str, None]:
    request = DeleteTopicsRequest(
        topics=[DeleteTopicState(name=name) for name in names],
        topic_names=list(names),
        timeout_ms=cluster.config.request_timeout_ms,
    )
    response: DeleteTopicsResponse = await change(cluster, request, lambda r: [each.error_code for each in r.responses])
    outcomes = {each.name or "": refusal(each.error_code, each.error_message) for each in response.responses}
    return in_order(outcomes, names)


async def create_partitions(
    cluster: ClusterRouter,
    counts: Mapping[str, int],
    assignments: Mapping[str, Sequence[Sequence[int]]] | None = None,
    *,
    validate_only: bool = False,
) -> Outcomes[str, None]:
    """`counts` are the new totals; `assignments` name the brokers of each partition that is added."""
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
        topics=topics, timeout_ms=cluster.config.request_timeout_ms, validate_only=validate_only
    )
    response: CreatePartitionsResponse = await change(
        cluster, request, lambda r: [each.error_code for each in r.results]
    )
    outcomes = {each.name: refusal(each.error_code, each.error_message) for each in response.results}
    return in_order(outcomes, counts)


async def list_topics(cluster: ClusterRouter) -> list[TopicListing]:
    """Those we may see, by name."""
    response: MetadataResponse = await cluster.send_to_any(MetadataRequest(topics=None))
    listed = [
        TopicListing(
            topic.name or "",
            topic.topic_id,
            topic.is_internal,
            len(topic.partitions),
            len(topic.partitions[0].replica_nodes) if topic.partitions else 0,
        )
        for topic in response.topics
    ]
    return sorted(listed, key=lambda topic: topic.name)


async def describe_topics(cluster: ClusterRouter, names: Sequence[str]) -> Outcomes[str, TopicDescription]:
    """A topic with many partitions takes several requests; its description is put together again."""
    outcomes: dict[str, TopicDescription | Refused] = {}
    cursor: Cursor | None = None
    asked = sorted(set(names))
    while asked:
        response = await _describe_some(cluster, asked, cursor)
        for topic in response.topics:
            name = topic.name or ""
            error = refusal(topic.error_code)
            outcomes[name] = error or _description(topic, outcomes.get(name))
        cursor = response.next_cursor
        asked = [name for name in asked if cursor is not None and name >= cursor.topic_name]
    return in_order(outcomes, names)


async def _describe_some(
    cluster: ClusterRouter, names: list[str], cursor: Cursor | None
) -> DescribeTopicPartitionsResponse:
    request = DescribeTopicPartitionsRequest(
        topics=[TopicRequest(name=name) for name in names], response_partition_limit=_PARTITIONS_AT_A_TIME
    )
    if cursor is not None:
        request.cursor = AskedCursor(topic_name=cursor.topic_name, partition_index=cursor.partition_index)
    response: DescribeTopicPartitionsResponse = await cluster.send_to_any(request)
    return response


def _creatable(topic: NewTopic) -> CreatableTopic:
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


def _created(topic: CreatableTopicResult) -> CreatedTopic:
    if topic.topic_config_error_code != ErrorCode.NONE:
        return CreatedTopic(topic.topic_id, None, None)
    return CreatedTopic(topic.topic_id, topic.num_partitions, topic.replication_factor)


def _description(
    topic: DescribeTopicPartitionsResponseTopic, before: TopicDescription | Refused | None
) -> TopicDescription:
    known = before.partitions if isinstance(before, TopicDescription) else ()
    added = tuple(_partition(partition) for partition in topic.partitions)
    return TopicDescription(topic.name or "", topic.topic_id, topic.is_internal, known + added)


def _partition(partition: DescribeTopicPartitionsResponsePartition) -> PartitionDescription:
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
