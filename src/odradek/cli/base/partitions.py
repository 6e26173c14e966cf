"""Partitions as people name them: `orders` is all of a topic's, `orders:3` one of them."""

from collections.abc import Sequence

from odradek.cli.base.outcomes import accepted, refused
from odradek.client.admin.cluster_router import ClusterRouter
from odradek.client.admin.outcomes import TopicPartition
from odradek.client.admin.topics import describe_topics
from odradek.common.failures import InputError
from odradek.errors import Refused


async def find_partitions(
    cluster: ClusterRouter, names: Sequence[str]
) -> tuple[list[TopicPartition], dict[TopicPartition, Refused]]:
    """In order, each once; and what is wrong with those whose topic cannot be described."""
    asked = [_parse(name) for name in names]
    described = await describe_topics(cluster, [topic for topic, _ in asked])
    topics, errors = accepted(described), refused(described)
    found: list[TopicPartition] = []
    missing: dict[TopicPartition, Refused] = {}
    for topic, partition in asked:
        if topic in errors:
            missing[TopicPartition(topic, partition or 0)] = errors[topic]
        elif partition is not None:
            found.append(TopicPartition(topic, partition))
        else:
            found += [TopicPartition(topic, each.index) for each in topics[topic].partitions]
    return list(dict.fromkeys(found)), missing


def _parse(name: str) -> tuple[str, int | None]:
    topic, colon, number = name.rpartition(":")
    if not colon:
        return name, None
    if not topic or not number.isdecimal():
        raise InputError(f'"{name}" is no partition. Right would be TOPIC, or TOPIC:PARTITION, for example orders:0.')
    return topic, int(number)
