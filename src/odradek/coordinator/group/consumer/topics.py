"""The topics that members of a consumer group want: by name, and by regular expressions, resolved now and then."""

from collections.abc import Iterable

from odradek.coordinator.group.consumer.group import ConsumerGroup
from odradek.coordinator.group.consumer.member import ConsumerMember
from odradek.coordinator.runtime.patterns import compile_pattern
from odradek.coordinator.runtime.shard import CoordinatorRecord
from odradek.metadata.image.image import MetadataImage
from odradek.metadata.internal_topics import INTERNAL_TOPICS
from odradek.protocol.messages.consumer_group_regular_expression_key import ConsumerGroupRegularExpressionKey
from odradek.protocol.messages.consumer_group_regular_expression_value import ConsumerGroupRegularExpressionValue

_WHAT = "SubscribedTopicRegex"


def topic_ids(image: MetadataImage, names: Iterable[str]) -> tuple[bytes, ...]:
    """Return the ids of the topics that exist, sorted."""
    topics = (image.topics.by_name.get(name) for name in names)
    return tuple(sorted(topic.id for topic in topics if topic is not None))


def partition_counts(image: MetadataImage, ids: Iterable[bytes]) -> dict[bytes, int]:
    return {topic_id: len(image.topics.by_id[topic_id].partitions) for topic_id in ids}


def check_regex(regex: str) -> None:
    """Raises ApiError, INVALID_REGULAR_EXPRESSION."""
    compile_pattern(regex, _WHAT)


def resolve_regex(group_id: str, regex: str, image: MetadataImage, wall_ms: int) -> CoordinatorRecord:
    matches = compile_pattern(regex, _WHAT)
    topics = [name for name in image.topics.by_name if name not in INTERNAL_TOPICS and matches(name)]
    value = ConsumerGroupRegularExpressionValue(topics=sorted(topics), version=image.offset, timestamp=wall_ms)
    return CoordinatorRecord(ConsumerGroupRegularExpressionKey(group_id=group_id, regular_expression=regex), value)


def regexes_of(members: Iterable[ConsumerMember]) -> list[str]:
    return list(dict.fromkeys(member.topic_regex for member in members if member.topic_regex))


def names_wanted(group: ConsumerGroup, members: Iterable[ConsumerMember]) -> list[str]:
    return [name for member in members for name in group.topics_of(member)]
