from dataclasses import dataclass, field
from random import Random
from typing import Any

import pytest

from odradek.common.failures import ApiError
from odradek.coordinator.runtime.errors import CoordinatorLoadInProgress, CoordinatorNotAvailable, NotCoordinator
from odradek.coordinator.runtime.hosted_shard import RETRY_TIMER_MS, ShardState
from odradek.coordinator.runtime.runtime import DEFAULT_TIMEOUT_MS, CoordinatorRuntime
from odradek.coordinator.runtime.shard import CoordinatorRecord, Decision, ShardContext, Writer
from odradek.log.errors import KafkaStorageError
from odradek.metadata.image.delta import MetadataDelta
from odradek.metadata.image.image import MetadataImage
from odradek.protocol.error_codes import ErrorCode
from odradek.protocol.messages.offset_commit_key import OffsetCommitKey
from odradek.protocol.messages.offset_commit_value import OffsetCommitValue
from odradek.replica.errors import NotEnoughReplicas
from odradek.sim.coordinator.log import SimulatedLog, SimulatedTopic
from support.builders.logs import HandClock

NODE = 1
PRODUCER = Writer("txn", 77, 3)


@dataclass
class Counters:
    """A shard that remembers the last offset of each group, and of transactions once they are committed."""

    context: ShardContext
    offsets: dict[str, int] = field(default_factory=dict)
    pending: dict[int, dict[str, int]] = field(default_factory=dict)
    seen: list[int] = field(default_factory=list)
    is_loaded: bool = False
    is_unloaded: bool = False
    images: list[MetadataImage] = field(default_factory=list)

    def replay(self, offset: int, producer_id: int, producer_epoch: int, record: CoordinatorRecord) -> None:
        assert isinstance(record.key, OffsetCommitKey)
        self.seen.append(offset)
        target = self.offsets if producer_id == -1 else self.pending.setdefault(producer_id, {})
        if record.value is None:
            target.pop(record.key.group, None)
        else:
            assert isinstance(record.value, OffsetCommitValue)
            target[record.key.group] = record.value.offset

    def replay_end_of_transaction(self, producer_id: int, producer_epoch: int, is_committed: bool) -> None:
        ended = self.pending.pop(producer_id, {})
        if is_committed:
            self.offsets |= ended

    def on_loaded(self) -> None:
        self.is_loaded = True

    def on_unloaded(self) -> None:
        self.is_unloaded = True

    def on_metadata(self, delta: MetadataDelta, image: MetadataImage) -> None:
        self.images.append(image)

    def put(self, group: str, offset: int, **other: Any) -> Decision[str]:
        return Decision(f"{group}={offset}", (committed(group, offset),), **other)


def committed(group: str, offset: int) -> CoordinatorRecord:
    return CoordinatorRecord(OffsetCommitKey(group=group, topic="t"), OffsetCommitValue(offset=offset), 3)


class World:
    """One node with a partition, which it leads from epoch 1 on."""

    def __init__(self) -> None:
        self.topic = SimulatedTopic()
        self.partition = self.topic.partitions[0]
        self.partition.elect(NODE)
        self.log = SimulatedLog(self.topic, NODE)
        self.clock = HandClock()
        self.shards: list[Counters] = []
        self.runtime = CoordinatorRuntime("__consumer_offsets", self.log, self._new_shard, self.clock, Random(0))

    def _new_shard(self, context: ShardContext) -> Counters:
        self.shards.append(Counters(context))
        return self.shards[-1]

    @property
    def shard(self) -> Counters:
        return self.shards[-1]

    def load(self) -> None:
        if self.runtime.load(0, self.partition.leader_epoch):
            while self.runtime.load_step(0):
                pass

    def advance(self, ms: int) -> None:
        self.clock.now_ms += ms
        while (deadline_ms := self.runtime.deadline_ms) is not None and deadline_ms <= self.clock.monotonic_ms():
            self.runtime.tick(self.clock.monotonic_ms())

    def commit(self) -> None:
        self.partition.commit()
        self.runtime.high_watermark_moved(0)


@pytest.fixture
def world() -> World:
    world = World()
    world.load()
    return world


def test_what_is_decided_is_logged_then_replayed_then_answered(world: World) -> None:
    reply = world.runtime.write(0, lambda shard: shard.put("g", 5))
    assert reply.answer() == "g=5"
    assert world.shard.offsets == {"g": 5}
    assert world.partition.end_offset == 1


def test_an_answer_waits_for_the_high_watermark_while_the_state_does_not(world: World) -> None:
    world.partition.is_held = True
    first = world.runtime.write(0, lambda shard: shard.put("g", 5))
    second = world.runtime.write(0, lambda shard: shard.put("g", shard.offsets["g"] + 1))
    read = world.runtime.read(0, lambda shard: shard.offsets["g"])
    world.partition.commit(1)
    world.runtime.high_watermark_moved(0)
    assert (first.is_done, second.is_done, read.is_done) == (True, False, False)
    world.commit()
    assert (second.answer(), read.answer()) == ("g=6", 6)


