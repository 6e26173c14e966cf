"""Joining a classic group. Quoted sentences are those of KIP-62, 134, 345, 394, 814 and of Kafka's coordinator."""

import pytest

from odradek.coordinator.group.classic.classic_group import ClassicState
from odradek.coordinator.group.settings import GroupSettings
from odradek.protocol.error_codes import ErrorCode
from odradek.protocol.messages.group_metadata_value import GroupMetadataValue
from odradek.replica.errors import NotEnoughReplicas
from support.builders.groups import NO_DELAY, REBALANCE_MS, SESSION_MS, GroupWorld, subscription


@pytest.fixture
def world() -> GroupWorld:
    return GroupWorld()


def test_the_first_member_leads_the_first_generation(world: GroupWorld) -> None:
    reply = world.join()
    world.advance(0)
    response = reply.answer()
    assert (response.error_code, response.generation_id, response.protocol_name) == (0, 1, "range")
    assert response.leader == response.member_id
    assert [one.member_id for one in response.members] == [response.member_id]
    assert response.member_id.startswith("client-")


def test_a_member_id_is_required_since_version_4_and_kept_for_a_session(world: GroupWorld) -> None:
    """KIP-394: the broker "will reject first join-group request with empty member.id"."""
    response = world.join(version=4).answer()
    assert response.error_code == ErrorCode.MEMBER_ID_REQUIRED
    assert list(world.group().pending_join) == [response.member_id]
    world.advance(SESSION_MS)
    assert not world.group().pending_join
    assert world.join(response.member_id, version=4).answer().error_code == ErrorCode.UNKNOWN_MEMBER_ID


def test_a_pending_member_joins_with_its_id(world: GroupWorld) -> None:
    member_id = world.join(version=4).answer().member_id
    reply = world.join(member_id, version=4)
    world.advance(0)
    assert (reply.answer().error_code, reply.answer().member_id) == (0, member_id)


def test_a_rebalance_waits_for_pending_members(world: GroupWorld) -> None:
    (first,) = world.stable()
    pending = world.join(version=4).answer().member_id
    again = world.join(first, protocols=[("range", subscription("other"))])
    assert not again.is_done
    world.join(pending, version=4)
    assert again.answer().error_code == 0
    assert len(again.answer().members) == 2


def test_a_new_group_is_written_before_its_first_generation(world: GroupWorld) -> None:
    world.join(version=4)
    (record,) = world.records()
    value = record.value
    assert isinstance(value, GroupMetadataValue)
    assert (value.generation, value.protocol, value.protocol_type, value.leader) == (0, None, "", None)
    assert (value.members, value.current_state_timestamp) == ([], world.clock.wall_ms())


def test_a_group_that_cannot_be_written_is_not_there(world: GroupWorld) -> None:
    world.log.refusal = NotEnoughReplicas("for now")
    with pytest.raises(Exception, match="for now"):
        world.join()
    assert "g" not in world.shard.store.groups


@pytest.mark.parametrize("session_ms", [5_999, 1_800_001])
def test_session_timeouts_have_limits(world: GroupWorld, session_ms: int) -> None:
    assert world.join(session_ms=session_ms).answer().error_code == ErrorCode.INVALID_SESSION_TIMEOUT


def test_who_has_an_id_cannot_found_a_group(world: GroupWorld) -> None:
    assert world.join("somebody").answer().error_code == ErrorCode.UNKNOWN_MEMBER_ID


def test_protocols_must_have_something_in_common(world: GroupWorld) -> None:
    world.stable()
    codes = [
        world.join(protocols=[("sticky", b"")]).answer().error_code,
        world.join(protocol_type="connect").answer().error_code,
        world.join(protocols=[]).answer().error_code,
    ]
    assert codes == [ErrorCode.INCONSISTENT_GROUP_PROTOCOL] * 3


def test_a_founder_needs_a_protocol(world: GroupWorld) -> None:
    assert world.join(protocols=[]).answer().error_code == ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    assert world.join(protocol_type="").answer().error_code == ErrorCode.INCONSISTENT_GROUP_PROTOCOL


def test_members_vote_for_the_protocol_that_all_support() -> None:
    world = GroupWorld(GroupSettings(initial_rebalance_delay_ms=100))
    votes = [["range", "sticky"], ["sticky", "range"], ["robin", "sticky", "range"]]
    replies = [world.join(protocols=[(name, name.encode()) for name in names]) for names in votes]
    world.advance(200)
    assert {reply.answer().protocol_name for reply in replies} == {"sticky"}
    assert [one.metadata for one in replies[0].answer().members] == [b"sticky"] * 3


