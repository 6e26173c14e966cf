"""The beginning and the end of a read, in the notation of Spark's Kafka connector. Pure.

A limit is one of four: `earliest` or `latest` for all partitions, an offset for each partition (-2 stands for the
earliest and -1 for the latest), a timestamp for each partition, or one timestamp for all of them. Offsets are written
as JSON, `{"topic": {"0": 5}}`: in options, in Spark's checkpoints and in its progress reports.

The offsets of a stream also have the ids of their topics, so that a topic that was deleted and created again is not
mistaken for the previous one: `{"topic": {"0": 5}, "topic#<id>": {}}`. No topic has such a name, and the entry has no
partitions, so that readers that ignore ids get the same offsets as without them: Spark's own connector, and older
versions of this package. Offsets without ids are read as well.
"""

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from enum import IntEnum

from odradek.common.failures import InputError
from odradek.common.ids import TopicPartition, uuid_from_text, uuid_to_text
from odradek.spark.option_reader import INT64_MAX

Offsets = Mapping[TopicPartition, int]

#: Separator of a topic and its id in JSON: not allowed in topic names.
_ID_MARK = "#"


class Special(IntEnum):
    """Values among offsets that stand for an end of the log."""

    LATEST = -1
    EARLIEST = -2


@dataclass(frozen=True, slots=True)
class Everywhere:
    end: Special


@dataclass(frozen=True, slots=True)
class At:
    """An offset for each partition, or one of `Special`."""

    offsets: Offsets


@dataclass(frozen=True, slots=True)
class Since:
    """The first record of each partition with at least this timestamp.

    With `falls_back`, a partition without such a record begins at its latest offset."""

    timestamps_ms: Offsets
    falls_back: bool


@dataclass(frozen=True, slots=True)
class AllSince:
    timestamp_ms: int
    falls_back: bool


Limit = Everywhere | At | Since | AllSince

EARLIEST, LATEST = Everywhere(Special.EARLIEST), Everywhere(Special.LATEST)


def parse_offsets(option: str, text: str, *, minimum: int = Special.EARLIEST) -> dict[TopicPartition, int]:
    """Parse offsets, or timestamps with `minimum` 0. Raise an InputError that names the option."""
    example = f'{option} is a JSON object such as {{"topic": {{"0": 23, "1": -2}}}}'
    topics = _object(option, text, example)
    offsets: dict[TopicPartition, int] = {}
    for topic, partitions in topics.items():
        if not isinstance(partitions, dict):
            raise InputError(f"{option}: {json.dumps(partitions)} of topic {topic} is not an object. {example}")
        for partition, offset in partitions.items():
            if not partition.isdecimal() or type(offset) is not int or not minimum <= offset <= INT64_MAX:
                raise InputError(
                    f"{option}: invalid entry {partition!r}: {json.dumps(offset)} of topic {topic}. {example}"
                )
            offsets[TopicPartition(topic, int(partition))] = offset
    return offsets


def parse_partitions(option: str, text: str) -> tuple[TopicPartition, ...]:
    example = f'{option} is a JSON object such as {{"topic": [0, 1]}}'
    topic_partitions: dict[TopicPartition, None] = {}
    for topic, partitions in _object(option, text, example).items():
        if not isinstance(partitions, list) or not all(
            type(partition) is int and partition >= 0 for partition in partitions
        ):
            raise InputError(f"{option}: invalid partitions {json.dumps(partitions)} of topic {topic}. {example}")
        topic_partitions.update(dict.fromkeys(TopicPartition(topic, partition) for partition in partitions))
    if not topic_partitions:
        raise InputError(f"{option} names no partition. {example}")
    return tuple(topic_partitions)


def offsets_to_json(offsets: Offsets) -> dict[str, dict[str, int]]:
    """Return the form that Spark keeps; sorted, since Spark compares the text."""
    by_topic: dict[str, dict[str, int]] = {}
    for (topic, partition), offset in sorted(offsets.items()):
        by_topic.setdefault(topic, {})[str(partition)] = offset
    return by_topic


