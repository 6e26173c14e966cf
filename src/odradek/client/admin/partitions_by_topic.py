"""Partitions as requests list them: grouped by topic."""

from collections.abc import Iterable

from odradek.client.types import TopicPartition


def indexes_by_topic(partitions: Iterable[TopicPartition]) -> dict[str, list[int]]:
    """Return the indexes of the partitions of each topic, in the given order."""
    indexes: dict[str, list[int]] = {}
    for topic, partition_index in partitions:
        indexes.setdefault(topic, []).append(partition_index)
    return indexes
