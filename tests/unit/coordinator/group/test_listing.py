"""What groups look like from outside."""

import pytest

from odradek.protocol.error_codes import ErrorCode
from odradek.protocol.messages.describe_groups_response import DescribedGroup, DescribedGroupMember
from odradek.protocol.messages.list_groups_response import ListedGroup
from support.builders.groups import GroupWorld, subscription


@pytest.fixture
def world() -> GroupWorld:
    """A stable group, one that prepares, and a simple one."""
    world = GroupWorld()
    world.stable()
    world.commit_offsets({0: 1}, group="simple")
    return world


def names(world: GroupWorld, states: list[str], types: list[str]) -> list[str]:
    return [one.group_id for one in world.shard.list_groups(states, types)]


def test_lists_say_type_and_state(world: GroupWorld) -> None:
    assert world.shard.list_groups([], []) == [
        ListedGroup(group_id="g", protocol_type="consumer", group_state="Stable", group_type="classic"),
        ListedGroup(group_id="simple", protocol_type="", group_state="Empty", group_type="classic"),
    ]


def test_filters_are_in_any_case(world: GroupWorld) -> None:
    assert names(world, [" stable"], []) == ["g"]
    assert names(world, ["EMPTY", "Dead"], ["Classic"]) == ["simple"]
    assert names(world, [], ["consumer"]) == []
    assert names(world, ["nonsense"], []) == []
    assert names(world, [], ["nonsense"]) == []


def test_a_stable_group_shows_what_its_members_have(world: GroupWorld) -> None:
    (member,) = world.group().members
    assert world.shard.describe_group("g", 6) == DescribedGroup(
        group_id="g",
        group_state="Stable",
        protocol_type="consumer",
        protocol_data="range",
        members=[
            DescribedGroupMember(
                member_id=member,
                client_id="client",
                client_host="/127.0.0.1",
                member_metadata=subscription("topic"),
                member_assignment=b"0",
            )
        ],
    )


def test_one_that_rebalances_shows_its_members_only(world: GroupWorld) -> None:
    world.join()
    described = world.shard.describe_group("g", 6)
    assert (described.group_state, described.protocol_data) == ("PreparingRebalance", "")
    assert [one.member_metadata for one in described.members] == [b"", b""]


def test_a_group_that_is_not_there_is_dead_and_an_error_since_version_6(world: GroupWorld) -> None:
    assert world.shard.describe_group("no", 5) == DescribedGroup(group_id="no", group_state="Dead")
    assert world.shard.describe_group("no", 6) == DescribedGroup(
        group_id="no",
        group_state="Dead",
        error_code=ErrorCode.GROUP_ID_NOT_FOUND,
        error_message="Group no not found.",
    )
