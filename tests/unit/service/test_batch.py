"""Commits of a batch: the group's offsets are checked first, and an answer that is lost is no sign of another run."""

import asyncio
from collections.abc import Iterable, Mapping

import pytest

from odradek.client.types import OffsetAndMetadata, TopicPartition
from odradek.common.system_clock import SystemClock
from odradek.errors import RequestTimedOut
from odradek.service.batch import BatchSource, Overlap

PARTITION = TopicPartition("orders", 0)


class GroupOfOne:
    """A consumer with one partition; the group's coordinator answers as many commits as it is told to."""

    def __init__(self) -> None:
        self.offset: int | None = None
        self.loses_answers = False

    async def poll(self, timeout_ms: float, max_records: int) -> list[object]:
        return []

    def assignment(self) -> frozenset[TopicPartition]:
        return frozenset({PARTITION})

    async def end_offsets(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        return dict.fromkeys(partitions, 100)

    async def position(self, partition: TopicPartition) -> int:
        return 0

    async def committed(
        self, partitions: Iterable[TopicPartition], timeout_ms: float | None = None
    ) -> dict[TopicPartition, OffsetAndMetadata | None]:
        offset = None if self.offset is None else OffsetAndMetadata(self.offset)
        return dict.fromkeys(partitions, offset)

    async def commit(self, offsets: Mapping[TopicPartition, OffsetAndMetadata], timeout_ms: float | None) -> None:
        self.offset = offsets[PARTITION].offset
        if self.loses_answers:
            raise RequestTimedOut("no answer to OFFSET_COMMIT in time")


async def source_of(consumer: GroupOfOne) -> BatchSource:
    source = BatchSource(consumer, 1_000, SystemClock(), guards_offsets=True)  # type: ignore[arg-type]
    await source.poll(0, 1)
    return source


async def commit(source: BatchSource, offset: int) -> None:
    await source.commit({PARTITION: OffsetAndMetadata(offset)}, 1_000)


def test_a_commit_whose_answer_was_lost_is_not_taken_for_another_runs() -> None:
    async def test() -> None:
        consumer = GroupOfOne()
        source = await source_of(consumer)
        await commit(source, 10)
        consumer.loses_answers = True
        with pytest.raises(RequestTimedOut):
            await commit(source, 20)
        consumer.loses_answers = False
        await commit(source, 30)
        assert consumer.offset == 30 and source.commit_error is None

    asyncio.run(test())


def test_a_commit_of_another_run_ends_this_one() -> None:
    async def test() -> None:
        consumer = GroupOfOne()
        source = await source_of(consumer)
        await commit(source, 10)
        consumer.offset = 40
        for _ in range(2):
            with pytest.raises(Overlap):
                await commit(source, 20)
        assert consumer.offset == 40 and isinstance(source.commit_error, Overlap)

    asyncio.run(test())
