"""How far micro-batches go, and what their ranges are, whatever happens to partitions meanwhile."""

import pickle
from dataclasses import replace
from typing import Any

import pytest
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadMaxRows, ReadMinRows

from odradek.common.failures import InputError
from odradek.common.ids import TopicPartition, uuid_to_text
from odradek.errors import DataLost
from odradek.spark.source.data_source import OdradekDataSource
from odradek.spark.source.offset_limits import StreamOffset
from odradek.spark.source.offset_resolver import StartingOffsets
from odradek.spark.source.options import stream_options
from odradek.spark.source.range_reader import RangesPartition
from odradek.spark.source.ranges import OffsetRange
from odradek.spark.source.schema import spark_schema
from odradek.spark.source.stream_reader import StreamReader

ALL = ReadAllAvailable()
T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)


class FakePlaces:
    """A cluster of which a test says what there is: `ends` by topic and partition, and where logs begin. Streams begin
    at their ends, unless `begin` says otherwise."""

    def __init__(self, **ends: dict[int, int]) -> None:
        self.ends = {TopicPartition(topic, each): end for topic, found in ends.items() for each, end in found.items()}
        self.starts: dict[TopicPartition, int] = {}
        self.begin: StartingOffsets | None = None
        #: Of topics; brokers without topic ids unless a test sets them.
        self.ids: dict[str, bytes] = {}

    def starting_offsets(self) -> StartingOffsets:
        if self.begin is not None:
            return replace(self.begin, topic_ids=dict(self.ids))
        return StartingOffsets(dict(self.ends), frozenset(self.ends), topic_ids=dict(self.ids))

    def latest(self, known: object) -> StreamOffset:
        return StreamOffset(dict(self.ends), dict(self.ids))

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
    assert all(isinstance(each, RangesPartition) for each in found)
    return sorted(each for task in found for each in task.ranges)


def test_a_stream_from_the_latest_begins_with_an_empty_batch_and_goes_on_there() -> None:
    """Spark asks for the initial offset twice; the log grows and gets partitions meanwhile."""
    places = FakePlaces(t={0: 10})
    stream = reader(places)
    start = stream.initialOffset()
    places.ends = FakePlaces(t={0: 15, 1: 4}).ends
    assert stream.latestOffset(start, ALL) == start == {"t": {"0": 10}}
    places.ends = FakePlaces(t={0: 20, 1: 6}).ends
    assert stream.initialOffset() == start
    assert stream.partitions(start, start) == []
    assert stream.partitions(start, start) == [], "Spark may plan a batch twice"
    end = stream.latestOffset(start, ALL)
    assert ranges(stream.partitions(start, end)) == [OffsetRange(T0, 10, 20), OffsetRange(T1, 0, 6)]


def test_the_first_batch_is_empty_again_when_a_crash_let_latest_move_on() -> None:
    stream = reader(FakePlaces(t={0: 99, 1: 3}))
    first = {"t": {"0": 10}}
    assert stream.partitions(stream.initialOffset(), first) == []
    end = stream.latestOffset(first, ALL)
    assert ranges(stream.partitions(first, end)) == [OffsetRange(T0, 10, 99), OffsetRange(T1, 0, 3)]


def test_only_partitions_that_begin_at_the_latest_offset_are_empty_in_the_first_batch() -> None:
    places = FakePlaces(t={0: 10, 1: 20})
    places.begin = StartingOffsets({T0: 3, T1: 20}, frozenset({T1}))
    stream = reader(places, maxOffsetsPerTrigger=100)
    start = stream.initialOffset()
    places.ends = FakePlaces(t={0: 15, 1: 25}).ends
    first = stream.latestOffset(start, ReadMaxRows(100))
    assert first == {"t": {"0": 15, "1": 20}}
    assert ranges(stream.partitions(start, first)) == [OffsetRange(T0, 3, 15)]
    places.begin = StartingOffsets({T0: 3, T1: 25}, frozenset({T1}))
    again = reader(places)
    assert ranges(again.partitions(again.initialOffset(), first)) == [OffsetRange(T0, 3, 15)]


def test_a_first_batch_that_is_repeated_leaves_new_partitions_to_the_next_one() -> None:
    """Or they would pass for partitions that are gone."""
    places = FakePlaces(t={0: 10, 1: 4})
    places.begin = StartingOffsets({T0: 0, T1: 0}, problem="startingOffsets says nothing of t-2")
    stream, first = reader(places), {"t": {"0": 8}}
    assert ranges(stream.partitions(stream.initialOffset(), first)) == [OffsetRange(T0, 0, 8)]
    end = stream.latestOffset(first, ALL)
    assert ranges(stream.partitions(first, end)) == [OffsetRange(T0, 8, 10), OffsetRange(T1, 0, 4)]


