"""Letters of a partition in chunks, from an offset to the end that the partition had at the beginning."""

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass

from odradek.client.admin.admin import Admin
from odradek.client.consumer.consumer import Consumer
from odradek.client.settings.parsing import Kind
from odradek.client.types import OffsetAndMetadata, TopicPartition
from odradek.common.failures import InputError
from odradek.errors import UnknownTopic
from odradek.spark.pipeline.dead_letters.letter import Letter, parse_letter
from odradek.spark.pipeline.dead_letters.topics import LetterTopics

#: A topic that does not exist is not there in this time either.
_TOPIC_TIMEOUT_MS = 3_000
_POLL_MS = 200

#: Offsets include those of control records. Up to so many, the letters themselves are counted.
_COUNTED_MAX = 100_000
_COUNTED_RECORDS = 1_000


@dataclass(frozen=True, slots=True)
class Waiting:
    """Offsets of one partition: letters from `position` up to `end` are waiting."""

    partition: TopicPartition
    start: int
    position: int
    end: int


@dataclass(frozen=True, slots=True)
class Chunk:
    """Letters of one partition. `next_offset` is the offset to commit when they have been handled."""

    partition: TopicPartition
    letters: tuple[Letter, ...]
    next_offset: int


def letter_consumer(topics: LetterTopics, group: str) -> Consumer:
    """A consumer that is not a member of the group: it reads partitions that are assigned to it, and sees only records
    of committed transactions."""
    overrides = {
        "group.id": group,
        "client.id": "odradek-dead-letters",
        "isolation.level": "read_committed",
        "enable.auto.commit": False,
        "auto.offset.reset": "earliest",
        "allow.auto.create.topics": False,
    }
    return Consumer(topics.client_config(Kind.CONSUMER, overrides))


async def waiting_letters(
    consumer: Consumer, topics: LetterTopics, group: str, *, is_stable: bool = False
) -> list[Waiting]:
    """Offsets as they are now. Raises InputError for a topic that does not exist.

    A replay that was killed may have left a transaction with offsets, which ends when the next replay starts or when
    its time is up. `is_stable` waits for that; otherwise its offsets do not count."""
    partitions = [partition for topic in topics.topics for partition in await _partitions(consumer, topic)]
    committed = await (consumer.committed(partitions) if is_stable else _committed(topics, group))
    starts, ends = await consumer.beginning_offsets(partitions), await consumer.end_offsets(partitions)
    waiting = []
    for partition in partitions:
        offset = committed.get(partition)
        position = starts[partition] if offset is None else max(offset.offset, starts[partition])
        # Beyond the end: the topic was deleted and created again.
        position = starts[partition] if position > ends[partition] else position
        waiting.append(Waiting(partition, starts[partition], position, ends[partition]))
    return waiting


async def _committed(topics: LetterTopics, group: str) -> Mapping[TopicPartition, OffsetAndMetadata | None]:
    async with Admin(topics.client_config(Kind.ADMIN, {"client.id": "odradek-dead-letters"})) as admin:
        return (await admin.list_consumer_group_offsets([group])).get(group, {})


async def chunks(
    consumer: Consumer, partition: TopicPartition, start: int, end: int, chunk_records: int
) -> AsyncIterator[Chunk]:
    """Chunks of at most so many letters. Letters after `end` are left out."""
    consumer.assign([partition])
    consumer.seek(partition, start)
    position = start
    while position < end:
        records = await consumer.poll(_POLL_MS, chunk_records)
        # At the end of a transaction there is a control record, which is not handed out.
        position = await consumer.position(partition)
        letters = tuple(parse_letter(record) for record in records if record.offset < end)
        if letters:
            yield Chunk(partition, letters, letters[-1].offset + 1)


async def count_waiting(topics: LetterTopics, group: str) -> int:
    """The number of letters that are waiting; where they are very many, of their offsets."""
    async with letter_consumer(topics, group) as consumer:
        waiting = await waiting_letters(consumer, topics, group)
        offsets = sum(partition.end - partition.position for partition in waiting)
        if offsets > _COUNTED_MAX:
            return offsets
        count = 0
        for partition in waiting:
            async for chunk in chunks(
                consumer, partition.partition, partition.position, partition.end, _COUNTED_RECORDS
            ):
                count += len(chunk.letters)
        return count


async def partition_count(consumer: Consumer, topic: str) -> int | None:
    """Return the number of partitions; None for a topic that does not exist."""
    try:
        return len(await consumer.partitions_for(topic, _TOPIC_TIMEOUT_MS))
    except UnknownTopic:
        return None


async def _partitions(consumer: Consumer, topic: str) -> list[TopicPartition]:
    count = await partition_count(consumer, topic)
    if count is None:
        raise InputError(f"there is no topic {topic} yet; odradek topics create {topic} creates it")
    return [TopicPartition(topic, index) for index in range(count)]
