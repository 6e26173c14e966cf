"""The sync phase, heartbeats and leaving of a classic group."""

import pytest

from odradek.coordinator.group.classic.classic_group import ClassicState
from odradek.protocol.error_codes import ErrorCode
from odradek.protocol.messages.group_metadata_value import GroupMetadataValue
from odradek.protocol.messages.leave_group_request import MemberIdentity
from odradek.protocol.messages.sync_group_request import SyncGroupRequest, SyncGroupRequestAssignment
from odradek.replica.errors import NotEnoughReplicas
from support.builders.groups import REBALANCE_MS, SESSION_MS, GroupWorld


@pytest.fixture
def world() -> GroupWorld:
    return GroupWorld()


def joined(world: GroupWorld) -> tuple[str, str]:
    """Leader and follower of generation 2, before they sync."""
    leader = world.join()
    world.advance(0)
    follower = world.join()
    world.join(leader.answer().member_id)
    return leader.answer().member_id, follower.answer().member_id


def test_members_wait_for_the_leader_and_its_record(world: GroupWorld) -> None:
    leader, follower = joined(world)
    waiting = world.sync(follower, 2)
    assert not waiting.is_done
    world.partition.is_held = True
    world.runtime.write(0, lambda shard: shard.sync(_request(leader, follower)))
    assert not waiting.is_done
    assert world.group().state is ClassicState.COMPLETING_REBALANCE
    world.commit()
    assert waiting.answer().assignment == b"mine"
    assert (waiting.answer().protocol_type, waiting.answer().protocol_name) == ("consumer", "range")
    assert world.group().state is ClassicState.STABLE


def _request(leader: str, follower: str) -> SyncGroupRequest:
    return SyncGroupRequest(
        group_id="g",
        member_id=leader,
        generation_id=2,
        assignments=[SyncGroupRequestAssignment(member_id=follower, assignment=b"mine")],
    )


def test_the_record_has_all_that_a_new_coordinator_needs(world: GroupWorld) -> None:
    first, second = world.stable(2)
    record = world.records()[-1]
    assert record.value_version == 3
    assert isinstance(record.value, GroupMetadataValue)
    assert (record.value.generation, record.value.leader, record.value.protocol) == (2, first, "range")
    shown = [(one.member_id, one.assignment, one.client_host, one.session_timeout) for one in record.value.members]
    assert shown == [(first, b"0", "/127.0.0.1", SESSION_MS), (second, b"1", "/127.0.0.1", SESSION_MS)]
    world.reload()
    assert world.group().state is ClassicState.STABLE
    assert world.heartbeat(second, 2) == 0
    assert world.sync(second, 2).answer().assignment == b"1"
    world.advance(SESSION_MS)
    assert world.heartbeat(first, 2) == ErrorCode.UNKNOWN_MEMBER_ID


def test_members_without_an_assignment_get_an_empty_one(world: GroupWorld) -> None:
    leader, follower = joined(world)
    waiting = world.sync(follower, 2)
    assert world.sync(leader, 2, {leader: b"all"}).answer().assignment == b"all"
    assert (waiting.answer().error_code, waiting.answer().assignment) == (0, b"")


def test_an_assignment_that_is_refused_makes_everybody_join_again(world: GroupWorld) -> None:
    leader, follower = joined(world)
    waiting = world.sync(follower, 2)
    world.log.refusal = NotEnoughReplicas("for now")
    with pytest.raises(Exception, match="for now"):
        world.sync(leader, 2, {})
    assert waiting.answer().error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert world.heartbeat(follower, 2) == ErrorCode.REBALANCE_IN_PROGRESS


def test_somebody_who_joins_meanwhile_makes_those_who_wait_join_again(world: GroupWorld) -> None:
    _, follower = joined(world)
    waiting = world.sync(follower, 2)
    world.join()
    assert waiting.answer().error_code == ErrorCode.REBALANCE_IN_PROGRESS


def test_strangers_old_generations_and_other_protocols_are_refused(world: GroupWorld) -> None:
    (member,) = world.stable()
    assert world.sync("stranger", 1).answer().error_code == ErrorCode.UNKNOWN_MEMBER_ID
    assert world.sync(member, 0).answer().error_code == ErrorCode.ILLEGAL_GENERATION
    assert world.sync(member, 2).answer().error_code == ErrorCode.ILLEGAL_GENERATION
    codes = [
        world.sync(member, 1, protocol_type="connect").answer().error_code,
        world.sync(member, 1, protocol_name="sticky").answer().error_code,
        world.sync(member, 1, protocol_type="consumer", protocol_name="range").answer().error_code,
    ]
    assert codes == [ErrorCode.INCONSISTENT_GROUP_PROTOCOL] * 2 + [0]