def test_a_first_batch_that_is_repeated_tells_of_losses() -> None:
    stream = reader(FakePlaces(t={0: 10}))
    with pytest.raises(DataLost, match="t-1: no longer exists"):
        stream.partitions(stream.initialOffset(), {"t": {"0": 10, "1": 4}})
    stream = reader(FakePlaces(t={0: 2}))
    with pytest.raises(DataLost, match="t-0 was reset from offset 10 to 2"):
        stream.partitions(stream.initialOffset(), {"t": {"0": 10}})
    stream = reader(FakePlaces(t={0: 2}), failOnDataLoss=False)
    assert stream.partitions(stream.initialOffset(), {"t": {"0": 10, "1": 4}}) == []


@pytest.mark.parametrize(
    ("begin", "error", "text"),
    [
        (StartingOffsets({T0: 3}, problem="startingOffsets says nothing of t-1"), InputError, "says nothing of t-1"),
        (StartingOffsets({T0: 30}), DataLost, "t-0 was reset from offset 30 to 10"),
        (StartingOffsets({T0: 3, T1: 3}), DataLost, "t-1: no longer exists"),
    ],
)
def test_a_new_stream_that_cannot_begin_says_so_before_it_is_in_the_checkpoint(
    begin: StartingOffsets, error: type[Exception], text: str
) -> None:
    places = FakePlaces(t={0: 10})
    places.begin = begin
    stream = reader(places)
    start = stream.initialOffset()
    with pytest.raises(error, match=text):
        stream.latestOffset(start, ALL)


@pytest.mark.parametrize(("left", "loss"), [({0: 4}, "t-0 was reset from offset 10 to 4"), ({}, "t-0: no longer")])
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
        ({"t": {"0": 1, "1": 1}}, {"t": {"0": 5}}, "t-1: no longer exists"),
        ({"t": {"0": 9}}, {"t": {"0": 5}}, "t-0 was reset from offset 9 to 5"),
        ({"t": {"0": 5}}, {"t": {"0": 5, "2": 30}}, "t-2 is new and begins at offset 20"),
        ({"t": {"0": 5}}, {"t": {"0": 5, "3": 1}}, "t-3: no longer exists"),
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


# Topics that are deleted and created again

OLD, NEW = b"o" * 16, b"n" * 16
OLD_MARK, NEW_MARK = (f"t#{uuid_to_text(topic_id)}" for topic_id in (OLD, NEW))


def recreated(places: FakePlaces, **ends: dict[int, int]) -> None:
    places.ends, places.ids = FakePlaces(**ends).ends, {"t": NEW}


def begun(places: FakePlaces, **options: Any) -> tuple[StreamReader, Any]:
    """A stream after its first batch, and where that ended."""
    places.ids = {"t": OLD}
    stream = reader(places, startingOffsets="earliest", **options)
    places.begin = StartingOffsets(dict.fromkeys(places.ends, 0))
    start = stream.initialOffset()
    end = stream.latestOffset(start, ALL)
    stream.partitions(start, end)
    return stream, end


def test_offsets_have_the_ids_of_topics() -> None:
    stream, end = begun(FakePlaces(t={0: 300}))
    assert end == {"t": {"0": 300}, OLD_MARK: {}} == stream.reportLatestOffset()


@pytest.mark.parametrize("is_restarted", [False, True])
@pytest.mark.parametrize("is_available_now", [False, True])
def test_a_topic_that_was_created_again_fails_the_stream(is_restarted: bool, is_available_now: bool) -> None:
    places = FakePlaces(t={0: 300})
    stream, end = begun(places)
    recreated(places, t={0: 400})
    if is_restarted:
        stream = reader(places)
    if is_available_now:
        stream.prepareForTriggerAvailableNow()
    with pytest.raises(DataLost) as lost:
        stream.latestOffset(end, ALL)
    assert str(lost.value) == (
        f"topic t was deleted and created again: the offsets are of topic id {uuid_to_text(OLD)}, and it has topic id "
        f"{uuid_to_text(NEW)} now. Records of the previous topic that were not read are lost. To read the new topic "
        "from its beginning set failOnDataLoss=false, or start with a new checkpoint"
    )


