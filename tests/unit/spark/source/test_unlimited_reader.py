"""The stream reader for Spark 4.1, called in the order in which that version calls it."""

from typing import Any

import pytest

from odradek.common.failures import InputError
from odradek.common.ids import TopicPartition
from odradek.errors import DataLost
from odradek.spark.source.offset_limits import StreamOffset
from odradek.spark.source.offset_resolver import StartingOffsets
from odradek.spark.source.options import stream_options
from odradek.spark.source.ranges import OffsetRange
from odradek.spark.source.unlimited_reader import UnlimitedStreamReader

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)


class FakePlaces:
    """A cluster with one topic, whose log ends a test sets. Streams begin at the ends unless `begin` is set."""

    def __init__(self, *ends: int) -> None:
        self.ends = ends
        self.begin: StartingOffsets | None = None

    def _offsets(self) -> dict[TopicPartition, int]:
        return {TopicPartition("t", number): end for number, end in enumerate(self.ends)}

    def starting_offsets(self) -> StartingOffsets:
        return self.begin or StartingOffsets(self._offsets(), frozenset(self._offsets()))

    def latest(self, known: StreamOffset) -> StreamOffset:
        return StreamOffset(self._offsets())

    def earliest(self, partitions: list[TopicPartition]) -> dict[TopicPartition, int]:
        return dict.fromkeys(partitions, 0)


def reader(places: FakePlaces, **options: str) -> UnlimitedStreamReader:
    given = {"kafka.bootstrap.servers": "localhost:9", "subscribe": "t", **options}
    stream: Any = UnlimitedStreamReader
    made: UnlimitedStreamReader = stream(stream_options(given), places)
    return made


def ranges(partitions: list[Any]) -> list[OffsetRange]:
    return [offset_range for partition in partitions for offset_range in partition.ranges]


def test_new_stream_from_latest() -> None:
    """What is written between the two calls belongs to the second batch."""
    places = FakePlaces(10)
    stream = reader(places)
    first = stream.latestOffset()
    places.ends = (15, 4)
    start = stream.initialOffset()
    assert start == first == {"t": {"0": 10}}
    assert stream.partitions(start, first) == []
    second = stream.latestOffset()
    assert ranges(stream.partitions(first, second)) == [OffsetRange(T0, 10, 15), OffsetRange(T1, 0, 4)]


def test_new_stream_from_earliest() -> None:
    places = FakePlaces(10, 20)
    places.begin = StartingOffsets({T0: 3, T1: 0})
    stream = reader(places)
    first = stream.latestOffset()
    start = stream.initialOffset()
    assert ranges(stream.partitions(start, first)) == [OffsetRange(T0, 3, 10), OffsetRange(T1, 0, 20)]
    places.ends = (12, 20)
    assert ranges(stream.partitions(first, stream.latestOffset())) == [OffsetRange(T0, 10, 12)]


def test_stream_is_continued() -> None:
    stream = reader(FakePlaces(30, 5))
    end = {"t": {"0": 10}}
    assert stream.partitions(end, end) == [], "Spark only names the offsets"
    assert ranges(stream.partitions(end, stream.latestOffset())) == [OffsetRange(T0, 10, 30), OffsetRange(T1, 0, 5)]


def test_first_batch_is_repeated_after_a_restart() -> None:
    """At the latest offset the batch was empty, whatever is the latest now."""
    places = FakePlaces(99)
    stream = reader(places)
    first = {"t": {"0": 10}}
    stream.partitions(first, first)
    assert stream.partitions(stream.initialOffset(), first) == []
    assert ranges(stream.partitions(first, stream.latestOffset())) == [OffsetRange(T0, 10, 99)]


def test_available_now_continues() -> None:
    """Spark asks for the end before it names the offsets of the checkpoint."""
    stream = reader(FakePlaces(30))
    last = stream.latestOffset()
    end = {"t": {"0": 10}}
    stream.partitions(end, end)
    assert ranges(stream.partitions(end, last)) == [OffsetRange(T0, 10, 30)]


def test_a_beginning_that_is_wrong_fails_a_new_stream() -> None:
    places = FakePlaces(10, 4)
    places.begin = StartingOffsets({T0: 0}, problem="startingOffsets says nothing of t-1")
    stream = reader(places)
    stream.latestOffset()
    with pytest.raises(InputError, match="says nothing of t-1"):
        stream.initialOffset()
    places.begin = StartingOffsets({T0: 11, T1: 0})
    stream = reader(places)
    stream.latestOffset()
    with pytest.raises(DataLost, match="t-0 was reset from offset 11 to 10"):
        stream.initialOffset()


@pytest.mark.parametrize("option", ["maxOffsetsPerTrigger", "minOffsetsPerTrigger"])
def test_limits_are_refused(option: str) -> None:
    with pytest.raises(InputError, match=rf"{option} requires Spark 4\.2 or newer: Spark 4\.1 does not pass"):
        reader(FakePlaces(1), **{option: "5"})
