"""The lists of topics and partitions in requests about offsets: what is refused before a group is asked, and how that
and the group's answer become one.

The messages of the three requests differ in name only: a topic has `name` (and maybe `topic_id`) and `partitions`, and
a partition has `partition_index`, and `error_code` in answers.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from odradek.protocol.error_codes import ErrorCode

AnyTopic = TypeVar("AnyTopic", bound=Any)


@dataclass(frozen=True, slots=True)
class Refused(Generic[AnyTopic]):
    topic: AnyTopic
    #: By partition, in order.
    errors: list[tuple[int, ErrorCode]]


def sort_out(
    topics: Iterable[AnyTopic], error_of: Callable[[AnyTopic, int], ErrorCode]
) -> tuple[list[Refused[AnyTopic]], list[AnyTopic]]:
    """Return the rejected partitions by topic, and the topics with their remaining partitions."""
    rejected, accepted = [], []
    for topic in topics:
        errors = [
            (partition.partition_index, error_of(topic, partition.partition_index)) for partition in topic.partitions
        ]
        bad = [(index, code) for index, code in errors if code]
        if bad:
            rejected.append(Refused(topic, bad))
        topic.partitions = [
            partition for partition, (_, code) in zip(topic.partitions, errors, strict=True) if not code
        ]
        if topic.partitions:
            accepted.append(topic)
    return rejected, accepted


def all_refused(topics: Iterable[AnyTopic], code: int) -> list[Refused[AnyTopic]]:
    return [
        Refused(topic, [(partition.partition_index, ErrorCode(code)) for partition in topic.partitions])
        for topic in topics
    ]


def merge(answers: list[AnyTopic], more: Iterable[AnyTopic]) -> list[AnyTopic]:
    """A topic that is in both comes once."""
    by_name = {_identity(topic): topic for topic in answers}
    for topic in more:
        merged = by_name.get(_identity(topic))
        if merged is None:
            answers.append(topic)
        else:
            merged.partitions += topic.partitions
    return answers


def _identity(topic: Any) -> tuple[str, bytes]:
    return topic.name, getattr(topic, "topic_id", b"")
