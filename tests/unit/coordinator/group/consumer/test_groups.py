"""Members of consumer groups, as KIP-848 has them: no partition ever has two owners, and everybody gets there."""

from random import Random

import pytest

from odradek.common.failures import ApiError
from odradek.coordinator.group.consumer.settings import ConsumerSettings
from odradek.coordinator.group.settings import GroupSettings
from odradek.protocol.config_types import ConfigResourceType
from odradek.protocol.error_codes import ErrorCode
from odradek.protocol.messages.config_record import ConfigRecord
from odradek.protocol.messages.consumer_group_heartbeat_request import TopicPartitions
from odradek.replica.errors import NotEnoughReplicas
from support.builders.replica import partition_record
from unit.coordinator.group.consumer.consumer_groups import (
    REVOCATION_MS,
    SESSION_MS,
    A,
    B,
    Member,
    World,
    numbers,
    settle,
    topic,
)


@pytest.fixture
def world() -> World:
    return World()


def test_one_alone_gets_everything_at_once(world: World) -> None:
    one = Member(world, "m1")
    response = one.beat()
    assert (one.epoch, numbers(one), response.heartbeat_interval_ms) == (2, [0, 1, 2, 3], 5_000)
    assert one.beat().error_code == 0
    assert world.consumer_group.state_name == "Stable"


def test_a_second_gets_its_share_only_when_the_first_has_given_it_up(world: World) -> None:
    one, two = Member(world, "m1", is_slow=True), Member(world, "m2")
    one.beat()
    two.beat()
    assert (two.epoch, two.owned) == (3, set())
    one.beat()  # is told to give up two, and does not yet
    assert (one.epoch, world.consumer_group.state_name) == (2, "Reconciling")
    two.beat()
    assert two.owned == set()
    one.owned = {partition for partition in one.owned if partition[1] < 2}
    one.beat()
    assert one.epoch == 3
    two.beat()
    assert (numbers(one), numbers(two), world.consumer_group.state_name) == ([0, 1], [2, 3], "Stable")


