"""ListGroups and DescribeGroups: what groups look like from outside."""

from collections.abc import Iterable

from odradek.coordinator.group.classic.classic_group import ClassicGroup, ClassicState
from odradek.coordinator.group.classic.classic_member import ClassicMember
from odradek.coordinator.group.group import Group
from odradek.coordinator.group.store import GroupStore
from odradek.protocol.error_codes import ErrorCode
from odradek.protocol.messages.describe_groups_response import DescribedGroup, DescribedGroupMember
from odradek.protocol.messages.list_groups_response import ListedGroup

#: The first version that can say that a classic group is not there; before, it is described as a dead one.
_GROUP_NOT_FOUND_VERSION = 6


def list_groups(store: GroupStore, states: Iterable[str], types: Iterable[str]) -> list[ListedGroup]:
    """Filters are in any case; an empty one lets everything through."""
    wanted_states = [state.lower().strip() for state in states]
    wanted_types = [type_name.lower() for type_name in types]
    return [
        _listed(group)
        for group in store.groups.values()
        if (not wanted_states or group.state_name.lower() in wanted_states)
        and (not wanted_types or group.type.value in wanted_types)
    ]


def _listed(group: Group) -> ListedGroup:
    return ListedGroup(
        group_id=group.group_id,
        protocol_type=group.protocol_type or "",
        group_state=group.state_name,
        group_type=group.type.value,
    )


def describe_classic_group(store: GroupStore, group_id: str, api_version: int) -> DescribedGroup:
    """Members' metadata only while the group is stable: before, they have not agreed on a protocol."""
    group = store.classic_group(group_id)
    if group is None:
        return _not_found(store, group_id, api_version)
    is_stable = group.state is ClassicState.STABLE
    return DescribedGroup(
        group_id=group_id,
        group_state=group.state_name,
        protocol_type=group.protocol_type or "",
        protocol_data=(group.protocol_name or "") if is_stable else "",
        members=[_described(group, member, is_stable) for member in group.members.values()],
    )


def _not_found(store: GroupStore, group_id: str, api_version: int) -> DescribedGroup:
    described = DescribedGroup(group_id=group_id, group_state=ClassicState.DEAD.value)
    if api_version >= _GROUP_NOT_FOUND_VERSION:
        described.error_code = ErrorCode.GROUP_ID_NOT_FOUND
        is_other = group_id in store.groups
        described.error_message = (
            f"Group {group_id} is not a classic group." if is_other else f"Group {group_id} not found."
        )
    return described


def _described(group: ClassicGroup, member: ClassicMember, is_stable: bool) -> DescribedGroupMember:
    return DescribedGroupMember(
        member_id=member.member_id,
        group_instance_id=member.group_instance_id,
        client_id=member.client_id,
        client_host=member.client_host,
        member_metadata=member.metadata(group.protocol_name) if is_stable else b"",
        member_assignment=member.assignment,
    )