def test_the_initial_rebalance_is_delayed_for_others_to_come() -> None:
    """KIP-134: "if any new members join during this time, wait again", up to the rebalance time-out."""
    world = GroupWorld(GroupSettings(initial_rebalance_delay_ms=3_000))
    first = world.join(rebalance_ms=8_000)
    world.advance(2_999)
    world.join(rebalance_ms=8_000)
    world.advance(1)
    assert not first.is_done
    world.join(rebalance_ms=8_000)
    world.advance(2_999)
    assert not first.is_done
    world.join(rebalance_ms=8_000)
    world.advance(1)
    assert not first.is_done  # 6,000 of 8,000 are gone
    world.join(rebalance_ms=8_000)
    world.advance(2_000)
    assert len(first.answer().members) == 5


def test_without_newcomers_the_delay_ends_once() -> None:
    world = GroupWorld(GroupSettings(initial_rebalance_delay_ms=3_000))
    reply = world.join()
    world.advance(3_000)
    assert reply.answer().generation_id == 1


def test_a_rebalance_ends_when_all_have_joined(world: GroupWorld) -> None:
    first, second = world.stable(2)
    third = world.join()
    assert world.heartbeat(first, 2) == ErrorCode.REBALANCE_IN_PROGRESS
    world.join(first)
    assert not third.is_done
    world.join(second)
    assert third.answer().generation_id == 3
    assert third.answer().leader == first
    assert third.answer().members == []


def test_who_does_not_join_within_the_slowest_rebalance_timeout_is_out(world: GroupWorld) -> None:
    first, second = world.stable(2)
    world.join(first, protocols=[("range", b"\0\0new")], rebalance_ms=REBALANCE_MS + 1_000)
    for _ in range(6):
        world.advance(5_000)
        assert world.heartbeat(second, 2) == ErrorCode.REBALANCE_IN_PROGRESS
    world.advance(1_000)
    assert world.heartbeat(second, 2) == ErrorCode.UNKNOWN_MEMBER_ID
    assert list(world.group().members) == [first]
    assert world.group().generation == 3


def test_a_leader_that_does_not_join_is_replaced(world: GroupWorld) -> None:
    first, second = world.stable(2)
    again = world.join(second, protocols=[("range", b"\0\0new")])
    for _ in range(6):
        world.advance(5_000)
        world.heartbeat(first, 2)
    assert again.answer().leader == second


def test_followers_that_join_again_unchanged_are_told_what_is(world: GroupWorld) -> None:
    _, second = world.stable(2)
    response = world.join(second).answer()
    assert (response.error_code, response.generation_id, response.members) == (0, 2, [])
    assert world.group().state is ClassicState.STABLE


def test_a_leader_that_joins_again_forces_a_rebalance(world: GroupWorld) -> None:
    first, _ = world.stable(2)
    assert not world.join(first).is_done
    assert world.group().state is ClassicState.PREPARING_REBALANCE


def test_a_member_that_lost_its_answer_gets_it_again_while_the_group_syncs(world: GroupWorld) -> None:
    reply = world.join()
    world.advance(0)
    member_id = reply.answer().member_id
    response = world.join(member_id).answer()
    assert (response.generation_id, len(response.members)) == (1, 1)


def test_a_new_member_waits_for_five_minutes_at_most(world: GroupWorld) -> None:
    """It cannot send heartbeats before it has an answer; who is still there asks again."""
    (first,) = world.stable(1, rebalance_ms=600_000, session_ms=600_000)
    newcomer = world.join(rebalance_ms=600_000)
    world.advance(300_000)
    assert newcomer.answer().error_code == ErrorCode.UNKNOWN_MEMBER_ID
    assert list(world.group().members) == [first]


def test_a_group_has_a_largest_size() -> None:
    world = GroupWorld(GroupSettings(initial_rebalance_delay_ms=0, max_size=2))
    world.stable(2)
    response = world.join().answer()
    assert (response.error_code, response.member_id) == (ErrorCode.GROUP_MAX_SIZE_REACHED, "")


def test_a_group_that_is_too_large_when_it_is_loaded_rebalances() -> None:
    world = GroupWorld()
    first, second = world.stable(2)
    world.settings = GroupSettings(initial_rebalance_delay_ms=0, max_size=1)
    world.reload()
    assert world.group().state is ClassicState.PREPARING_REBALANCE
    assert not world.join(first).is_done
    assert world.join(second).answer().error_code == ErrorCode.GROUP_MAX_SIZE_REACHED


def test_a_second_join_of_a_waiting_member_ends_the_first(world: GroupWorld) -> None:
    first, _ = world.stable(2)
    lost = world.join(first)
    again = world.join(first)
    assert lost.answer().error_code == ErrorCode.REBALANCE_IN_PROGRESS
    assert not again.is_done


