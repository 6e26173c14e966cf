"""A worker's range: whole, or what is left of it when records were deleted before they were read."""

from collections.abc import Iterator
from typing import Any

import pytest
from pyspark.sql.datasource import InputPartition

from odradek.client.direct.ranges import DataLost, RangeRequest
from odradek.common.ids import TopicPartition
from odradek.records.builder import BatchBuilder
from odradek.records.columns import Columns, read_columns
from odradek.spark import range_reader
from odradek.spark.options import SourceOptions, batch_options
from odradek.spark.range_reader import RangePartition, plan, read
from odradek.spark.ranges import OffsetRange

PLACE = TopicPartition("t", 0)


def options(**more: str) -> SourceOptions:
    return batch_options({"kafka.bootstrap.servers": "localhost:9", "subscribe": "t", **more})


class FakeLog:
    """Offsets from `start` on, in chunks of two; another start as soon as a chunk was read, if a test says so."""

    def __init__(self, start: int, end: int, later_start: int | None = None) -> None:
        self.start, self.end, self.later_start = start, end, later_start

    def read_range(self, leaders: object, request: RangeRequest) -> Iterator[Columns]:
        position = request.start
        while position < request.end:
            if not self.start <= position < self.end:
                raise DataLost(f"offset {position} is gone", self.start)
            builder = BatchBuilder(base_offset=position)
            for _ in range(min(2, request.end - position)):
                builder.append(0, None, b"v")
            position += 2
            yield read_columns(builder.build())
            self.start = self.later_start or self.start


def offsets_read(
    monkeypatch: pytest.MonkeyPatch, log: FakeLog, given: SourceOptions, start: int, end: int
) -> list[int]:
    monkeypatch.setattr(range_reader, "read_range", log.read_range)
    batches: list[Any] = list(read(given, RangePartition(OffsetRange(PLACE, start, end))))
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
    with pytest.raises(DataLost, match="failOnDataLoss=false goes on with what is left"):
        offsets_read(monkeypatch, log, options(), 2, 10)
    log.start = begun
    assert offsets_read(monkeypatch, log, options(failOnDataLoss="false"), 2, 10) == left


def test_nothing_planned_is_nothing_read() -> None:
    assert plan(options(), [OffsetRange(PLACE, 3, 3)]) == []
    assert list(read(options(), InputPartition(None))) == []