def test_what_is_not_committed_in_time_is_refused_and_its_fate_told_later(world: World) -> None:
    world.partition.is_held = True
    fates: list[ApiError | None] = []
    reply = world.runtime.write(0, lambda shard: shard.put("g", 5, on_done=fates.append), timeout_ms=100)
    world.advance(99)
    assert not reply.is_done
    world.advance(1)
    assert isinstance(reply.error, CoordinatorNotAvailable)
    assert fates == []
    world.commit()
    assert fates == [None]


@pytest.mark.parametrize(
    ("refusal", "code"),
    [
        (NotEnoughReplicas("too few"), ErrorCode.COORDINATOR_NOT_AVAILABLE),
        (KafkaStorageError("disk"), ErrorCode.NOT_COORDINATOR),
        (ApiError("large", ErrorCode.RECORD_LIST_TOO_LARGE), ErrorCode.UNKNOWN_SERVER_ERROR),
        (ApiError("large", ErrorCode.MESSAGE_TOO_LARGE), ErrorCode.UNKNOWN_SERVER_ERROR),
        (ApiError("old", ErrorCode.INVALID_PRODUCER_EPOCH), ErrorCode.INVALID_PRODUCER_EPOCH),
    ],
)
def test_a_refusal_of_the_log_changes_nothing(world: World, refusal: ApiError, code: ErrorCode) -> None:
    world.log.refusal = refusal
    fates: list[ApiError | None] = []
    reply = world.runtime.write(0, lambda shard: shard.put("g", 5, on_done=fates.append))
    assert reply.error is not None
    assert reply.error.code == code
    assert fates == [reply.error]
    assert world.shard.offsets == {}


def test_what_an_operation_raises_is_its_answer(world: World) -> None:
    def refuse(_: Counters) -> Decision[None]:
        raise ApiError("no", ErrorCode.UNKNOWN_MEMBER_ID)

    error = world.runtime.write(0, refuse).error
    assert error is not None
    assert error.code == ErrorCode.UNKNOWN_MEMBER_ID


def test_a_mistake_in_an_operation_is_an_answer_too(world: World, caplog: pytest.LogCaptureFixture) -> None:
    error = world.runtime.read(0, lambda shard: shard.offsets["missing"]).error
    assert error is not None
    assert error.code == ErrorCode.UNKNOWN_SERVER_ERROR
    assert "KeyError" in caplog.text


def test_a_shard_that_cannot_replay_its_own_record_is_given_up(world: World) -> None:
    bad = CoordinatorRecord(OffsetCommitKey(group="g"), OffsetCommitValue(offset=1), 3)
    world.shard.replay = lambda *_: 1 // 0  # type: ignore[assignment, method-assign]
    assert isinstance(world.runtime.write(0, lambda _: Decision(None, (bad,))).error, NotCoordinator)
    assert world.shard.is_unloaded
    assert world.runtime.partitions(ShardState.FAILED) == [0]
    assert isinstance(world.runtime.read(0, len).error, NotCoordinator)  # type: ignore[arg-type]


def test_who_waits_is_told_when_the_leadership_is_lost(world: World) -> None:
    world.partition.is_held = True
    fates: list[ApiError | None] = []
    reply = world.runtime.write(0, lambda shard: shard.put("g", 5, on_done=fates.append))
    world.runtime.unload(0, 2)
    assert isinstance(reply.error, NotCoordinator)
    assert fates == [reply.error]
    assert world.shard.is_unloaded
    assert isinstance(world.runtime.read(0, lambda shard: shard.offsets).error, NotCoordinator)
    assert world.runtime.deadline_ms is None


def test_old_news_of_a_leadership_are_ignored(world: World) -> None:
    world.runtime.unload(0, 1)
    assert world.runtime.partitions(ShardState.ACTIVE) == [0]
    assert not world.runtime.load(0, 1)


def test_a_shard_stays_in_the_next_epoch_but_not_over_a_gap(world: World) -> None:
    world.partition.elect(NODE)
    world.load()
    assert len(world.shards) == 1
    world.partition.elect(2)
    world.partition.elect(NODE)
    world.load()
    assert len(world.shards) == 2
    assert world.shards[0].is_unloaded
    assert world.shard.context.leader_epoch == 4


