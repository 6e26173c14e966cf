"""Which partitions a read takes and where limits lie, asked of a cluster that a test makes up."""

from collections.abc import Mapping
from typing import Any

import pytest

from odradek.common import list_offsets_timestamps
from odradek.common.addresses import HostPort
from odradek.common.failures import InputError
from odradek.common.ids import ZERO_UUID, TopicPartition
from odradek.errors import Disconnected, UnknownTopic, Unreachable
from odradek.spark.source import offset_resolver
from odradek.spark.source.offset_limits import StreamOffset
from odradek.spark.source.offset_resolver import OffsetResolver, StartingOffsets
from odradek.spark.source.options import batch_options, stream_options

EARLIEST, LATEST = 3, 100


class FakeLeaders:
    """Every log has offsets 3 to 100, and a record at each millisecond of the same number."""

    def __init__(self) -> None:
        self.known: dict[str, tuple[int, ...]] = {"a": (0, 1), "ab": (0,), "b": (0,), "__odradek_spark_decisions": (0,)}
        self.failures: list[Exception] = []
        self.latest: list[int] = []
        #: Of every topic, at each broker; the first one is that of the look-ups. Empty as with old brokers.
        self.ids: dict[HostPort, list[bytes]] = {}

    def topic_id(self, topic: str) -> bytes:
        return next(iter(self.ids.values()))[0] if self.ids else ZERO_UUID

    def brokers(self) -> tuple[HostPort, ...]:
        return tuple(self.ids)

    def topic_ids_at(self, address: HostPort, topics: list[str]) -> dict[str, bytes]:
        """The next time another id, if there is one."""
        ids = self.ids[address]
        if not ids:
            raise Disconnected("connection refused")
        return dict.fromkeys(topics, ids.pop(0) if len(ids) > 1 else ids[0])

    def topics(self, names: tuple[str, ...] | None = None) -> dict[str, tuple[int, ...]]:
        if self.failures:
            raise self.failures.pop(0)
        return {name: found for name, found in self.known.items() if names is None or name in names}

    def offset(self, timestamp_ms: int) -> int:
        if timestamp_ms == list_offsets_timestamps.EARLIEST:
            return EARLIEST
        if timestamp_ms == list_offsets_timestamps.LATEST:
            return self.latest.pop(0) if self.latest else LATEST
        return timestamp_ms if timestamp_ms < LATEST else -1


@pytest.fixture
def leaders(monkeypatch: pytest.MonkeyPatch) -> FakeLeaders:
    fake = FakeLeaders()

    def list_offsets(leaders: FakeLeaders, wanted: Mapping[TopicPartition, int], **_: Any) -> dict[TopicPartition, int]:
        return {partition: leaders.offset(timestamp_ms) for partition, timestamp_ms in wanted.items()}

    monkeypatch.setattr(offset_resolver, "consumer_leaders", lambda settings: fake)
    monkeypatch.setattr(offset_resolver, "list_offsets", list_offsets)
    return fake


def resolved(end: str = "starting", **given: str) -> dict[str, int]:
    options = batch_options(OPTIONS | given)
    limit = options.starting if end == "starting" else options.ending
    found = OffsetResolver(options).resolve(limit, f"{end}Offsets")
    return {str(partition): offset for partition, offset in found.items()}


OPTIONS = {"kafka.bootstrap.servers": "localhost:9", "fetchOffset.retryIntervalMs": "0"}


@pytest.mark.parametrize(
    ("option", "value", "found"),
    [
        ("subscribe", "b,a", ["a-0", "a-1", "b-0"]),
        ("subscribePattern", "a.?", ["a-0", "a-1", "ab-0"]),
        ("subscribePattern", "b", ["ab-0", "b-0"]),
        ("subscribePattern", "nothing", []),
        ("subscribePattern", ".*", ["a-0", "a-1", "ab-0", "b-0"]),
        ("subscribe", "__odradek_spark_decisions", ["__odradek_spark_decisions-0"]),
        ("assign", '{"a": [1], "b": [0, 5]}', ["a-1", "b-0"]),
    ],
)
def test_partitions(leaders: FakeLeaders, option: str, value: str, found: list[str]) -> None:
    assert [str(each) for each in OffsetResolver(batch_options(OPTIONS | {option: value})).partitions()] == found


