"""Answers for partitions of which some may not be asked for: one result for each entry, in order."""

from collections.abc import Container, Iterator, Sequence
from typing import Protocol, TypeVar

from odradek.common.ids import TopicPartition


class _OfPartition(Protocol):
    @property
    def topic_partition(self) -> TopicPartition: ...


Entry = TypeVar("Entry", bound=_OfPartition)
Result = TypeVar("Result")


def only_allowed(entries: Sequence[Entry], allowed: Container[str]) -> list[Entry]:
    return [entry for entry in entries if entry.topic_partition.topic in allowed]


def with_refused(
    entries: Sequence[_OfPartition], allowed: Container[str], results: Sequence[Result], refused: Result
) -> Iterator[Result]:
    """`results` are those of `only_allowed`."""
    remaining_results = iter(results)
    return (next(remaining_results) if entry.topic_partition.topic in allowed else refused for entry in entries)
