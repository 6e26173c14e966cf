"""Groups: list, describe, delete, remove members. Classic groups and consumer groups have the same description."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from odradek.client.admin.cluster_router import ClusterRouter
from odradek.client.admin.node_requests import CoordinatorRequests
from odradek.client.admin.outcomes import Outcomes
from odradek.client.errors import check_error, refusal
from odradek.client.net.coordinator_kind import CoordinatorKind
from odradek.client.types import TopicPartition
from odradek.common.addresses import HostPort
from odradek.common.failures import ProtocolError
from odradek.errors import Refused, VersionsDiffer
from odradek.protocol.codec import decode
from odradek.protocol.error_codes import ErrorCode
from odradek.protocol.messages import consumer_group_describe_response as consumer
from odradek.protocol.messages import describe_groups_response as classic
from odradek.protocol.messages.consumer_group_describe_request import ConsumerGroupDescribeRequest
from odradek.protocol.messages.consumer_protocol_assignment import ConsumerProtocolAssignment
from odradek.protocol.messages.delete_groups_request import DeleteGroupsRequest
from odradek.protocol.messages.delete_groups_response import DeleteGroupsResponse
from odradek.protocol.messages.describe_groups_request import DescribeGroupsRequest
from odradek.protocol.messages.leave_group_request import LeaveGroupRequest, MemberIdentity
from odradek.protocol.messages.leave_group_response import LeaveGroupResponse
from odradek.protocol.messages.list_groups_request import ListGroupsRequest
from odradek.protocol.messages.list_groups_response import ListGroupsResponse


@dataclass(frozen=True, slots=True)
class GroupListing:
    """Name, type and state of a group."""

    group_id: str
    #: classic, consumer, share or streams; empty if the broker is too old to return it.
    type: str
    state: str
    protocol_type: str


@dataclass(frozen=True, slots=True)
class GroupMember:
    """Member of a group, with its assignment."""

    member_id: str
    instance_id: str | None
    client_id: str
    host: str
    assignment: tuple[TopicPartition, ...]
    #: Target assignment and epoch of a member of a consumer group; None in a classic group.
    target: tuple[TopicPartition, ...] | None = None
    epoch: int | None = None


@dataclass(frozen=True, slots=True)
class GroupDescription:
    """Group with its members and its coordinator."""

    group_id: str
    type: str
    state: str
    #: Assignor of a consumer group, selected protocol of a classic group.
    assignor: str
    members: tuple[GroupMember, ...]
    coordinator: HostPort
    epoch: int | None = None


class MemberToRemove(NamedTuple):
    """Member of a classic group, by its member id, or by its group.instance.id if it is static."""

    member_id: str = ""
    instance_id: str | None = None


class GroupOperations:
    """Lists, describes and deletes groups, and removes members from them."""

    def __init__(self, router: ClusterRouter) -> None:
        self._router = router
        self._coordinators = CoordinatorRequests(router, CoordinatorKind.GROUP)

    async def list_all(self, states: Iterable[str] = (), types: Iterable[str] = ()) -> list[GroupListing]:
        """Return the groups of all brokers in these states and of these types, by name. Raises Refused."""
        listings: dict[str, GroupListing] = {}
        for address in (await self._router.describe()).nodes.values():
            request = ListGroupsRequest(states_filter=list(states), types_filter=list(types))
            response: ListGroupsResponse = await self._router.send_to(address, request)
            check_error(response.error_code, None)
            for group in response.groups:
                listings[group.group_id] = GroupListing(
                    group.group_id, group.group_type.lower(), group.group_state, group.protocol_type
                )
        return [listings[name] for name in sorted(listings)]

    async def describe(self, group_ids: Sequence[str]) -> Outcomes[str, GroupDescription]:
        """Describe consumer groups and classic groups. An unknown group is rejected with GROUP_ID_NOT_FOUND."""

        async def send(address: HostPort, ids: Sequence[str]) -> dict[str, GroupDescription | Refused]:
            groups = await self._describe_consumer_groups(address, ids)
            classic_ids = [group_id for group_id in ids if _is_no_consumer_group(groups[group_id])]
            if classic_ids:
                groups |= await self._describe_classic_groups(address, classic_ids)
            return groups

        return await self._coordinators.send(group_ids, send)

    async def describe_classic(self, group_ids: Sequence[str]) -> Outcomes[str, GroupDescription]:
        """Describe classic groups. Groups of another type are rejected with GROUP_ID_NOT_FOUND, too."""
        return await self._coordinators.send(group_ids, self._describe_classic_groups)

    async def remove_members(
        self, group_id: str, members: Sequence[MemberToRemove], reason: str | None = None
    ) -> Outcomes[MemberToRemove, None]:
        """Remove members from a classic group. Raises Refused for the whole group."""
        leaving = [
            MemberIdentity(member_id=member.member_id, group_instance_id=member.instance_id, reason=reason)
            for member in members
        ]

        async def send(address: HostPort, ids: Sequence[str]) -> dict[str, Outcomes[MemberToRemove, None] | Refused]:
            request = LeaveGroupRequest(group_id=group_id, members=leaving)
            response: LeaveGroupResponse = await self._router.send_to(address, request)
            outcomes: Outcomes[MemberToRemove, None] = Outcomes(
                {
                    MemberToRemove(member.member_id, member.group_instance_id): refusal(member.error_code)
                    for member in response.members
                }
            )
            return {group_id: refusal(response.error_code) or outcomes}

        return (await self._coordinators.send([group_id], send)).values_or_raise()[group_id]

    async def delete(self, group_ids: Sequence[str]) -> Outcomes[str, None]:
        """Delete groups that have no members, with their offsets."""

        async def send(address: HostPort, ids: Sequence[str]) -> dict[str, Refused | None]:
            response: DeleteGroupsResponse = await self._router.send_to(
                address, DeleteGroupsRequest(groups_names=list(ids))
            )
            return {group.group_id: refusal(group.error_code, group.error_message) for group in response.results}

        return await self._coordinators.send(group_ids, send)

    async def _describe_consumer_groups(
        self, address: HostPort, ids: Sequence[str]
    ) -> dict[str, GroupDescription | Refused]:
        """Return UNSUPPORTED_VERSION for all groups if the broker is too old for consumer groups."""
        try:
            response: consumer.ConsumerGroupDescribeResponse = await self._router.send_to(
                address, ConsumerGroupDescribeRequest(group_ids=list(ids))
            )
        except VersionsDiffer as error:
            return dict.fromkeys(ids, Refused(error.message, ErrorCode.UNSUPPORTED_VERSION))
        return {group.group_id: _consumer_group(group, address) for group in response.groups}

    async def _describe_classic_groups(
        self, address: HostPort, ids: Sequence[str]
    ) -> dict[str, GroupDescription | Refused]:
        request = DescribeGroupsRequest(groups=list(ids))
        response: classic.DescribeGroupsResponse = await self._router.send_to(address, request)
        return {group.group_id: _classic_group(group, address) for group in response.groups}


def _is_no_consumer_group(outcome: object) -> bool:
    return isinstance(outcome, Refused) and outcome.code in (
        ErrorCode.GROUP_ID_NOT_FOUND,
        ErrorCode.UNSUPPORTED_VERSION,
    )


def _consumer_group(group: consumer.DescribedGroup, address: HostPort) -> GroupDescription | Refused:
    members = tuple(
        GroupMember(
            member.member_id,
            member.instance_id,
            member.client_id,
            member.client_host,
            _partitions(member.assignment.topic_partitions),
            _partitions(member.target_assignment.topic_partitions),
            member.member_epoch,
        )
        for member in group.members
    )
    return refusal(group.error_code, group.error_message) or GroupDescription(
        group.group_id, "consumer", group.group_state, group.assignor_name, members, address, group.group_epoch
    )


def _partitions(topics: Iterable[consumer.TopicPartitions]) -> tuple[TopicPartition, ...]:
    return tuple(TopicPartition(topic.topic_name, index) for topic in topics for index in sorted(topic.partitions))


def _classic_group(group: classic.DescribedGroup, address: HostPort) -> GroupDescription | Refused:
    if group.group_state == "Dead" and not group.error_code:
        return Refused(f"Group {group.group_id} not found.", ErrorCode.GROUP_ID_NOT_FOUND)
    members = tuple(
        GroupMember(
            member.member_id,
            member.group_instance_id,
            member.client_id,
            member.client_host,
            _decoded_assignment(bytes(member.member_assignment)) if group.protocol_type == "consumer" else (),
        )
        for member in group.members
    )
    return refusal(group.error_code, group.error_message) or GroupDescription(
        group.group_id, "classic", group.group_state, group.protocol_data, members, address
    )


def _decoded_assignment(data: bytes) -> tuple[TopicPartition, ...]:
    """Decode the consumer protocol's assignment; return nothing if it is malformed."""
    if len(data) < 2:
        return ()
    version = min(int.from_bytes(data[:2], "big"), ConsumerProtocolAssignment.VERSIONS[1])
    try:
        assignment = decode(ConsumerProtocolAssignment, version, data, 2)
    except ProtocolError:
        return ()
    return tuple(
        TopicPartition(topic.topic, index)
        for topic in assignment.assigned_partitions
        for index in sorted(topic.partitions)
    )