def test_limits(leaders: FakeLeaders) -> None:
    assert resolved(subscribe="a") == {"a-0": EARLIEST, "a-1": EARLIEST}
    assert resolved("ending", subscribe="b") == {"b-0": LATEST}
    assert resolved(subscribe="a", startingOffsets='{"a": {"0": 7, "1": -2}}') == {"a-0": 7, "a-1": EARLIEST}
    assert resolved(subscribe="b", startingTimestamp="50") == {"b-0": 50}
    assert resolved("ending", subscribe="b", endingTimestamp="500") == {"b-0": LATEST}
    late = {"startingOffsetsByTimestampStrategy": "latest", "startingOffsetsByTimestamp": '{"b": {"0": 500}}'}
    assert resolved(subscribe="b", **late) == {"b-0": LATEST}


def test_starting_offsets_of_a_stream_tell_which_are_the_latest(leaders: FakeLeaders) -> None:
    def start(**given: str) -> StartingOffsets:
        return OffsetResolver(stream_options(OPTIONS | {"subscribe": "a"} | given)).starting_offsets()

    a0, a1 = TopicPartition("a", 0), TopicPartition("a", 1)
    assert start() == StartingOffsets({a0: LATEST, a1: LATEST}, frozenset({a0, a1}))
    assert start(startingOffsets='{"a": {"0": -1, "1": -2}}') == StartingOffsets(
        {a0: LATEST, a1: EARLIEST}, frozenset({a0})
    )
    late = {"startingOffsetsByTimestamp": '{"a": {"0": 500, "1": 50}}'}
    assert start(startingOffsetsByTimestampStrategy="latest", **late) == StartingOffsets(
        {a0: LATEST, a1: 50}, frozenset({a0})
    )
    assert start(**late) == StartingOffsets(
        {a1: 50},
        problem="a-0 has no record as late as 500; startingOffsetsByTimestampStrategy=latest begins at its end",
    )
    leaders.known["a"] = (0, 1, 2)
    assert start(startingOffsets='{"a": {"0": 7, "1": 8}}') == StartingOffsets(
        {a0: 7, a1: 8}, problem="startingOffsets has no entry for a-2; -2 stands for the earliest, -1 for the latest"
    )


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"subscribePattern": "("}, "subscribePattern: '\\(' is not a valid regular expression"),
        ({"subscribe": "b", "startingTimestamp": "500"}, "b-0 has no record as late as 500"),
        ({"subscribe": "a", "startingOffsets": '{"a": {"0": 7}}'}, "startingOffsets has no entry for a-1"),
        ({"subscribe": "b", "startingOffsets": '{"b": {"0": 7, "4": 1}}'}, "startingOffsets names b-4, which is not"),
    ],
)
def test_limits_that_cannot_be(leaders: FakeLeaders, given: dict[str, str], said: str) -> None:
    with pytest.raises(InputError, match=said):
        resolved(**given)


def test_what_passes_is_tried_again_and_what_does_not_is_said(leaders: FakeLeaders) -> None:
    leaders.failures = [Unreachable("nobody"), Unreachable("nobody")]
    assert resolved(subscribe="b") == {"b-0": EARLIEST}
    leaders.failures = [Unreachable("nobody")] * 3
    with pytest.raises(Unreachable, match="nobody"):
        resolved(subscribe="b")
    with pytest.raises(UnknownTopic, match=r"there is no topic c, d$"):
        resolved(subscribe="c,d,a")
    with pytest.raises(UnknownTopic, match=r"there is no topic abs; did you mean ab\?"):
        resolved(subscribe="abs")


def test_a_cluster_that_has_answered_is_waited_for(leaders: FakeLeaders) -> None:
    found = OffsetResolver(batch_options(OPTIONS | {"subscribe": "b"}))
    found.partitions()
    leaders.failures = [Unreachable("nobody")] * 50
    assert found.latest(StreamOffset({})).offsets == {TopicPartition("b", 0): LATEST}