class TestStaticMembers:
    """KIP-345 and KIP-814."""

    def test_a_member_that_comes_back_takes_its_place_without_a_rebalance(self) -> None:
        world = GroupWorld(NO_DELAY)
        (former,) = world.stable(1, group_instance_id="one", version=9)
        response = world.join(group_instance_id="one", version=9).answer()
        assert (response.error_code, response.generation_id, response.skip_assignment) == (0, 1, True)
        assert response.member_id != former
        assert response.leader == response.member_id
        assert [one.group_instance_id for one in response.members] == ["one"]
        assert world.sync(response.member_id, 1).answer().assignment == b"0"
        value = world.records()[-1].value
        assert isinstance(value, GroupMetadataValue)
        assert [(one.member_id, one.assignment) for one in value.members] == [(response.member_id, b"0")]

    def test_older_clients_are_not_told_that_they_lead(self) -> None:
        world = GroupWorld()
        (former,) = world.stable(1, group_instance_id="one", version=8)
        response = world.join(group_instance_id="one", version=8).answer()
        assert (response.leader, response.members, response.skip_assignment) == (former, [], False)

    def test_the_former_one_is_fenced(self) -> None:
        world = GroupWorld()
        (former,) = world.stable(1, group_instance_id="one")
        world.join(group_instance_id="one")
        assert world.heartbeat(former, 1, group_instance_id="one") == ErrorCode.FENCED_INSTANCE_ID
        assert world.join(former, group_instance_id="one").answer().error_code == ErrorCode.FENCED_INSTANCE_ID
        assert world.sync(former, 1, group_instance_id="one").answer().error_code == ErrorCode.FENCED_INSTANCE_ID
        assert world.heartbeat(former, 1) == ErrorCode.UNKNOWN_MEMBER_ID

    def test_the_former_one_is_fenced_at_once_if_it_waits(self) -> None:
        world = GroupWorld(GroupSettings(initial_rebalance_delay_ms=1_000))
        waiting = world.join(group_instance_id="one")
        world.join(group_instance_id="one")
        assert waiting.answer().error_code == ErrorCode.FENCED_INSTANCE_ID

    def test_a_change_of_the_chosen_protocol_needs_a_rebalance(self) -> None:
        world = GroupWorld()
        world.stable(1, group_instance_id="one")
        reply = world.join(group_instance_id="one", protocols=[("sticky", b""), ("range", b"")])
        assert reply.answer().generation_id == 2
        assert reply.answer().protocol_name == "sticky"

    def test_one_that_comes_back_during_the_sync_phase_makes_everybody_join_again(self) -> None:
        world = GroupWorld()
        reply = world.join(group_instance_id="one")
        world.advance(0)
        waiting = world.sync("nobody", 1)
        assert waiting.answer().error_code == ErrorCode.UNKNOWN_MEMBER_ID
        assert world.join(group_instance_id="one").answer().generation_id == 2
        assert reply.answer().generation_id == 1

    def test_one_that_does_not_join_in_time_keeps_its_place_for_its_session(self) -> None:
        world = GroupWorld()
        first, second = world.stable(2, session_ms=60_000, rebalance_ms=30_000)
        third = world.join(group_instance_id="three", session_ms=60_000)
        world.join(first, session_ms=60_000)
        world.join(second, session_ms=60_000)
        static = third.answer().member_id
        world.sync(first, 3, {})
        again = world.join(first, session_ms=60_000, protocols=[("range", b"\0\0new")])
        world.join(second, session_ms=60_000)
        world.advance(30_000)
        assert static in world.group().members
        assert len(again.answer().members) == 3

    def test_what_cannot_be_written_is_taken_back(self) -> None:
        world = GroupWorld()
        (former,) = world.stable(1, group_instance_id="one")
        world.log.refusal = NotEnoughReplicas("for now")
        with pytest.raises(Exception, match="for now"):
            world.join(group_instance_id="one", session_ms=20_000)
        world.log.refusal = None
        assert list(world.group().members) == [former]
        assert world.group().members[former].session_timeout_ms == SESSION_MS
        assert world.heartbeat(former, 1, group_instance_id="one") == 0


def test_a_protocol_that_is_named_twice_is_one(world: GroupWorld) -> None:
    first = world.join(protocols=[("range", b"1"), ("range", b"2")])
    second = world.join(protocols=[("range", b"3")])
    world.advance(0)
    assert (first.answer().protocol_name, second.answer().protocol_name) == ("range", "range")
    assert [one.metadata for one in first.answer().members] == [b"1", b"3"]