@pytest.mark.parametrize("is_restarted", [False, True])
@pytest.mark.parametrize("is_available_now", [False, True])
@pytest.mark.parametrize("size", [100, 400])
def test_without_failing_the_new_topic_is_read_from_its_beginning(
    is_restarted: bool, is_available_now: bool, size: int
) -> None:
    """Also its partitions that the previous topic did not have; that there are fewer is nothing more."""
    places = FakePlaces(t={0: 300, 2: 50}, u={0: 7})
    stream, end = begun(places, failOnDataLoss=False)
    recreated(places, t={0: size, 1: 10}, u={0: 9})
    if is_restarted:
        stream = reader(places, failOnDataLoss=False)
    if is_available_now:
        stream.prepareForTriggerAvailableNow()
    following = stream.latestOffset(end, ReadMaxRows(10_000))
    assert following == {"t": {"0": size, "1": 10}, "u": {"0": 9}, NEW_MARK: {}}
    assert ranges(stream.partitions(end, following)) == [
        OffsetRange(T0, 0, size, NEW),
        OffsetRange(T1, 0, 10, NEW),
        OffsetRange(TopicPartition("u", 0), 7, 9),
    ]
    again = stream.latestOffset(following, ALL)
    assert again == following
    assert stream.partitions(following, again) == []


def test_a_batch_is_repeated_for_the_topic_that_it_was_planned_for() -> None:
    """Its tasks find out that the topic is another one."""
    places = FakePlaces(t={0: 300})
    _, end = begun(places)
    recreated(places, t={0: 400})
    start = {"t": {"0": 200}, OLD_MARK: {}}
    assert ranges(reader(places).partitions(start, end)) == [OffsetRange(T0, 200, 300, OLD)]


def test_a_topic_that_is_created_again_before_the_first_batch() -> None:
    for fails in (True, False):
        places = FakePlaces(t={0: 300}, u={0: 7})
        places.ids = {"t": OLD}
        stream = reader(places, failOnDataLoss=fails)
        start = stream.initialOffset()
        recreated(places, t={0: 400}, u={0: 7})
        if fails:
            with pytest.raises(DataLost, match="topic t was deleted and created again"):
                stream.latestOffset(start, ALL)
            continue
        first = stream.latestOffset(start, ALL)
        assert first == {"u": {"0": 7}}, "the new topic is new to the second batch"
        assert stream.partitions(start, first) == []
        second = stream.latestOffset(first, ALL)
        assert ranges(stream.partitions(first, second)) == [OffsetRange(T0, 0, 400, NEW)]


def test_a_topic_that_is_created_again_before_the_first_batch_is_repeated() -> None:
    places = FakePlaces(t={0: 300})
    _, first = begun(places)
    recreated(places, t={0: 400})
    stream = reader(places)
    with pytest.raises(DataLost, match="topic t was deleted and created again"):
        stream.partitions(stream.initialOffset(), first)
    stream = reader(places, failOnDataLoss=False)
    assert stream.partitions(stream.initialOffset(), first) == []
    second = stream.latestOffset(first, ALL)
    assert ranges(stream.partitions(first, second)) == [OffsetRange(T0, 0, 400, NEW)]


def test_a_checkpoint_without_topic_ids_gets_them_with_the_next_batch() -> None:
    """As older versions and Spark's own connector write them."""
    places = FakePlaces(t={0: 300})
    places.ids = {"t": NEW}
    stream = reader(places)
    end = stream.latestOffset({"t": {"0": 300}}, ALL)
    assert end == {"t": {"0": 300}, NEW_MARK: {}}
    assert stream.partitions({"t": {"0": 300}}, end) == []


def test_brokers_that_have_lost_their_topic_ids_are_read_without() -> None:
    places = FakePlaces(t={0: 310})
    end = reader(places).latestOffset({"t": {"0": 300}, OLD_MARK: {}}, ALL)
    assert end == {"t": {"0": 310}}


def test_the_lag_of_a_topic_that_was_created_again_is_not_that_of_the_previous_one() -> None:
    places = FakePlaces(t={0: 300}, u={0: 7})
    stream, end = begun(places, failOnDataLoss=False)
    told: list[dict[str, int]] = []

    class Group:
        def commit(self, offsets: dict[TopicPartition, int]) -> None:
            told.append({str(partition): offset for partition, offset in offsets.items()})

    stream._lag_group = Group()  # type: ignore[assignment]
    recreated(places, t={0: 100}, u={0: 7})
    stream.latestOffset(end, ALL)
    assert told == [{"u-0": 7}]
