"""Partitions as arguments: `orders` stands for all partitions of a topic, `orders:3` for one of them."""

from collections.abc import Sequence

from odradek.client.admin.operations import AdminOperations
from odradek.client.types import TopicPartition
from odradek.common.failures import InputError
from odradek.errors import Refused


async def find_partitions(
    admin: AdminOperations, names: Sequence[str]
) -> tuple[list[TopicPartition], dict[TopicPartition, Refused]]:
    """Return the partitions in order, each once, and the errors of those whose topic cannot be described."""
    requested = [_parse_name(name) for name in names]
    outcomes = await admin.topics.describe([topic for topic, _ in requested])
    topics, errors = outcomes.succeeded(), outcomes.rejected()
    partitions: list[TopicPartition] = []
    unknown: dict[TopicPartition, Refused] = {}
    for topic, partition_index in requested:
        if topic in errors:
            unknown[TopicPartition(topic, partition_index or 0)] = errors[topic]
        elif partition_index is not None:
            partitions.append(TopicPartition(topic, partition_index))
        else:
            partitions += [TopicPartition(topic, partition.index) for partition in topics[topic].partitions]
    return list(dict.fromkeys(partitions)), unknown


def _parse_name(name: str) -> tuple[str, int | None]:
    topic, colon, index = name.rpartition(":")
    if not colon:
        return name, None
    if not topic or not index.isdecimal():
        raise InputError(f'"{name}" is not a valid partition. Expected TOPIC or TOPIC:PARTITION, for example orders:0.')
    return topic, int(index)
