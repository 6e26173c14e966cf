"""How a topic looks: what is asked about it, which of its partitions are worth a look, text and JSON."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from odradek.cli.base.errors import echo
from odradek.cli.base.outcomes import accepted
from odradek.cli.base.output import plural, print_table
from odradek.client.admin.cluster_router import ClusterRouter
from odradek.client.admin.configs import ConfigEntry, ConfigResource, describe_configs
from odradek.client.admin.outcomes import Outcomes, TopicPartition
from odradek.client.admin.reassignments import Reassignment, list_reassignments
from odradek.client.admin.topics import PartitionDescription, TopicDescription, describe_topics, list_topics
from odradek.common.ids import uuid_to_text
from odradek.errors import Refused
from odradek.protocol.config_kinds import ConfigResourceType, ConfigSource

_MIN_ISR = "min.insync.replicas"


@dataclass(frozen=True, slots=True)
class Described:
    topic: TopicDescription
    #: None where we may not see them.
    configs: Mapping[str, ConfigEntry] | None
    #: By partition.
    reassignments: Mapping[int, Reassignment]

    @property
    def not_default(self) -> dict[str, str | None]:
        entries = (self.configs or {}).values()
        return {entry.name: entry.value for entry in entries if entry.source is not ConfigSource.DEFAULT_CONFIG}

    @property
    def min_isr(self) -> int:
        entry = (self.configs or {}).get(_MIN_ISR)
        return int(entry.value) if entry is not None and entry.value else 1


def _is_under_replicated(described: Described, partition: PartitionDescription) -> bool:
    """While a partition moves, what counts is how many replicas it had before."""
    moving = described.reassignments.get(partition.index)
    wanted = len(partition.replicas) - (len(moving.adding) if moving else 0)
    return len(partition.isr) < wanted


#: By the words of the options.
FILTERS: Mapping[str, Callable[[Described, PartitionDescription], bool]] = {
    "under-replicated": _is_under_replicated,
    "unavailable": lambda described, partition: partition.leader_id is None,
    "under-min-isr": lambda described, partition: len(partition.isr) < described.min_isr,
    "at-min-isr": lambda described, partition: len(partition.isr) == described.min_isr,
}


def matching(described: Described, wanted: Callable[[Described, PartitionDescription], bool]) -> Described:
    """With those partitions only."""
    topic = described.topic
    partitions = tuple(partition for partition in topic.partitions if wanted(described, partition))
    return replace(described, topic=replace(topic, partitions=partitions))


async def describe_all(
    cluster: ClusterRouter, names: Sequence[str], *, exclude_internal: bool, chosen: str | None
) -> Outcomes[str, Described]:
    """These, or all."""
    wanted = list(names) or [topic.name for topic in await list_topics(cluster)]
    outcomes = await describe_topics(cluster, wanted)
    found = [each for each in accepted(outcomes).values() if not (exclude_internal and each.is_internal)]
    configs = await _configs_of(cluster, found)
    moving = await list_reassignments(cluster) if chosen == "under-replicated" else {}
    described: dict[str, Described | Refused] = {
        name: error for name, error in outcomes.items() if isinstance(error, Refused)
    }
    for topic in found:
        reassignments = {
            each.index: moving[TopicPartition(topic.name, each.index)]
            for each in topic.partitions
            if TopicPartition(topic.name, each.index) in moving
        }
        described[topic.name] = Described(topic, configs.get(topic.name), reassignments)
    return dict(sorted(described.items()))


async def _configs_of(
    cluster: ClusterRouter, topics: Sequence[TopicDescription]
) -> dict[str, Mapping[str, ConfigEntry]]:
    if not topics:
        return {}
    resources = [ConfigResource(ConfigResourceType.TOPIC, topic.name) for topic in topics]
    found = accepted(await describe_configs(cluster, resources))
    return {resource.name: entries for resource, entries in found.items()}


def description_document(described: Described) -> dict[str, Any]:
    topic = described.topic
    return {
        "name": topic.name,
        "topic_id": uuid_to_text(topic.topic_id),
        "internal": topic.is_internal,
        "replication_factor": topic.replication_factor,
        "configs": described.not_default,
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


def print_descriptions(found: Sequence[Described]) -> None:
    for number, described in enumerate(found):
        if number:
            echo()
        topic = described.topic
        shape = f"{plural(len(topic.partitions), 'partition')}, {plural(topic.replication_factor, 'replica')} each"
        echo(f"{topic.name}: {shape}, id {uuid_to_text(topic.topic_id)}{', internal' * topic.is_internal}")
        for name, value in described.not_default.items():
            echo(f"  {name}={'' if value is None else value}")
        print_table(_PARTITION_HEADERS, [_row(partition) for partition in topic.partitions])


def print_partitions(found: Sequence[Described]) -> None:
    rows = [(each.topic.name, *_row(partition)) for each in found for partition in each.topic.partitions]
    print_table(("topic", *_PARTITION_HEADERS), rows)


def _row(partition: PartitionDescription) -> tuple[object, ...]:
    leader: int | str = "none" if partition.leader_id is None else partition.leader_id
    ids = (partition.replicas, partition.isr, partition.elr, partition.offline_replicas)
    return partition.index, leader, partition.leader_epoch, *(",".join(map(str, each)) or "-" for each in ids)
