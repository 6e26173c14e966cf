"""Groups that change their protocol while they have members: everybody keeps working, nothing has two owners."""

from dataclasses import replace
from random import Random

import pytest

from odradek.common.failures import ApiError
from odradek.coordinator.group.classic.classic_group import ClassicGroup
from odradek.coordinator.group.consumer.group import ConsumerGroup
from odradek.coordinator.group.consumer.settings import MigrationPolicy
from odradek.coordinator.group.settings import GroupSettings
from odradek.protocol.error_codes import ErrorCode
from odradek.protocol.messages.leave_group_request import MemberIdentity
from support.builders.groups import REBALANCE_MS, SESSION_MS, error_code, subscription
from unit.coordinator.group.consumer.consumer_groups import SETTINGS, A, B, ClassicMember, Member, World, numbers, topic

Anybody = Member | ClassicMember


def policy(chosen: MigrationPolicy) -> GroupSettings:
    return replace(SETTINGS, consumer=replace(SETTINGS.consumer, migration_policy=chosen))


@pytest.fixture
def world() -> World:
    return World()


def kind(world: World) -> type[object] | None:
    group = world.shard.store.groups.get("g")
    return None if group is None else type(group)


def act(member: Anybody) -> None:
    if isinstance(member, ClassicMember):
        member.act()
    else:
        member.beat()


def settle(world: World, *members: Anybody, rounds: int = 12) -> None:
    for _ in range(rounds):
        for member in members:
            act(member)
            world.advance(1)
            check_owners(*members)


def check_owners(*members: Anybody) -> None:
    owned = [partition for member in members for partition in sorted(member.owned)]
    assert len(owned) == len(set(owned))


def owned_by(*members: Anybody) -> list[int]:
    return sorted(number for member in members for _, number in member.owned)


@pytest.mark.parametrize("is_cooperative", [False, True])
def test_a_group_is_upgraded_member_by_member(world: World, is_cooperative: bool) -> None:
    old = [ClassicMember(world, is_cooperative=is_cooperative) for _ in range(2)]
    settle(world, *old)
    assert (kind(world), owned_by(*old)) == (ClassicGroup, [0, 1, 2, 3])
    generation = world.group().generation
    new = Member(world, "n1")
    new.beat()
    assert kind(world) is ConsumerGroup
    assert new.epoch == generation + 1
    settle(world, *old, new)
    assert owned_by(*old, new) == [0, 1, 2, 3]
    assert all(member.owned for member in old) and new.owned
    old.pop().leave()
    newer = Member(world, "n2")
    settle(world, *old, new, newer)
    old.pop().leave()
    settle(world, new, newer)
    assert (owned_by(new, newer), world.consumer_group.state_name) == ([0, 1, 2, 3], "Stable")
    assert world.consumer_group.classic_members() == []


def test_a_cooperative_member_keeps_what_stays_its_own(world: World) -> None:
    old, new = ClassicMember(world, is_cooperative=True), Member(world, "n1")
    settle(world, old)
    new.beat()
    assert (new.owned, len(old.owned)) == (set(), 4)
    while len(old.owned) > 2:
        old.act()
        check_owners(old, new)
    settle(world, old, new)
    assert (len(old.owned), len(new.owned)) == (2, 2)
    assert set(old.errors) == {ErrorCode.REBALANCE_IN_PROGRESS}


def test_a_group_is_downgraded_when_its_last_consumer_member_leaves(world: World) -> None:
    new, old = Member(world, "n1"), ClassicMember(world)
    settle(world, new, old)
    assert (len(new.owned), len(old.owned)) == (2, 2)
    assert world.consumer_group.classic_members()[0].member_id == old.member_id
    epoch = world.consumer_group.epoch
    new.leave()
    assert kind(world) is ClassicGroup
    assert (world.group().generation, world.group().state_name) == (epoch, "PreparingRebalance")
    settle(world, old)
    assert (owned_by(old), world.group().state_name) == ([0, 1, 2, 3], "Stable")


