"""Descriptions of topics as text and JSON, and the filters of their partitions."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from odradek.cli.base.errors import echo
from odradek.cli.base.output import plural, print_table
from odradek.client.admin.configs import ConfigEntry, ConfigResource
from odradek.client.admin.operations import AdminOperations
from odradek.client.admin.outcomes import Outcomes
from odradek.client.admin.reassignments import Reassignment
from odradek.client.admin.topics import PartitionDescription, TopicDescription
from odradek.client.types import TopicPartition
from odradek.common.ids import uuid_to_text
from odradek.protocol.config_types import ConfigResourceType, ConfigSource

_MIN_ISR = "min.insync.replicas"


@dataclass(frozen=True, slots=True)
class DescribedTopic:
    """Topic with its settings and reassignments."""

    description: TopicDescription
    #: None without permission to describe them.
    configs: Mapping[str, ConfigEntry] | None
    #: Reassignments in progress, by partition index.
    reassignments: Mapping[int, Reassignment]

    @property
    def non_default_configs(self) -> dict[str, str | None]:
        entries = (self.configs or {}).values()
        return {entry.name: entry.value for entry in entries if entry.source is not ConfigSource.DEFAULT_CONFIG}

    @property
    def min_isr(self) -> int:
        entry = (self.configs or {}).get(_MIN_ISR)
        return int(entry.value) if entry is not None and entry.value else 1


def _is_under_replicated(topic: DescribedTopic, partition: PartitionDescription) -> bool:
    """Return whether replicas are missing in the ISR; replicas that a reassignment adds do not count."""
    reassignment = topic.reassignments.get(partition.index)
    replica_count = len(partition.replicas) - (len(reassignment.adding) if reassignment else 0)
    return len(partition.isr) < replica_count


#: Filters of partitions, by the names of the options.
PARTITION_FILTERS: Mapping[str, Callable[[DescribedTopic, PartitionDescription], bool]] = {
    "under-replicated": _is_under_replicated,
    "unavailable": lambda topic, partition: partition.leader_id is None,
    "under-min-isr": lambda topic, partition: len(partition.isr) < topic.min_isr,
    "at-min-isr": lambda topic, partition: len(partition.isr) == topic.min_isr,
}


def with_matching_partitions(
    topic: DescribedTopic, matches: Callable[[DescribedTopic, PartitionDescription], bool]
) -> DescribedTopic:
    """Return the topic with only the partitions that match."""
    partitions = tuple(partition for partition in topic.description.partitions if matches(topic, partition))
    return replace(topic, description=replace(topic.description, partitions=partitions))


async def describe_topics(
    admin: AdminOperations, names: Sequence[str], *, exclude_internal: bool, with_reassignments: bool
) -> Outcomes[str, DescribedTopic]:
    """Describe the named topics, or all topics, with their settings."""
    requested = list(names) or [topic.name for topic in await admin.topics.list_all()]
    outcomes = await admin.topics.describe(requested)
    topics = [topic for topic in outcomes.succeeded().values() if not (exclude_internal and topic.is_internal)]
    configs = await _topic_configs(admin, topics)
    reassignments = await admin.reassignments.list_in_progress() if with_reassignments else {}
    described: Outcomes[str, DescribedTopic] = Outcomes(outcomes.rejected())
    for topic in topics:
        of_topic = {
            partition.index: reassignments[TopicPartition(topic.name, partition.index)]
            for partition in topic.partitions
            if TopicPartition(topic.name, partition.index) in reassignments
        }
        described[topic.name] = DescribedTopic(topic, configs.get(topic.name), of_topic)
    return described.in_order_of(sorted(described))


async def _topic_configs(
    admin: AdminOperations, topics: Sequence[TopicDescription]
) -> dict[str, Mapping[str, ConfigEntry]]:
    if not topics:
        return {}
    resources = [ConfigResource(ConfigResourceType.TOPIC, topic.name) for topic in topics]
    configs = (await admin.configs.describe(resources)).succeeded()
    return {resource.name: entries for resource, entries in configs.items()}


def description_document(described: DescribedTopic) -> dict[str, Any]:
    topic = described.description
    return {
        "name": topic.name,
        "topic_id": uuid_to_text(topic.topic_id),
        "internal": topic.is_internal,
        "replication_factor": topic.replication_factor,
        "configs": described.non_default_configs,
        "partitions": [_partition_document(partition) for partition in topic.partitions],
    }


def _partition_document(partition: PartitionDescription) -> dict[str, Any]:
    return {
        "partition": partition.index,
        "leader": partition.leader_id,
        "leader_epoch": partition.leader_epoch,
        "replicas": list(partition.replicas),
        "isr": list(partition.isr),
        "elr": list(partition.elr),
        "last_known_elr": list(partition.last_known_elr),
        "offline_replicas": list(partition.offline_replicas),
    }


_PARTITION_HEADERS = ("partition", "leader", "epoch", "replicas", "isr", "elr", "offline")


def print_descriptions(topics: Sequence[DescribedTopic]) -> None:
    for position, described in enumerate(topics):
        if position:
            echo()
        topic = described.description
        shape = f"{plural(len(topic.partitions), 'partition')}, {plural(topic.replication_factor, 'replica')} each"
        echo(f"{topic.name}: {shape}, id {uuid_to_text(topic.topic_id)}{', internal' * topic.is_internal}")
        for name, value in described.non_default_configs.items():
            echo(f"  {name}={'' if value is None else value}")
        print_table(_PARTITION_HEADERS, [_row(partition) for partition in topic.partitions])


def print_partitions(topics: Sequence[DescribedTopic]) -> None:
    rows = [
        (topic.description.name, *_row(partition)) for topic in topics for partition in topic.description.partitions
    ]
    print_table(("topic", *_PARTITION_HEADERS), rows)


def _row(partition: PartitionDescription) -> tuple[object, ...]:
    leader: int | str = "none" if partition.leader_id is None else partition.leader_id
    ids = (partition.replicas, partition.isr, partition.elr, partition.offline_replicas)
    return (
        partition.index,
        leader,
        partition.leader_epoch,
        *(",".join(map(str, broker_ids)) or "-" for broker_ids in ids),
    )