def test_who_does_not_give_up_in_time_is_fenced(world: World) -> None:
    one, two = Member(world, "m1", is_slow=True), Member(world, "m2")
    one.beat()
    two.beat()
    one.beat()
    for _ in range(REVOCATION_MS // 10_000):
        world.advance(10_000)
        if "m1" in world.consumer_group.members:
            one.beat()
        two.beat()
    assert "m1" not in world.consumer_group.members
    settle(two)
    assert numbers(two) == [0, 1, 2, 3]
    assert world.refusal(one.request()) == ErrorCode.UNKNOWN_MEMBER_ID


def test_who_is_not_heard_of_loses_its_partitions_to_the_others(world: World) -> None:
    one, two = Member(world, "m1"), Member(world, "m2")
    settle(one, two)
    for _ in range(5):
        world.advance(SESSION_MS // 4)
        two.beat()
    settle(two)
    assert numbers(two) == [0, 1, 2, 3]


def test_a_member_of_an_old_epoch_is_fenced_and_one_whose_answer_was_lost_is_not(world: World) -> None:
    one = Member(world, "m1")
    one.beat()
    lost = one.request(0)
    assert world.refusal(one.request(7)) == ErrorCode.FENCED_MEMBER_EPOCH
    two = Member(world, "m2")
    settle(one, two)
    assert world.refusal(lost) == 0  # to join again is always allowed
    one.epoch = world.consumer_group.members["m1"].member_epoch
    previous = one.request(world.consumer_group.members["m1"].previous_epoch)
    assert world.refusal(previous) == 0
    previous.topic_partitions = [TopicPartitions(topic_id=A, partitions=[3])]
    assert world.refusal(previous) == ErrorCode.FENCED_MEMBER_EPOCH


def test_a_static_member_that_comes_back_has_what_it_had(world: World) -> None:
    one, two = Member(world, "m1", instance_id="i1"), Member(world, "m2", instance_id="i2")
    settle(one, two)
    had = numbers(one)
    again = Member(world, "m3", instance_id="i1")
    assert world.refusal(again.request(0)) == ErrorCode.UNRELEASED_INSTANCE_ID
    one.leave(-2)
    epoch = world.consumer_group.epoch
    settle(again, two)
    assert (numbers(again), world.consumer_group.epoch) == (had, epoch)
    assert world.refusal(one.request(1)) == ErrorCode.UNKNOWN_MEMBER_ID


def test_regular_expressions_follow_the_topics(world: World) -> None:
    one = Member(world, "m1", topics=(), regex="[ab]")
    settle(one)
    assert len(one.owned) == 4
    world.add_topics(*topic("b", B, 2))
    settle(one)
    assert len(one.owned) == 6
    bad = Member(world, "m2", topics=(), regex="(")
    assert world.refusal(bad.request(0)) == ErrorCode.INVALID_REGULAR_EXPRESSION


def test_a_group_that_is_full_takes_nobody(world: World) -> None:
    settle(*(Member(world, f"m{n}") for n in range(4)))
    assert world.refusal(Member(world, "m9").request(0)) == ErrorCode.GROUP_MAX_SIZE_REACHED


def test_who_could_not_leave_must_still_be_heard_of(world: World) -> None:
    one = Member(world, "m1")
    settle(one)
    world.log.refusal = ApiError("", ErrorCode.NOT_ENOUGH_REPLICAS)
    assert world.refusal(one.request(-1)) == ErrorCode.COORDINATOR_NOT_AVAILABLE
    world.log.refusal = None
    assert list(world.consumer_group.members) == ["m1"]
    world.advance(SESSION_MS)
    assert world.consumer_group.members == {}


def test_a_group_has_settings_of_its_own(world: World) -> None:
    def setting(name: str, value: str) -> ConfigRecord:
        group = int(ConfigResourceType.GROUP)
        return ConfigRecord(resource_type=group, resource_name="g", name=f"consumer.{name}", value=value)

    world.add_topics(setting("session.timeout.ms", "60000"), setting("heartbeat.interval.ms", "7000"))
    one, two = Member(world, "m1"), Member(world, "m2")
    assert one.beat().heartbeat_interval_ms == 7_000
    two.beat()
    world.advance(SESSION_MS + 1)
    assert list(world.consumer_group.members) == ["m1", "m2"]
    world.advance(60_000 - SESSION_MS)
    assert world.consumer_group.members == {}
    world.add_topics(setting("assignment.interval.ms", "10000"))
    one, two = Member(world, "m3"), Member(world, "m4")
    one.beat()
    two.beat()
    assert (world.consumer_group.state_name, two.epoch) == ("Assigning", one.epoch)
    world.advance(10_000)
    settle(one, two)
    assert (numbers(one), numbers(two)) == ([0, 1], [2, 3])


def test_the_log_has_all_of_it(world: World) -> None:
    members = [Member(world, f"m{n}", regex="b.*") for n in range(3)]
    settle(*members)
    before = world.consumer_group
    world.reload()
    after = world.consumer_group
    assert after.members == before.members
    assert (after.targets, after.owners, after.epoch) == (before.targets, before.owners, before.epoch)
    settle(*members)
    assert sum(len(member.owned) for member in members) == 4


def test_when_all_have_left_the_group_may_go(world: World) -> None:
    one = Member(world, "m1")
    settle(one)
    assert world.code_of(lambda shard: shard.delete_group("g")) == ErrorCode.NON_EMPTY_GROUP
    one.leave()
    assert world.consumer_group.state_name == "Empty"
    assert world.code_of(lambda shard: shard.delete_group("g")) == 0
    world.reload()
    assert "g" not in world.shard.store.groups


@pytest.mark.parametrize("seed", range(40))
def test_no_partition_has_two_owners_whatever_happens(seed: int) -> None:
    """Members come, go, are slow, fall silent, want other topics; the coordinator moves."""
    random, world = Random(seed), World(GroupSettings(consumer=ConsumerSettings(assignment_interval_ms=0)))
    world.add_topics(*topic("b", B, 3))
    members: dict[str, Member] = {}
    for step in range(150):
        choice = random.random()
        if choice < 0.08 and len(members) < 5:
            topics = tuple(random.sample(["a", "b"], random.randint(1, 2)))
            members[f"m{step}"] = Member(world, f"m{step}", topics, is_slow=random.random() < 0.5)
        elif choice < 0.1:
            world.reload()
        elif choice < 0.15:
            world.advance(random.randrange(30_000))
        elif members:
            member = members[random.choice(sorted(members))]
            if choice < 0.2:
                member.topics = tuple(random.sample(["a", "b"], random.randint(1, 2)))
            if choice > 0.6:
                told = world.consumer_group.members.get(member.name) if "g" in world.shard.store.groups else None
                if told is not None:
                    member.owned = {
                        partition for partition in member.owned if partition[1] in told.assigned.get(partition[0], {})
                    }
            code = world.refusal(member.request())
            if code in (ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.FENCED_MEMBER_EPOCH, ErrorCode.GROUP_ID_NOT_FOUND):
                member.epoch, member.owned = 0, set()  # it has heard that it is out
            else:
                member.beat()
        alive = [
            each
            for each in members.values()
            if "g" in world.shard.store.groups and each.name in world.consumer_group.members
        ]
        owned = [partition for each in alive for partition in sorted(each.owned)]
        assert len(owned) == len(set(owned)), f"seed {seed}, step {step}"
    for member in members.values():
        member.is_slow = False
        if member.name not in getattr(world.shard.store.groups.get("g"), "members", {}):
            member.epoch, member.owned = 0, set()
    for _ in range(6):
        settle(*members.values())
    wanted = {"a": 4, "b": 3}
    names = {name for member in members.values() for name in member.topics}
    assert sum(len(member.owned) for member in members.values()) == sum(wanted[name] for name in names)


def test_a_change_of_topics_that_the_log_refused_is_noticed_again(world: World) -> None:
    one = Member(world, "m1")
    settle(one)
    world.add_topics(partition_record([1], number=4, topic_id=A))
    world.log.refusal = NotEnoughReplicas("for now")
    assert world.refusal(one.request()) == ErrorCode.COORDINATOR_NOT_AVAILABLE
    world.log.refusal = None
    settle(one)
    assert numbers(one) == [0, 1, 2, 3, 4]