def offsets_from_json(offsets: Mapping[str, Mapping[str, int]]) -> dict[TopicPartition, int]:
    """Read offsets with or without topic ids."""
    return {
        TopicPartition(topic, int(partition)): offset
        for topic, partitions in offsets.items()
        for partition, offset in partitions.items()
    }


@dataclass(frozen=True, slots=True)
class StreamOffset:
    """The position of a stream. `topic_ids` has the topics whose id is known."""

    offsets: Offsets
    topic_ids: Mapping[str, bytes] = field(default_factory=dict)

    def at(self, offsets: Offsets) -> "StreamOffset":
        """Return other offsets of the same topics, or of some of them."""
        topics = {partition.topic for partition in offsets}
        return StreamOffset(offsets, {topic: self.topic_ids[topic] for topic in self.topic_ids if topic in topics})

    def to_json(self) -> dict[str, dict[str, int]]:
        document = offsets_to_json(self.offsets)
        document.update(
            {f"{topic}{_ID_MARK}{uuid_to_text(self.topic_ids[topic])}": {} for topic in sorted(self.topic_ids)}
        )
        return document

    @classmethod
    def from_json(cls, document: Mapping[str, Mapping[str, int]]) -> "StreamOffset":
        """Raise ValueError for a malformed id."""
        marks = (name.partition(_ID_MARK) for name in document if _ID_MARK in name)
        return cls(offsets_from_json(document), {topic: uuid_from_text(text) for topic, _, text in marks})

    def replaced_topics(self, current: Mapping[str, bytes]) -> tuple[str, ...]:
        """Return the topics that have another id now. Topics without a known id are not among them."""
        both = sorted(topic for topic in self.topic_ids if topic in current)
        return tuple(topic for topic in both if self.topic_ids[topic] != current[topic])

    def without(self, topics: Collection[str]) -> "StreamOffset":
        return StreamOffset(
            {partition: offset for partition, offset in self.offsets.items() if partition.topic not in topics},
            {topic: topic_id for topic, topic_id in self.topic_ids.items() if topic not in topics},
        )


def check_order(starting: Limit, ending: Limit) -> None:
    """Raise InputError if a partition would end before it begins, or is in only one of the two limits."""
    if isinstance(starting, At) and isinstance(ending, At):
        _check_pairs("startingOffsets", starting.offsets, "endingOffsets", ending.offsets)
    elif isinstance(starting, Since) and isinstance(ending, Since):
        names = "startingOffsetsByTimestamp", "endingOffsetsByTimestamp"
        _check_pairs(names[0], starting.timestamps_ms, names[1], ending.timestamps_ms)
    elif isinstance(starting, AllSince) and isinstance(ending, AllSince):
        _check_times(starting.timestamp_ms, ending.timestamp_ms)


def _check_times(start_ms: int, end_ms: int) -> None:
    if start_ms > end_ms:
        raise InputError(f"startingTimestamp {start_ms} is later than endingTimestamp {end_ms}")


def _check_pairs(start_name: str, starts: Offsets, end_name: str, ends: Offsets) -> None:
    unmatched = [str(partition) for partition in (*starts, *ends) if partition not in starts or partition not in ends]
    if unmatched:
        raise InputError(
            f"{start_name} and {end_name} must name the same partitions; missing in one of them: {', '.join(unmatched)}"
        )
    for partition, start in starts.items():
        end = ends[partition]
        if start > end and start >= 0 and end >= 0:
            raise InputError(f"{partition}: {start} in {start_name} is larger than {end} in {end_name}")


def _object(option: str, text: str, example: str) -> dict[str, object]:
    try:
        document = json.loads(text)
    except json.JSONDecodeError as error:
        raise InputError(f"{option} is not valid JSON: {error}. {example}") from None
    if not isinstance(document, dict):
        raise InputError(f"{option}: {text!r} is not a JSON object. {example}")
    return document