def test_a_leader_that_is_behind_is_asked_again(leaders: FakeLeaders) -> None:
    found = OffsetResolver(batch_options(OPTIONS | {"subscribe": "b"}))
    part = TopicPartition("b", 0)
    leaders.latest = [40, 60]
    assert found.latest(StreamOffset({part: 50})).offsets == {part: 60}
    leaders.latest = [40, 41, 42, 43]
    assert found.latest(StreamOffset({part: 50})).offsets == {part: 42}, "it was cut off"


def test_a_broker_that_does_not_know_of_a_partition_yet_is_asked_again(
    leaders: FakeLeaders, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Or the partition would be lost for a batch, and new in the next: read again from its beginning."""
    found = OffsetResolver(batch_options(OPTIONS | {"subscribePattern": "b"}))
    views: list[dict[str, tuple[int, ...]]] = [{"ab": (0,)}, {"ab": (0,), "b": (0,)}]
    monkeypatch.setattr(leaders, "topics", lambda: views.pop(0))
    known = {TopicPartition("ab", 0): 50, TopicPartition("b", 0): 50}
    assert found.latest(StreamOffset(known)).offsets == dict.fromkeys(known, LATEST)


A, B, C = (HostPort(name, 1) for name in "abc")
OLD, NEW = b"o" * 16, b"n" * 16


@pytest.mark.parametrize(
    ("ids", "asked"),
    [
        ({A: [NEW], B: [NEW]}, 1),
        ({A: [NEW], B: [OLD, NEW]}, 2),
        ({A: [NEW], B: [], C: [NEW]}, 1),
        ({A: [OLD], B: [NEW]}, 1),
    ],
)
def test_a_topic_was_created_again_if_all_brokers_say_so(
    leaders: FakeLeaders, ids: dict[HostPort, list[bytes]], asked: int
) -> None:
    """A broker that has just not heard of it is asked again, and one that is dead is left out."""
    found, part = OffsetResolver(stream_options(OPTIONS | {"subscribe": "b"})), TopicPartition("b", 0)
    leaders.ids, leaders.latest = ids, [40, 41, 42]
    known = StreamOffset({part: 30 if ids[A] == [OLD] else 99}, {"b": OLD})
    assert found.latest(known) == StreamOffset({part: 39 + asked}, {"b": ids[A][0]})


def test_while_brokers_disagree_nothing_is_taken_for_certain(leaders: FakeLeaders) -> None:
    found = OffsetResolver(stream_options(OPTIONS | {"subscribe": "b"}))
    leaders.ids = {A: [NEW], B: [OLD]}
    with pytest.raises(Unreachable, match="brokers do not agree yet whether b was created again"):
        found.latest(StreamOffset({TopicPartition("b", 0): 99}, {"b": OLD}))


def test_the_first_attempts_follow_each_other_quickly(leaders: FakeLeaders, monkeypatch: pytest.MonkeyPatch) -> None:
    """A leader that was killed is replaced in less than a second, and a stream need not wait longer than that; in all
    it waits for as long as the options say."""
    pauses: list[float] = []
    monkeypatch.setattr(offset_resolver.time, "sleep", pauses.append)
    given = {"kafka.bootstrap.servers": "localhost:9", "subscribe": "b"}
    leaders.failures = [Unreachable("nobody")]
    OffsetResolver(stream_options(given)).partitions()
    assert pauses == [0.1]
    pauses.clear()
    leaders.failures = [Unreachable("nobody")] * 50
    with pytest.raises(Unreachable):
        OffsetResolver(stream_options(given)).partitions()
    assert pauses == pytest.approx([0.1, 0.2, 0.4, 0.8, 0.5])


def test_beginnings_of_what_is_still_there(leaders: FakeLeaders) -> None:
    found = OffsetResolver(batch_options(OPTIONS | {"subscribe": "a"}))
    asked = [TopicPartition("a", 1), TopicPartition("a", 9)]
    assert found.earliest(asked) == {TopicPartition("a", 1): EARLIEST}