def test_who_never_syncs_is_out_after_the_rebalance_timeout(world: GroupWorld) -> None:
    leader, follower = joined(world)
    world.sync(leader, 2, {})
    for _ in range(6):
        world.advance(REBALANCE_MS // 6)
        world.heartbeat(leader, 2)
        world.heartbeat(follower, 2)
    assert list(world.group().members) == [leader]
    assert world.group().state is ClassicState.PREPARING_REBALANCE


class TestHeartbeats:
    def test_a_session_ends_without_them(self, world: GroupWorld) -> None:
        first, second = world.stable(2)
        world.advance(SESSION_MS - 1)
        assert world.heartbeat(first, 2) == 0
        world.advance(1)
        assert world.heartbeat(first, 2) == ErrorCode.REBALANCE_IN_PROGRESS
        assert second not in world.group().members

    def test_they_count_while_the_group_syncs(self, world: GroupWorld) -> None:
        leader, _ = joined(world)
        assert world.heartbeat(leader, 2) == 0

    def test_who_sends_them_is_looked_at(self, world: GroupWorld) -> None:
        (member,) = world.stable()
        assert world.heartbeat("stranger", 1) == ErrorCode.UNKNOWN_MEMBER_ID
        assert world.heartbeat(member, 0) == ErrorCode.ILLEGAL_GENERATION
        assert world.heartbeat(member, 1, group_instance_id="other") == ErrorCode.UNKNOWN_MEMBER_ID

    def test_commits_are_as_good(self, world: GroupWorld) -> None:
        (member,) = world.stable()
        for _ in range(3):
            world.advance(SESSION_MS - 1)
            assert (
                world.commit_offsets({0: 1}, member=member, generation=1).answer().topics[0].partitions[0].error_code
                == 0
            )

    def test_members_that_wait_for_an_answer_need_none(self, world: GroupWorld) -> None:
        first, second = world.stable(2)
        waiting = world.join(first)
        for _ in range(2):
            world.advance(SESSION_MS - 1)
            world.heartbeat(second, 2)
        assert not waiting.is_done
        assert first in world.group().members


class TestLeaving:
    def test_the_rest_joins_again(self, world: GroupWorld) -> None:
        first, second = world.stable(2)
        assert world.leave(first) == [0]
        assert world.heartbeat(second, 2) == ErrorCode.REBALANCE_IN_PROGRESS
        assert world.join(second).answer().leader == second

    def test_the_last_one_leaves_an_empty_group_of_a_new_generation(self, world: GroupWorld) -> None:
        (member,) = world.stable()
        world.leave(member)
        assert world.group().state is ClassicState.EMPTY
        value = world.records()[-1].value
        assert isinstance(value, GroupMetadataValue)
        assert (value.generation, value.protocol, value.protocol_type, value.leader) == (2, None, "consumer", None)

    def test_many_go_at_once_each_with_its_own_answer(self, world: GroupWorld) -> None:
        first, second = world.stable(2)
        pending = world.join(version=4).answer().member_id
        codes = world.leave(first, "stranger", pending, MemberIdentity(member_id=second, group_instance_id="other"))
        assert codes == [0, ErrorCode.UNKNOWN_MEMBER_ID, 0, ErrorCode.UNKNOWN_MEMBER_ID]
        assert not world.group().pending_join

    def test_static_members_go_by_their_instance_id_alone(self, world: GroupWorld) -> None:
        (member,) = world.stable(1, group_instance_id="one")
        assert world.leave(MemberIdentity(group_instance_id="two")) == [ErrorCode.UNKNOWN_MEMBER_ID]
        wrong = MemberIdentity(member_id="former", group_instance_id="one")
        assert world.leave(wrong) == [ErrorCode.FENCED_INSTANCE_ID]
        assert member in world.group().members
        assert world.leave(MemberIdentity(group_instance_id="one")) == [0]
        assert not world.group().members

    def test_a_new_member_that_waits_is_told(self, world: GroupWorld) -> None:
        first, _ = world.stable(2)
        waiting = world.join(version=4, group="g")
        newcomer = waiting.answer().member_id
        joining = world.join(newcomer, version=4)
        world.leave(newcomer)
        assert joining.answer().error_code == ErrorCode.UNKNOWN_MEMBER_ID
        assert first in world.group().members


def test_those_who_wait_are_sent_away_when_the_coordinator_moves(world: GroupWorld) -> None:
    leader, follower = joined(world)
    syncing = world.sync(follower, 2)
    joining = world.join(group="other")
    world.reload()
    assert syncing.answer().error_code == ErrorCode.NOT_COORDINATOR
    assert joining.answer().error_code == ErrorCode.NOT_COORDINATOR
    assert world.heartbeat(leader, 2) == ErrorCode.UNKNOWN_MEMBER_ID
