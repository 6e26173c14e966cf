"""A worker's range: whole, or what is left of it when records were deleted before they were read."""

from collections.abc import Iterator
from typing import Any

import pytest
from pyspark.sql.datasource import InputPartition

from odradek.client.direct.ranges import Chunk, RangeRequest, replaced_text
from odradek.common.ids import TopicPartition
from odradek.errors import DataLost, OffsetsDeleted, TopicReplaced
from odradek.records.builder import BatchBuilder
from odradek.records.columns.record_columns import read_columns
from odradek.spark.source import range_reader
from odradek.spark.source.options import SourceOptions, batch_options
from odradek.spark.source.range_reader import RangesPartition, plan, plan_grouped, read
from odradek.spark.source.ranges import OffsetRange

PLACE = TopicPartition("t", 0)


def options(**more: str) -> SourceOptions:
    return batch_options({"kafka.bootstrap.servers": "localhost:9", "subscribe": "t", **more})


class FakeLog:
    """Offsets from `start` on, in chunks of two; another start as soon as a chunk was read, if a test says so."""

    def __init__(self, start: int, end: int, later_start: int | None = None) -> None:
        self.start, self.end, self.later_start = start, end, later_start

    def read_ranges(self, leaders: object, requests: list[RangeRequest]) -> Iterator[Chunk]:
        for request in requests:
            position = request.start
            while position < request.end:
                if not self.start <= position < self.end:
                    raise OffsetsDeleted(f"offset {position} is gone", request.partition, self.start)
                builder = BatchBuilder(base_offset=position)
                for _ in range(min(2, request.end - position)):
                    builder.append(0, None, b"v")
                position += 2
                yield Chunk(request.partition, read_columns(builder.build()))
                self.start = self.later_start or self.start


def offsets_read(
    monkeypatch: pytest.MonkeyPatch, log: FakeLog, given: SourceOptions, start: int, end: int
) -> list[int]:
    monkeypatch.setattr(range_reader, "read_ranges", log.read_ranges)
    batches: list[Any] = list(read(given, RangesPartition((OffsetRange(PLACE, start, end),))))
    return [offset for batch in batches for offset in batch.column("offset").to_pylist()]


def test_all_of_a_range_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    assert offsets_read(monkeypatch, FakeLog(0, 9), options(), 2, 7) == [2, 3, 4, 5, 6]


@pytest.mark.parametrize(
    ("log", "left"),
    [
        (FakeLog(5, 20), [5, 6, 7, 8, 9]),
        (FakeLog(0, 20, later_start=7), [2, 3, 7, 8, 9]),
        (FakeLog(15, 20), []),
        (FakeLog(0, 2), []),
    ],
)
def test_what_was_deleted_is_an_error_or_skipped(
    monkeypatch: pytest.MonkeyPatch, log: FakeLog, left: list[int]
) -> None:
    begun = log.start
    with pytest.raises(DataLost, match="failOnDataLoss=false continues with the remaining records"):
        offsets_read(monkeypatch, log, options(), 2, 10)
    log.start = begun
    assert offsets_read(monkeypatch, log, options(failOnDataLoss="false"), 2, 10) == left


def test_data_loss_in_one_range_of_a_task_does_not_repeat_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    log = FakeLog(0, 20)
    monkeypatch.setattr(range_reader, "read_ranges", log.read_ranges)
    ranges = (
        OffsetRange(PLACE, 2, 5),
        OffsetRange(TopicPartition("t", 1), 18, 22),
        OffsetRange(TopicPartition("u", 0), 0, 2),
    )
    batches: list[Any] = list(read(options(failOnDataLoss="false"), RangesPartition(ranges)))
    rows = [row for batch in batches for row in batch.select(["topic", "partition", "offset"]).to_pylist()]
    assert [tuple(row.values()) for row in rows] == [
        *(("t", 0, offset) for offset in (2, 3, 4)),
        *(("t", 1, offset) for offset in (18, 19)),
        *(("u", 0, offset) for offset in (0, 1)),
    ]


def test_a_range_is_not_read_from_a_topic_that_was_created_again(monkeypatch: pytest.MonkeyPatch) -> None:
    def read_ranges(leaders: object, requests: list[RangeRequest]) -> Iterator[Chunk]:
        for request in requests:
            if request.topic_id == b"o" * 16:
                raise TopicReplaced(replaced_text("t", request.topic_id, b"n" * 16), request.partition)
            yield from FakeLog(0, 9).read_ranges(leaders, [request])

    monkeypatch.setattr(range_reader, "read_ranges", read_ranges)
    planned = RangesPartition((OffsetRange(PLACE, 0, 2, b"o" * 16), OffsetRange(TopicPartition("u", 0), 0, 2)))
    with pytest.raises(DataLost, match=r"topic t was deleted and created again.*set failOnDataLoss=false"):
        list(read(options(), planned))
    left: list[Any] = list(read(options(failOnDataLoss="false"), planned))
    assert [batch.column("topic").to_pylist() for batch in left] == [["u", "u"]]


def test_a_batch_read_has_a_task_for_each_partition_and_a_micro_batch_for_each_so_many_records() -> None:
    ranges = [OffsetRange(TopicPartition("t", number), 0, 100) for number in range(9)]
    assert plan(options(), ranges) == [RangesPartition((each,)) for each in ranges]
    assert plan_grouped(options(), ranges) == [RangesPartition(tuple(ranges))]
    assert len(plan_grouped(options(minPartitions="4"), ranges)) == 4
    assert len(plan_grouped(options(maxRecordsPerPartition="250"), ranges)) == 5


def test_nothing_planned_is_nothing_read() -> None:
    assert plan(options(), [OffsetRange(PLACE, 3, 3)]) == []
    assert list(read(options(), InputPartition(None))) == []
