"""Groups from outside: list, describe, offsets, reset, delete. Classic groups and consumer groups look alike here."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

from odradek.client.admin.cluster_router import ClusterRouter
from odradek.client.admin.coordinators import CoordinatorKind, ask_coordinators
from odradek.client.admin.outcomes import Outcomes, TopicPartition, by_topic
from odradek.client.errors import check_error, refusal
from odradek.client.types import OffsetAndMetadata
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
from odradek.protocol.messages.offset_commit_request import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from odradek.protocol.messages.offset_commit_response import OffsetCommitResponse
from odradek.protocol.messages.offset_delete_request import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
)
from odradek.protocol.messages.offset_delete_response import OffsetDeleteResponse
from odradek.protocol.messages.offset_fetch_request import OffsetFetchRequest, OffsetFetchRequestGroup
from odradek.protocol.messages.offset_fetch_response import OffsetFetchResponse

#: The last in which topics have names; people say names.
_LAST_NAMED_VERSION = 9
_NO_OFFSET = -1
_NO_EPOCH = -1

_Value = TypeVar("_Value")
_Key = TypeVar("_Key")


@dataclass(frozen=True, slots=True)
class GroupListing:
    group_id: str
    #: classic, consumer, share or streams; empty from brokers that do not say.
    type: str
    state: str
    protocol_type: str


@dataclass(frozen=True, slots=True)
class GroupMember:
    member_id: str
    instance_id: str | None
    client_id: str
    host: str
    assignment: tuple[TopicPartition, ...]
    #: What it is to have, and its epoch; None in a classic group.
    target: tuple[TopicPartition, ...] | None = None
    epoch: int | None = None


@dataclass(frozen=True, slots=True)
class GroupDescription:
    group_id: str
    type: str
    state: str
    #: The assignor of a consumer group, the chosen protocol of a classic one.
    assignor: str
    members: tuple[GroupMember, ...]
    coordinator: HostPort
    epoch: int | None = None


@dataclass(frozen=True, slots=True)
class Committed:
    offset: int
    metadata: str
    leader_epoch: int | None


class MemberToRemove(NamedTuple):
    """By its member id, or, if it is static, by its group.instance.id."""

    member_id: str = ""
    instance_id: str | None = None


async def list_groups(
    cluster: ClusterRouter, states: Iterable[str] = (), types: Iterable[str] = ()
) -> list[GroupListing]:
    """Of all brokers, by name."""
    found: dict[str, GroupListing] = {}
    for address in (await cluster.describe()).nodes.values():
        request = ListGroupsRequest(states_filter=list(states), types_filter=list(types))
        response: ListGroupsResponse = await cluster.send_to(address, request)
        check_error(response.error_code, None)
        for each in response.groups:
            found[each.group_id] = GroupListing(
                each.group_id, each.group_type.lower(), each.group_state, each.protocol_type
            )
    return [found[name] for name in sorted(found)]


async def describe_groups(cluster: ClusterRouter, group_ids: Sequence[str]) -> Outcomes[str, GroupDescription]:
    """A group that is not there is refused with GROUP_ID_NOT_FOUND."""

    async def ask(address: HostPort, ids: Sequence[str]) -> dict[str, GroupDescription | Refused]:
        found = await _describe_consumer_groups(cluster, address, ids)
        rest = [group_id for group_id in ids if _is_of_another_kind(found[group_id])]
        if rest:
            response: classic.DescribeGroupsResponse = await cluster.send_to(
                address, DescribeGroupsRequest(groups=rest)
            )
            found |= {each.group_id: _classic(each, address) for each in response.groups}
        return found

    return await ask_coordinators(cluster, CoordinatorKind.GROUP, group_ids, ask)


async def describe_classic_groups(cluster: ClusterRouter, group_ids: Sequence[str]) -> Outcomes[str, GroupDescription]:
    """Those of another kind are refused with GROUP_ID_NOT_FOUND, too."""

    async def ask(address: HostPort, ids: Sequence[str]) -> dict[str, GroupDescription | Refused]:
        request = DescribeGroupsRequest(groups=list(ids))
        response: classic.DescribeGroupsResponse = await cluster.send_to(address, request)
        return {each.group_id: _classic(each, address) for each in response.groups}

    return await ask_coordinators(cluster, CoordinatorKind.GROUP, group_ids, ask)


async def remove_members(
    cluster: ClusterRouter, group_id: str, members: Sequence[MemberToRemove], reason: str | None = None
) -> Outcomes[MemberToRemove, None]:
    """Of a classic group. Raises Refused for the group as a whole."""
    leaving = [
        MemberIdentity(member_id=each.member_id, group_instance_id=each.instance_id, reason=reason) for each in members
    ]

    async def ask(address: HostPort, ids: Sequence[str]) -> dict[str, Outcomes[MemberToRemove, None] | Refused]:
        request = LeaveGroupRequest(group_id=group_id, members=leaving)
        response: LeaveGroupResponse = await cluster.send_to(address, request)
        found = {
            MemberToRemove(each.member_id, each.group_instance_id): refusal(each.error_code)
            for each in response.members
        }
        return {group_id: refusal(response.error_code) or found}

    return _only((await ask_coordinators(cluster, CoordinatorKind.GROUP, [group_id], ask))[group_id])


async def committed_offsets(
    cluster: ClusterRouter, group_ids: Sequence[str], *, require_stable: bool = False
) -> Outcomes[str, Mapping[TopicPartition, Committed | Refused]]:
    """All that each of the groups has committed; with `require_stable` an offset that an open transaction is about to
    commit is refused with UNSTABLE_OFFSET_COMMIT."""

    async def ask(
        address: HostPort, ids: Sequence[str]
    ) -> dict[str, Mapping[TopicPartition, Committed | Refused] | Refused]:
        groups = [OffsetFetchRequestGroup(group_id=group_id, topics=None) for group_id in ids]
        response: OffsetFetchResponse = await cluster.send_to(
            address,
            OffsetFetchRequest(groups=groups, require_stable=require_stable),
            last_version=_LAST_NAMED_VERSION,
        )
        return {
            group.group_id: refusal(group.error_code)
            or {
                TopicPartition(topic.name, each.partition_index): refusal(each.error_code)
                or Committed(
                    each.committed_offset,
                    each.metadata or "",
                    None if each.committed_leader_epoch < 0 else each.committed_leader_epoch,
                )
                for topic in group.topics
                for each in topic.partitions
                if each.committed_offset != _NO_OFFSET or each.error_code
            }
            for group in response.groups
        }

    return await ask_coordinators(cluster, CoordinatorKind.GROUP, group_ids, ask)


async def set_offsets(
    cluster: ClusterRouter, group_id: str, offsets: Mapping[TopicPartition, int | OffsetAndMetadata]
) -> Outcomes[TopicPartition, int]:
    """Only a group without members lets that be done. Raises Refused where there is no coordinator."""
    wanted = {place: OffsetAndMetadata(each) if isinstance(each, int) else each for place, each in offsets.items()}
    topics = [
        OffsetCommitRequestTopic(
            name=topic,
            partitions=[
                OffsetCommitRequestPartition(
                    partition_index=number,
                    committed_offset=wanted[TopicPartition(topic, number)].offset,
                    committed_leader_epoch=_epoch(wanted[TopicPartition(topic, number)]),
                    committed_metadata=wanted[TopicPartition(topic, number)].metadata,
                )
                for number in numbers
            ],
        )
        for topic, numbers in by_topic(offsets).items()
    ]

    async def ask(address: HostPort, ids: Sequence[str]) -> dict[str, Outcomes[TopicPartition, int] | Refused]:
        request = OffsetCommitRequest(group_id=group_id, topics=topics)
        response: OffsetCommitResponse = await cluster.send_to(address, request, last_version=_LAST_NAMED_VERSION)
        found: dict[TopicPartition, int | Refused] = {}
        for topic in response.topics:
            for each in topic.partitions:
                place = TopicPartition(topic.name, each.partition_index)
                found[place] = refusal(each.error_code) or wanted[place].offset
        return {group_id: found}

    return _only((await ask_coordinators(cluster, CoordinatorKind.GROUP, [group_id], ask))[group_id])


async def delete_offsets(
    cluster: ClusterRouter, group_id: str, places: Sequence[TopicPartition]
) -> Outcomes[TopicPartition, None]:
    """Of topics that the group is not subscribed to. Raises Refused for the group as a whole."""
    topics = [
        OffsetDeleteRequestTopic(
            name=topic, partitions=[OffsetDeleteRequestPartition(partition_index=number) for number in numbers]
        )
        for topic, numbers in by_topic(places).items()
    ]

    async def ask(address: HostPort, ids: Sequence[str]) -> dict[str, Outcomes[TopicPartition, None] | Refused]:
        request = OffsetDeleteRequest(group_id=group_id, topics=topics)
        response: OffsetDeleteResponse = await cluster.send_to(address, request)
        found = {
            TopicPartition(topic.name, each.partition_index): refusal(each.error_code)
            for topic in response.topics
            for each in topic.partitions
        }
        return {group_id: refusal(response.error_code) or found}

    return _only((await ask_coordinators(cluster, CoordinatorKind.GROUP, [group_id], ask))[group_id])


async def delete_groups(cluster: ClusterRouter, group_ids: Sequence[str]) -> Outcomes[str, None]:
    async def ask(address: HostPort, ids: Sequence[str]) -> dict[str, Refused | None]:
        response: DeleteGroupsResponse = await cluster.send_to(address, DeleteGroupsRequest(groups_names=list(ids)))
        return {each.group_id: refusal(each.error_code, each.error_message) for each in response.results}

    return await ask_coordinators(cluster, CoordinatorKind.GROUP, group_ids, ask)


def _epoch(wanted: OffsetAndMetadata) -> int:
    return _NO_EPOCH if wanted.leader_epoch is None else wanted.leader_epoch


def _only(outcome: Outcomes[_Key, _Value] | Refused) -> Outcomes[_Key, _Value]:
    if isinstance(outcome, Refused):
        raise outcome
    return outcome


async def _describe_consumer_groups(
    cluster: ClusterRouter, address: HostPort, ids: Sequence[str]
) -> dict[str, GroupDescription | Refused]:
    """Brokers from before consumer groups have none."""
    try:
        response: consumer.ConsumerGroupDescribeResponse = await cluster.send_to(
            address, ConsumerGroupDescribeRequest(group_ids=list(ids))
        )
    except VersionsDiffer as error:
        return dict.fromkeys(ids, Refused(error.message, ErrorCode.UNSUPPORTED_VERSION))
    return {each.group_id: _consumer(each, address) for each in response.groups}


def _is_of_another_kind(outcome: object) -> bool:
    return isinstance(outcome, Refused) and outcome.code in (
        ErrorCode.GROUP_ID_NOT_FOUND,
        ErrorCode.UNSUPPORTED_VERSION,
    )


def _consumer(found: consumer.DescribedGroup, address: HostPort) -> GroupDescription | Refused:
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
        for member in found.members
    )
    return refusal(found.error_code, found.error_message) or GroupDescription(
        found.group_id, "consumer", found.group_state, found.assignor_name, members, address, found.group_epoch
    )


def _partitions(topics: Iterable[consumer.TopicPartitions]) -> tuple[TopicPartition, ...]:
    return tuple(TopicPartition(topic.topic_name, number) for topic in topics for number in sorted(topic.partitions))


def _classic(found: classic.DescribedGroup, address: HostPort) -> GroupDescription | Refused:
    if found.group_state == "Dead" and not found.error_code:
        return Refused(f"Group {found.group_id} not found.", ErrorCode.GROUP_ID_NOT_FOUND)
    members = tuple(
        GroupMember(
            member.member_id,
            member.group_instance_id,
            member.client_id,
            member.client_host,
            _assignment(bytes(member.member_assignment)) if found.protocol_type == "consumer" else (),
        )
        for member in found.members
    )
    return refusal(found.error_code, found.error_message) or GroupDescription(
        found.group_id, "classic", found.group_state, found.protocol_data, members, address
    )


def _assignment(data: bytes) -> tuple[TopicPartition, ...]:
    """As members tell each other; what cannot be read is shown as nothing."""
    if len(data) < 2:
        return ()
    version = min(int.from_bytes(data[:2], "big"), ConsumerProtocolAssignment.VERSIONS[1])
    try:
        found = decode(ConsumerProtocolAssignment, version, data, 2)
    except ProtocolError:
        return ()
    return tuple(
        TopicPartition(topic.topic, number)
        for topic in found.assigned_partitions
        for number in sorted(topic.partitions)
    )