def test_a_downgrade_follows_from_a_silent_member_too(world: World) -> None:
    new, old = Member(world, "n1"), ClassicMember(world)
    settle(world, new, old)
    for _ in range(10):
        world.advance(SESSION_MS // 2)
        old.act()
    assert kind(world) is ClassicGroup
    settle(world, old)
    assert owned_by(old) == [0, 1, 2, 3]


def test_the_log_has_either_kind(world: World) -> None:
    old, new = ClassicMember(world), Member(world, "n1", regex="b.*")
    settle(world, old)
    settle(world, old, new)
    before = world.consumer_group
    world.reload()
    assert world.consumer_group.members == before.members
    assert (world.consumer_group.targets, world.consumer_group.owners) == (before.targets, before.owners)
    settle(world, old, new)
    new.leave()
    world.reload()
    assert kind(world) is ClassicGroup
    assert list(world.group().members) == [old.member_id]
    settle(world, old)
    assert owned_by(old) == [0, 1, 2, 3]


@pytest.mark.parametrize(
    ("chosen", "upgrades", "downgrades"),
    [
        (MigrationPolicy.DISABLED, False, False),
        (MigrationPolicy.UPGRADE, True, False),
        (MigrationPolicy.DOWNGRADE, False, True),
        (MigrationPolicy.BIDIRECTIONAL, True, True),
    ],
)
def test_the_policy_decides(chosen: MigrationPolicy, upgrades: bool, downgrades: bool) -> None:
    world = World(policy(chosen))
    old = ClassicMember(world)
    settle(world, old)
    code = world.refusal(Member(world, "n1").request(0))
    assert (code, kind(world) is ConsumerGroup) == (0 if upgrades else ErrorCode.GROUP_ID_NOT_FOUND, upgrades)
    world = World(policy(chosen))
    new, old = Member(world, "n1"), ClassicMember(world)
    settle(world, new, old)
    if chosen is MigrationPolicy.DISABLED:
        assert set(old.errors) == {ErrorCode.INCONSISTENT_GROUP_PROTOCOL}
        return
    new.leave()
    assert kind(world) is (ClassicGroup if downgrades else ConsumerGroup)
    settle(world, old)
    assert owned_by(old) == [0, 1, 2, 3]


def test_an_empty_group_becomes_of_either_kind_whatever_the_policy() -> None:
    world = World(policy(MigrationPolicy.DISABLED))
    old = ClassicMember(world)
    settle(world, old)
    old.leave()
    new = Member(world, "n1")
    new.beat()
    assert kind(world) is ConsumerGroup
    new.leave()
    settle(world, old)
    assert (kind(world), owned_by(old)) == (ClassicGroup, [0, 1, 2, 3])
    world.reload()
    assert kind(world) is ClassicGroup
    assert list(world.group().members) == [old.member_id]


def test_an_empty_group_stays_what_it_is_if_that_cannot_be_written(world: World) -> None:
    new, old = Member(world, "n1"), ClassicMember(world)
    new.beat()
    new.leave()
    epoch = world.consumer_group.epoch
    world.log.refusal = ApiError("", ErrorCode.NOT_ENOUGH_REPLICAS)
    old.act()
    world.log.refusal = None
    assert world.consumer_group.epoch == epoch
    settle(world, old)
    assert (kind(world), owned_by(old)) == (ClassicGroup, [0, 1, 2, 3])


def test_those_who_cannot_be_read_stay_classic(world: World) -> None:
    world.stable(protocols=[("range", b"")])
    assert world.refusal(Member(world, "n1").request(0)) == ErrorCode.GROUP_ID_NOT_FOUND
    assert kind(world) is ClassicGroup


def test_workers_of_another_kind_stay_classic(world: World) -> None:
    world.stable(protocol_type="connect")
    assert world.refusal(Member(world, "n1").request(0)) == ErrorCode.GROUP_ID_NOT_FOUND


def test_those_who_wait_are_told_to_join_again(world: World) -> None:
    waiting = world.join(protocols=[("range", subscription("a"))])
    while not waiting.is_done:
        world.advance(1)
    member = waiting.answer().member_id
    newcomer = world.join(protocols=[("range", subscription("a"))])
    assert not newcomer.is_done
    Member(world, "n1").beat()
    assert newcomer.answer().error_code == ErrorCode.REBALANCE_IN_PROGRESS
    assert kind(world) is ConsumerGroup
    assert world.heartbeat(member, 1) == ErrorCode.REBALANCE_IN_PROGRESS


def test_what_a_classic_member_of_a_consumer_group_may_not(world: World) -> None:
    new, old = Member(world, "n1"), ClassicMember(world, instance_id="i1")
    settle(world, new, old)
    one, generation, i1 = old.member_id, old.generation, {"group_instance_id": "i1"}
    assert world.heartbeat(one, generation - 1, **i1) == ErrorCode.ILLEGAL_GENERATION
    assert world.heartbeat("n1", new.epoch) == ErrorCode.UNKNOWN_MEMBER_ID
    assert world.heartbeat("nobody", 1) == ErrorCode.UNKNOWN_MEMBER_ID
    assert world.heartbeat("other", generation, **i1) == ErrorCode.FENCED_INSTANCE_ID
    assert sync_code(world, one, generation + 1, **i1) == ErrorCode.ILLEGAL_GENERATION
    assert sync_code(world, one, generation, protocol_name="other", **i1) == ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    assert sync_code(world, one, generation, protocol_type="connect", **i1) == ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    assert join_code(world, protocols=[("roundrobin", subscription("a"))]) == ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    assert join_code(world, protocols=[("range", b"\0")]) == ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    assert join_code(world, session_ms=1) == ErrorCode.INVALID_SESSION_TIMEOUT
    assert world.leave("nobody") == [ErrorCode.UNKNOWN_MEMBER_ID]


def join_code(world: World, **fields: object) -> int:
    try:
        return world.join(**fields).answer().error_code  # type: ignore[arg-type]
    except ApiError as error:
        return error.code


def sync_code(world: World, member_id: str, generation: int, **fields: object) -> int:
    try:
        return world.sync(member_id, generation, **fields).answer().error_code  # type: ignore[arg-type]
    except ApiError as error:
        return error.code


def test_a_classic_member_commits_with_its_generation(world: World) -> None:
    new, old = Member(world, "n1"), ClassicMember(world)
    settle(world, new, old)
    kept = sorted(number for _, number in old.owned)[0]

    def code(generation: int, partition: int = kept, version: int = 8) -> int:
        return error_code(
            world.commit_offsets(
                {partition: 1}, member=old.member_id, generation=generation, version=version, topic="a", topic_id=A
            )
        )

    assert code(old.generation) == 0
    assert code(old.generation + 1) == ErrorCode.ILLEGAL_GENERATION
    assert code(0) == ErrorCode.ILLEGAL_GENERATION
    elsewhere = sorted(number for _, number in new.owned)[0]
    assert code(old.generation - 1, elsewhere) == ErrorCode.ILLEGAL_GENERATION


def test_static_members_change_their_protocol_and_keep_their_partitions(world: World) -> None:
    old = [ClassicMember(world, instance_id=f"i{n}") for n in range(2)]
    settle(world, *old)
    had = [sorted(member.owned) for member in old]
    new = [Member(world, f"n{n}", instance_id=f"i{n}") for n in range(2)]
    settle(world, new[0], old[1])
    assert (kind(world), [sorted(new[0].owned), sorted(old[1].owned)]) == (ConsumerGroup, had)
    settle(world, *new)
    assert [sorted(member.owned) for member in new] == had
    back = [ClassicMember(world, instance_id=f"i{n}") for n in range(2)]
    settle(world, back[0], new[1])
    settle(world, *back)
    assert kind(world) is ClassicGroup
    assert [sorted(member.owned) for member in back] == had


def test_an_administrator_removes_members_of_either_protocol(world: World) -> None:
    new, old = Member(world, "n1", instance_id="i1"), ClassicMember(world, instance_id="i2")
    settle(world, new, old)
    gone = [MemberIdentity(member_id="", group_instance_id=one) for one in ("i1", "i2", "i3")]
    assert world.leave(*gone) == [0, 0, ErrorCode.UNKNOWN_MEMBER_ID]
    assert world.consumer_group.state_name == "Empty"


def test_a_member_that_does_not_join_again_in_time_is_out(world: World) -> None:
    old, new = ClassicMember(world), Member(world, "n1")
    settle(world, old)
    settle(world, new)
    for _ in range(REBALANCE_MS // 1_000 + 1):
        world.advance(1_000)
        if old.member_id in world.consumer_group.members:
            assert world.heartbeat(old.member_id, old.generation) == ErrorCode.REBALANCE_IN_PROGRESS
        new.beat()
    assert list(world.consumer_group.members) == ["n1"]
    old.owned = set()
    settle(world, new)
    assert numbers(new) == [0, 1, 2, 3]


def test_a_downgrade_that_cannot_be_written_did_not_happen(world: World) -> None:
    new, old = Member(world, "n1"), ClassicMember(world)
    settle(world, new, old)
    world.log.refusal = ApiError("", ErrorCode.NOT_ENOUGH_REPLICAS)
    assert world.refusal(new.request(-1)) == ErrorCode.COORDINATOR_NOT_AVAILABLE
    world.log.refusal = None
    assert kind(world) is ConsumerGroup
    settle(world, new, old)
    assert owned_by(new, old) == [0, 1, 2, 3]


@pytest.mark.parametrize("seed", range(25))
def test_members_of_both_protocols_come_and_go(seed: int) -> None:
    roomy = replace(SETTINGS, consumer=replace(SETTINGS.consumer, max_size=100))
    random, world = Random(seed), World(roomy)
    world.add_topics(*topic("b", B, 3))
    members: list[Anybody] = []
    for step in range(120):
        choice = random.random()
        if choice < 0.1 and len(members) < 4:
            topics = tuple(sorted(random.sample(["a", "b"], random.randint(1, 2))))
            is_new = random.random() < 0.5
            members.append(Member(world, f"n{step}", topics) if is_new else ClassicMember(world, topics=topics))
        elif choice < 0.15 and members:
            members.pop(random.randrange(len(members))).leave()
        elif choice < 0.18:
            world.reload()
        else:
            world.advance(random.randrange(500))
        for member in random.sample(members, len(members)):
            advance_one(world, member)
            check_owners(*members)
    for _ in range(60):  # longer than the sessions of those who left unheard
        for member in members:
            advance_one(world, member)
            world.advance(SESSION_MS // 40)
    wanted = {name for member in members for name in member.topics}
    assert len(owned_by(*members)) == sum({"a": 4, "b": 3}[name] for name in wanted)


def advance_one(world: World, member: Anybody) -> None:
    if isinstance(member, ClassicMember):
        member.act()
        return
    if world.refusal(member.request()):
        member.epoch, member.owned = 0, set()
    member.beat()
