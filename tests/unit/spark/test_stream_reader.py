"""How far micro-batches go, and what their ranges are, whatever happens to partitions meanwhile."""

import pickle
from typing import Any

import pytest
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadMaxRows, ReadMinRows

from odradek.client.direct.ranges import DataLost
from odradek.common.failures import InputError
from odradek.common.ids import TopicPartition
from odradek.spark.limits import Limit
from odradek.spark.options import stream_options
from odradek.spark.range_reader import RangePartition
from odradek.spark.ranges import OffsetRange
from odradek.spark.schema import spark_schema
from odradek.spark.source import OdradekDataSource
from odradek.spark.stream_reader import StreamReader

ALL = ReadAllAvailable()


class FakePlaces:
    """A cluster of which a test says what there is: `ends` by topic and partition, and where logs begin."""

    def __init__(self, **ends: dict[int, int]) -> None:
        self.ends = {TopicPartition(topic, each): end for topic, found in ends.items() for each, end in found.items()}
        self.starts: dict[TopicPartition, int] = {}

    def resolve(self, limit: Limit, option: str) -> dict[TopicPartition, int]:
        return dict(self.ends)

    def latest(self, known: object) -> dict[TopicPartition, int]:
        return dict(self.ends)

    def earliest(self, partitions: list[TopicPartition]) -> dict[TopicPartition, int]:
        return {each: self.starts.get(each, 0) for each in partitions if each in self.ends}


class Clock:
    now_s = 0.0

    def __call__(self) -> float:
        return self.now_s


def reader(places: FakePlaces, clock: Clock | None = None, **options: Any) -> StreamReader:
    given = {"kafka.bootstrap.servers": "localhost:9", "subscribe": "t", **{k: str(v) for k, v in options.items()}}
    stream: Any = StreamReader
    return stream(stream_options(given), places, clock or Clock())


def ranges(found: list[Any]) -> list[OffsetRange]:
    assert all(isinstance(each, RangePartition) for each in found)
    return [each.range for each in found]


def test_a_stream_from_the_latest_begins_with_an_empty_batch_and_goes_on_there() -> None:
    places = FakePlaces(t={0: 10})
    stream = reader(places)
    start = stream.initialOffset()
    places.ends[TopicPartition("t", 0)] = 15
    assert stream.latestOffset(start, ALL) == start == {"t": {"0": 10}}
    assert stream.partitions(start, start) == []
    end = stream.latestOffset(start, ALL)
    assert ranges(stream.partitions(start, end)) == [OffsetRange(TopicPartition("t", 0), 10, 15)]


def test_the_first_batch_is_empty_again_when_a_crash_let_latest_move_on() -> None:
    stream = reader(FakePlaces(t={0: 99, 1: 3}))
    assert stream.partitions(stream.initialOffset(), {"t": {"0": 10}}) == []
    assert ranges(stream.partitions({"t": {"0": 10}}, {"t": {"0": 99}})) == [
        OffsetRange(TopicPartition("t", 0), 10, 99)
    ]


@pytest.mark.parametrize(("left", "loss"), [({0: 4}, "t-0 went back from offset 10 to 4"), ({}, "t-0: not there any")])
def test_a_stream_from_the_latest_that_has_read_nothing_yet_tells_of_losses(left: dict[int, int], loss: str) -> None:
    places = FakePlaces(t={0: 10})
    stream = reader(places)
    start = stream.initialOffset()
    assert stream.latestOffset(start, ALL) == start
    assert stream.partitions(start, start) == []
    places.ends = FakePlaces(t=left).ends
    with pytest.raises(DataLost, match=loss):
        stream.partitions(start, stream.latestOffset(start, ALL))


def test_batches_are_limited_and_all_is_told_of() -> None:
    stream = reader(FakePlaces(t={0: 100, 1: 300}), startingOffsets="earliest", maxOffsetsPerTrigger=40)
    assert stream.reportLatestOffset() is None
    assert stream.getDefaultReadLimit() == ReadMaxRows(40)
    assert stream.latestOffset({"t": {"0": 0, "1": 0}}, ReadMaxRows(40)) == {"t": {"0": 10, "1": 30}}
    assert stream.reportLatestOffset() == {"t": {"0": 100, "1": 300}}
    assert stream.latestOffset({"t": {"0": 0, "1": 0}}, ALL) == {"t": {"0": 100, "1": 300}}