def test_loading_replays_all_and_refuses_requests_meanwhile() -> None:
    world = World()
    world.load()
    for number in range(3000):
        world.runtime.write(0, lambda shard, number=number: shard.put(f"g{number % 7}", number))  # type: ignore[misc]
    before = world.shard.offsets
    world.runtime.unload(0)
    assert world.runtime.load(0, 2)
    assert isinstance(world.runtime.read(0, lambda shard: shard.offsets).error, CoordinatorLoadInProgress)
    steps = 1
    while world.runtime.load_step(0):
        steps += 1
    assert steps > 2
    assert world.shard.offsets == before
    assert world.shard.is_loaded
    assert world.shard.seen == list(range(3000))


def test_a_shard_serves_when_all_that_it_loaded_is_committed() -> None:
    world = World()
    world.partition.is_held = True
    world.load()
    world.runtime.write(0, lambda shard: shard.put("g", 1))
    world.partition.elect(2)
    world.partition.elect(NODE)
    world.load()
    assert (world.shard.offsets, world.shard.is_loaded) == ({"g": 1}, False)
    assert isinstance(world.runtime.read(0, lambda shard: shard.offsets).error, CoordinatorLoadInProgress)
    world.commit()
    assert world.shard.is_loaded
    assert world.runtime.read(0, lambda shard: shard.offsets["g"]).answer() == 1


@pytest.mark.parametrize("is_committed", [True, False])
def test_records_of_a_transaction_count_when_it_is_committed(world: World, is_committed: bool) -> None:
    world.runtime.write(0, lambda shard: shard.put("g", 5), writer=PRODUCER)
    assert world.shard.offsets == {}
    ended = world.runtime.complete_transaction(0, PRODUCER, 0, is_committed)
    assert ended.answer() is None
    expected = {"g": 5} if is_committed else {}
    assert world.shard.offsets == expected
    world.runtime.unload(0)
    world.partition.elect(NODE)
    world.load()
    assert world.shard.offsets == expected


def test_a_timer_runs_once_and_its_records_are_written(world: World) -> None:
    timers = world.shard.context.timers
    shard = world.shard
    timers.schedule("session", 100, lambda: Decision(None, (committed("g", 1),)))
    timers.schedule("session", 200, lambda: Decision(None, (committed("g", 2),)))
    assert timers.is_scheduled("session")
    world.advance(199)
    assert shard.offsets == {}
    world.advance(1)
    assert shard.offsets == {"g": 2}
    assert not timers.is_scheduled("session")
    assert world.runtime.deadline_ms is None


def test_a_cancelled_timer_does_not_run(world: World) -> None:
    timers = world.shard.context.timers
    timers.schedule("session", 100, lambda: Decision(None, (committed("g", 1),)))
    timers.cancel("session")
    timers.cancel("other")
    world.advance(1000)
    assert world.shard.offsets == {}


def test_a_timer_whose_records_are_refused_is_tried_again(world: World) -> None:
    world.log.refusal = NotEnoughReplicas("too few")
    world.shard.context.timers.schedule("session", 100, lambda: Decision(None, (committed("g", 1),)))
    world.advance(100)
    world.log.refusal = None
    world.advance(RETRY_TIMER_MS - 1)
    assert world.shard.offsets == {}
    world.advance(1)
    assert world.shard.offsets == {"g": 1}


def test_timers_go_with_their_shard(world: World) -> None:
    timers = world.shard.context.timers
    timers.schedule("session", 100, lambda: Decision(None, (committed("g", 1),)))
    world.runtime.close()
    timers.schedule("other", 100, lambda: Decision(None, (committed("g", 1),)))
    assert world.runtime.deadline_ms is None


def test_shards_hear_of_metadata_once_they_are_active(world: World) -> None:
    image = MetadataImage()
    world.runtime.metadata_changed(MetadataDelta(image), image)
    assert world.shard.images == [image]
    assert world.shard.context.image() is image


def test_reads_have_a_limit_too(world: World) -> None:
    world.partition.is_held = True
    world.runtime.write(0, lambda shard: shard.put("g", 5))
    read = world.runtime.read(0, lambda shard: shard.offsets)
    world.advance(DEFAULT_TIMEOUT_MS)
    assert isinstance(read.error, CoordinatorNotAvailable)


def test_not_too_many_may_wait(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("odradek.coordinator.runtime.runtime.MAX_PARKED", 3)
    world.partition.is_held = True
    replies = [world.runtime.write(0, lambda shard: shard.put("g", 5)) for _ in range(4)]
    assert isinstance(replies.pop().error, CoordinatorNotAvailable)
    world.commit()
    assert [reply.answer() for reply in replies] == ["g=5"] * 3


def test_a_shard_that_cannot_take_metadata_is_given_up(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(world.shard, "images", None)
    world.runtime.metadata_changed(MetadataDelta(MetadataImage()), MetadataImage())
    assert world.runtime.partitions(ShardState.FAILED) == [0]
    assert world.shard.is_unloaded
