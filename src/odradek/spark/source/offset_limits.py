"""Where a read begins and where it ends, as Spark's Kafka connector lets people say it. Pure.

A limit is one of four: `earliest` or `latest` everywhere, an offset for each partition (where -2 stands for the
earliest and -1 for the latest), a timestamp for each partition, or one timestamp for all of them. Offsets travel as
JSON, `{"topic": {"0": 5}}`: in options, in Spark's checkpoints and in its progress reports.

The offsets of a stream also have the ids of their topics, so that a topic that was deleted and created again is not
taken for the one before: `{"topic": {"0": 5}, "topic#<id>": {}}`. No topic has such a name, and since it has no
partitions, whoever does not know of ids finds the same offsets as without them: Spark's own connector, and versions of
ours that had none. Offsets without ids, such as theirs, are read as well.
"""

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from enum import IntEnum

from odradek.common.failures import InputError
from odradek.common.ids import TopicPartition, uuid_from_text, uuid_to_text

Offsets = Mapping[TopicPartition, int]

#: Between a topic and its id in JSON: no character of topic names.
_ID_MARK = "#"

#: Of offsets and of timestamps.
LARGEST = 2**63 - 1


class Special(IntEnum):
    """The numbers that stand for an end of the log among offsets."""

    LATEST = -1
    EARLIEST = -2


@dataclass(frozen=True, slots=True)
class Everywhere:
    which: Special


@dataclass(frozen=True, slots=True)
class At:
    """Offsets, or one of `Special`."""

    offsets: Offsets


@dataclass(frozen=True, slots=True)
class Since:
    """The first record of each partition that is not older. `falls_back`: to the latest, where there is none."""

    timestamps_ms: Offsets
    falls_back: bool


@dataclass(frozen=True, slots=True)
class AllSince:
    timestamp_ms: int
    falls_back: bool


Limit = Everywhere | At | Since | AllSince

EARLIEST, LATEST = Everywhere(Special.EARLIEST), Everywhere(Special.LATEST)


def parse_offsets(option: str, text: str, *, least: int = Special.EARLIEST) -> dict[TopicPartition, int]:
    """Offsets, or with `least` 0 timestamps. Raises InputError that names the option."""
    example = f'{option} is a JSON object such as {{"topic": {{"0": 23, "1": -2}}}}'
    topics = _object(option, text, example)
    found: dict[TopicPartition, int] = {}
    for topic, partitions in topics.items():
        if not isinstance(partitions, dict):
            raise InputError(f"{option}: {json.dumps(partitions)} of topic {topic} is no object. {example}")
        for partition, offset in partitions.items():
            if not partition.isdecimal() or type(offset) is not int or not least <= offset <= LARGEST:
                raise InputError(f"{option}: {partition!r}: {json.dumps(offset)} of topic {topic}. {example}")
            found[TopicPartition(topic, int(partition))] = offset
    return found


def parse_partitions(option: str, text: str) -> tuple[TopicPartition, ...]:
    example = f'{option} is a JSON object such as {{"topic": [0, 1]}}'
    found: dict[TopicPartition, None] = {}
    for topic, partitions in _object(option, text, example).items():
        if not isinstance(partitions, list) or not all(type(each) is int and each >= 0 for each in partitions):
            raise InputError(f"{option}: {json.dumps(partitions)} of topic {topic}. {example}")
        found.update(dict.fromkeys(TopicPartition(topic, each) for each in partitions))
    if not found:
        raise InputError(f"{option} names no partition. {example}")
    return tuple(found)


def offsets_to_json(offsets: Offsets) -> dict[str, dict[str, int]]:
    """As Spark keeps them; sorted, since Spark compares the text."""
    found: dict[str, dict[str, int]] = {}
    for (topic, partition), offset in sorted(offsets.items()):
        found.setdefault(topic, {})[str(partition)] = offset
    return found


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
        found = offsets_to_json(self.offsets)
        found.update(
            {f"{topic}{_ID_MARK}{uuid_to_text(self.topic_ids[topic])}": {} for topic in sorted(self.topic_ids)}
        )
        return found

    @classmethod
    def from_json(cls, document: Mapping[str, Mapping[str, int]]) -> "StreamOffset":
        """Raises ValueError for an id that is none."""
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
    """Raises InputError where a partition would end before it begins, or is in one of the two alone."""
    if isinstance(starting, At) and isinstance(ending, At):
        _check_pairs("startingOffsets", starting.offsets, "endingOffsets", ending.offsets)
    elif isinstance(starting, Since) and isinstance(ending, Since):
        names = "startingOffsetsByTimestamp", "endingOffsetsByTimestamp"
        _check_pairs(names[0], starting.timestamps_ms, names[1], ending.timestamps_ms)
    elif isinstance(starting, AllSince) and isinstance(ending, AllSince):
        _check_times(starting.timestamp_ms, ending.timestamp_ms)


def _check_times(start_ms: int, end_ms: int) -> None:
    if start_ms > end_ms:
        raise InputError(f"startingTimestamp {start_ms} lies after endingTimestamp {end_ms}")


def _check_pairs(start_name: str, starts: Offsets, end_name: str, ends: Offsets) -> None:
    alone = [str(partition) for partition in (*starts, *ends) if partition not in starts or partition not in ends]
    if alone:
        raise InputError(f"{start_name} and {end_name} must name the same partitions; only one has {', '.join(alone)}")
    for partition, start in starts.items():
        end = ends[partition]
        if start > end and start >= 0 and end >= 0:
            raise InputError(f"{partition}: {start_name} has {start}, which lies after {end} in {end_name}")


def _object(option: str, text: str, example: str) -> dict[str, object]:
    try:
        found = json.loads(text)
    except json.JSONDecodeError as error:
        raise InputError(f"{option} cannot be read: {error}. {example}") from None
    if not isinstance(found, dict):
        raise InputError(f"{option}: {text!r} is no JSON object. {example}")
    return found