def test_a_batch_waits_for_enough_records_or_for_the_time_to_be_up() -> None:
    places, clock = FakePlaces(t={0: 5}), Clock()
    stream = reader(places, clock, startingOffsets="earliest", minOffsetsPerTrigger=10, maxTriggerDelay="1m")
    limit = stream.getDefaultReadLimit()
    assert limit == ReadMinRows(10)
    assert stream.latestOffset({"t": {"0": 0}}, limit) == {"t": {"0": 5}}, "the first one does not wait"
    places.ends[TopicPartition("t", 0)] = 14
    assert stream.latestOffset({"t": {"0": 5}}, limit) == {"t": {"0": 5}}
    assert stream.latestOffset({"t": {"0": 5}}, ALL) == {"t": {"0": 14}}
    clock.now_s = 60
    assert stream.latestOffset({"t": {"0": 5}}, limit) == {"t": {"0": 14}}
    places.ends[TopicPartition("t", 0)] = 24
    assert stream.latestOffset({"t": {"0": 14}}, limit) == {"t": {"0": 24}}


def test_available_now_ends_where_the_log_ended_and_does_not_wait() -> None:
    places = FakePlaces(t={0: 5})
    stream = reader(places, startingOffsets="earliest", minOffsetsPerTrigger=10, maxOffsetsPerTrigger=10)
    stream.prepareForTriggerAvailableNow()
    assert stream.latestOffset({"t": {"0": 0}}, ReadMaxRows(10)) == {"t": {"0": 5}}
    places.ends[TopicPartition("t", 0)] = 50
    assert stream.latestOffset({"t": {"0": 5}}, ReadMaxRows(10)) == {"t": {"0": 5}}


def test_partitions_that_are_new_are_read_from_their_beginning() -> None:
    places = FakePlaces(t={0: 5, 1: 8})
    stream = reader(places, startingOffsets="earliest", maxOffsetsPerTrigger=100)
    end = stream.latestOffset({"t": {"0": 5}}, ReadMaxRows(100))
    assert ranges(stream.partitions({"t": {"0": 5}}, end)) == [OffsetRange(TopicPartition("t", 1), 0, 8)]


@pytest.mark.parametrize(
    ("start", "end", "loss"),
    [
        ({"t": {"0": 1, "1": 1}}, {"t": {"0": 5}}, "t-1: not there any more"),
        ({"t": {"0": 9}}, {"t": {"0": 5}}, "t-0 went back from offset 9 to 5"),
        ({"t": {"0": 5}}, {"t": {"0": 5, "2": 30}}, "t-2 is new and begins at offset 20"),
        ({"t": {"0": 5}}, {"t": {"0": 5, "3": 1}}, "t-3: not there any more"),
    ],
)
def test_what_cannot_be_read_any_more_is_a_loss(start: Any, end: Any, loss: str) -> None:
    places = FakePlaces(t={0: 5, 2: 30})
    places.starts[TopicPartition("t", 2)] = 20
    with pytest.raises(DataLost, match=loss):
        reader(places).partitions(start, end)
    left = ranges(reader(places, failOnDataLoss=False).partitions(start, end))
    assert all(each.size > 0 and each.partition.partition in (0, 2) for each in left)


def test_a_reader_goes_to_the_workers() -> None:
    given = {"kafka.bootstrap.servers": "localhost:9", "subscribe": "t", "lagGroup": "g"}
    assert isinstance(pickle.loads(pickle.dumps(StreamReader(stream_options(given)))), StreamReader)


def test_a_stream_with_wrong_options_says_so_when_it_is_asked_for_anything() -> None:
    """Spark stops a reader that it never got, and says of that only."""
    given = {"kafka.bootstrap.servers": "localhost:9", "subscribe": "t", "endingOffsets": "latest"}
    refusing = OdradekDataSource(given).streamReader(spark_schema(with_headers=False))
    for ask in (refusing.initialOffset, lambda: refusing.latestOffset({}, ALL), lambda: refusing.partitions({}, {})):
        with pytest.raises(InputError, match="endingOffsets is for batch reads"):
            ask()
    refusing.stop()
