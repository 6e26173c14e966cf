"""Members of a consumer group that speak the classic protocol, while the group goes from one protocol to the other.

Nobody leads them and nobody waits for the others: JoinGroup is a heartbeat of the consumer protocol that says what the
member has and wants, and is answered at once with the member's epoch as the generation; SyncGroup tells it what it has
by now; Heartbeat tells it to join again whenever there is a next step for it to go. Each of these steps has to be taken
within the member's rebalance time-out.
"""

import logging
from dataclasses import replace

from odradek.common.failures import ApiError, ProtocolError
from odradek.common.ids import uuid_to_text
from odradek.coordinator.group.classic.join import Joining
from odradek.coordinator.group.consumer.assignors import Assignment
from odradek.coordinator.group.consumer.changes import ConsumerChanges, Phase
from odradek.coordinator.group.consumer.draft import Draft
from odradek.coordinator.group.consumer.group import ConsumerGroup
from odradek.coordinator.group.consumer.member import ClassicSide, ConsumerMember, MemberState
from odradek.coordinator.group.consumer.migration import may_downgrade
from odradek.coordinator.group.consumer.protocol import PROTOCOL_TYPE, read_subscription, write_assignment
from odradek.coordinator.group.consumer.records import member_record
from odradek.coordinator.group.consumer.settings import MigrationPolicy
from odradek.coordinator.group.store import GroupStore
from odradek.coordinator.group.values import UNKNOWN_MEMBER_ID, refusal
from odradek.coordinator.runtime.shard import Decision
from odradek.metadata.image.image import MetadataImage
from odradek.protocol.error_codes import ErrorCode
from odradek.protocol.messages.consumer_protocol_subscription import ConsumerProtocolSubscription
from odradek.protocol.messages.heartbeat_request import HeartbeatRequest
from odradek.protocol.messages.heartbeat_response import HeartbeatResponse
from odradek.protocol.messages.join_group_response import JoinGroupResponse
from odradek.protocol.messages.leave_group_request import LeaveGroupRequest, MemberIdentity
from odradek.protocol.messages.leave_group_response import LeaveGroupResponse, MemberResponse
from odradek.protocol.messages.sync_group_request import SyncGroupRequest
from odradek.protocol.messages.sync_group_response import SyncGroupResponse

_log = logging.getLogger("odradek.groups")


class ClassicConsumers:
    def __init__(self, store: GroupStore, changes: ConsumerChanges) -> None:
        self._store = store
        self._context = store.context
        self._changes = changes

    # What members ask. All raise ApiError.

    def join(self, group: ConsumerGroup, joining: Joining) -> Decision[JoinGroupResponse]:
        request, settings = joining.request, self._store.settings
        if settings.consumer.migration_policy is MigrationPolicy.DISABLED:
            raise refusal(ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
        member_id = request.member_id or uuid_to_text(self._context.random.getrandbits(128).to_bytes(16, "big"))
        self._changes.check_size(group, member_id, request.group_instance_id)
        _check_protocols(group, joining)
        if joining.needs_member_id:
            return Decision(JoinGroupResponse(error_code=ErrorCode.MEMBER_ID_REQUIRED, member_id=member_id))
        subscription = _subscription(joining)
        replaced = group.static_member(request.group_instance_id)
        draft = Draft.of(group)
        previous = self._member(draft, joining, member_id)
        has_new_topics = self._note(draft, previous, joining, subscription)
        self._changes.follow_topics(draft, has_new_topics)
        is_changing_protocol = replaced is not None and replaced.classic is None
        if is_changing_protocol and may_downgrade(draft.group, (), settings):
            return self._downgrade(group, draft, member_id, subscription, has_new_topics)
        self._changes.assign(draft)
        updated = self._step(draft, member_id, subscription, has_new_topics)
        for phase in Phase:
            self._changes.has_done(phase, group.group_id, member_id)
        self._changes.begin_session(group.group_id, updated)
        self._changes.expect(Phase.SYNC, group.group_id, updated)
        return Decision(_joined(updated), tuple(draft.records))

    def sync(self, group: ConsumerGroup, request: SyncGroupRequest) -> Decision[SyncGroupResponse]:
        member, classic = self._known(group, request.member_id, request.group_instance_id, request.generation_id)
        protocol = classic.protocols[0]
        if request.protocol_type not in (None, PROTOCOL_TYPE) or request.protocol_name not in (None, protocol.name):
            raise refusal(ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
        # One that has partitions to give up has joined already, and will again once it has.
        if group.target_epoch > member.member_epoch and member.state is not MemberState.UNREVOKED_PARTITIONS:
            self._changes.expect(Phase.JOIN, group.group_id, member)
            raise refusal(ErrorCode.REBALANCE_IN_PROGRESS)
        self._changes.has_done(Phase.SYNC, group.group_id, member.member_id)
        self._changes.begin_session(group.group_id, member)
        return Decision(
            SyncGroupResponse(
                protocol_type=request.protocol_type,
                protocol_name=request.protocol_name,
                assignment=write_assignment(member.assigned, self._context.image(), protocol.metadata),
            )
        )

    def heartbeat(self, group: ConsumerGroup, request: HeartbeatRequest) -> Decision[HeartbeatResponse]:
        member, _ = self._known(group, request.member_id, request.group_instance_id, request.generation_id)
        self._changes.begin_session(group.group_id, member)
        if not _has_next_step(group, member):
            return Decision(HeartbeatResponse())
        self._changes.expect(Phase.JOIN, group.group_id, member)
        return Decision(HeartbeatResponse(error_code=ErrorCode.REBALANCE_IN_PROGRESS))

    def leave(self, group: ConsumerGroup, request: LeaveGroupRequest) -> Decision[LeaveGroupResponse]:
        """An administrator removes members of either protocol this way, too."""
        leaving: dict[str, ConsumerMember] = {}
        member_responses = []
        for identity in request.members:
            member_response = MemberResponse(member_id=identity.member_id, group_instance_id=identity.group_instance_id)
            try:
                member = _leaver(group, identity)
                leaving[member.member_id] = member
            except ApiError as error:
                member_response.error_code = error.code
            member_responses.append(member_response)
        response = LeaveGroupResponse(members=member_responses)
        if not leaving:
            return Decision(response)
        return self._changes.fence(group, list(leaving.values()), "it left by LeaveGroup", response)

    # Steps of a join

    def _member(self, draft: Draft, joining: Joining, member_id: str) -> ConsumerMember:
        group, instance_id = draft.group, joining.request.group_instance_id
        static_member = group.static_member(instance_id)
        if instance_id is not None and joining.request.member_id != UNKNOWN_MEMBER_ID:
            return group.known_static_member(member_id, instance_id)
        if static_member is not None:
            return self._changes.replace_static(draft, static_member, member_id)
        if member_id not in group.members:
            _log.info("group %s: %s joins with the classic protocol", group.group_id, member_id)
        return group.members.get(member_id, ConsumerMember(member_id))

    def _note(
        self, draft: Draft, previous: ConsumerMember, joining: Joining, subscription: ConsumerProtocolSubscription
    ) -> bool:
        """Write what the member reports of itself, and return whether its subscription has changed."""
        request, context = joining.request, joining.context
        updated = replace(
            previous,
            instance_id=request.group_instance_id or previous.instance_id,
            rack_id=subscription.rack_id or previous.rack_id,
            rebalance_timeout_ms=request.rebalance_timeout_ms,
            topic_names=tuple(sorted(set(subscription.topics))),
            topic_regex="",
            client_id=context.client_id,
            client_host=context.client_host,
            classic=ClassicSide(request.session_timeout_ms, joining.protocols),
        )
        is_new = previous.member_id not in draft.group.members
        if is_new or updated != previous:
            draft.write(member_record(draft.group.group_id, updated))
        return is_new or bool(previous.topic_regex) or updated.topic_names != previous.topic_names

    def _step(
        self, draft: Draft, member_id: str, subscription: ConsumerProtocolSubscription, has_new_topics: bool
    ) -> ConsumerMember:
        reported = _owned(subscription, self._context.image())
        return self._changes.step(draft, draft.group.members[member_id], reported, has_new_topics)

    def _downgrade(
        self,
        group: ConsumerGroup,
        draft: Draft,
        member_id: str,
        subscription: ConsumerProtocolSubscription,
        has_new_topics: bool,
    ) -> Decision[JoinGroupResponse]:
        """The last member of the consumer protocol is back in the classic one."""
        is_stale = draft.group.target_epoch < draft.group.epoch
        if not is_stale:
            self._step(draft, member_id, subscription, has_new_topics)
        response = _joined(draft.group.members[member_id])
        reason = "it became a classic group with a stale assignment" if is_stale else None
        return self._changes.downgrade(group, draft.group, (), response, rebalance_reason=reason)

    def _known(
        self, group: ConsumerGroup, member_id: str, instance_id: str | None, generation: int
    ) -> tuple[ConsumerMember, ClassicSide]:
        member = group.member(member_id) if instance_id is None else group.known_static_member(member_id, instance_id)
        if member.classic is None:
            raise refusal(ErrorCode.UNKNOWN_MEMBER_ID, f"Member {member_id} does not use the classic protocol.")
        if generation != member.member_epoch:
            raise refusal(ErrorCode.ILLEGAL_GENERATION)
        return member, member.classic


def _has_next_step(group: ConsumerGroup, member: ConsumerMember) -> bool:
    """Targets are made when somebody of the consumer protocol is heard of; where nobody speaks it any more, because the
    group may not become a classic one, members join again to get one."""
    is_classic_only = all(other.classic is not None for other in group.members.values())
    if member.member_epoch < (group.epoch if is_classic_only else group.target_epoch):
        return True
    if member.state is MemberState.UNRELEASED_PARTITIONS:
        return not _waits_for_others(group, member)
    return member.state is MemberState.UNREVOKED_PARTITIONS


def _waits_for_others(group: ConsumerGroup, member: ConsumerMember) -> bool:
    is_others = group.is_others(member.member_id)
    target = group.target_of(member.member_id)
    return any(is_others(topic_id, number) for topic_id, numbers in target.items() for number in numbers)


def _check_protocols(group: ConsumerGroup, joining: Joining) -> None:
    """All who speak the classic protocol must have one in common: they may have to go on by themselves."""
    names = [protocol.name for protocol in joining.protocols]
    for member in group.classic_members():
        assert member.classic is not None
        if member.member_id != joining.request.member_id:
            theirs = [protocol.name for protocol in member.classic.protocols]
            names = [name for name in names if name in theirs]
    if joining.request.protocol_type != PROTOCOL_TYPE or not names:
        raise refusal(ErrorCode.INCONSISTENT_GROUP_PROTOCOL)


def _subscription(joining: Joining) -> ConsumerProtocolSubscription:
    """All of its protocols say the same of it."""
    try:
        return read_subscription(joining.protocols[0].metadata)
    except ProtocolError as error:
        raise refusal(ErrorCode.INCONSISTENT_GROUP_PROTOCOL) from error


def _owned(subscription: ConsumerProtocolSubscription, image: MetadataImage) -> Assignment:
    topics = image.topics.by_name
    return {
        topics[owned.topic].id: tuple(owned.partitions)
        for owned in subscription.owned_partitions
        if owned.topic in topics
    }


def _leaver(group: ConsumerGroup, identity: MemberIdentity) -> ConsumerMember:
    if identity.group_instance_id is None:
        return group.member(identity.member_id)
    if identity.member_id == UNKNOWN_MEMBER_ID:
        static_member = group.static_member(identity.group_instance_id)
        return group.known_static_member(
            "" if static_member is None else static_member.member_id, identity.group_instance_id
        )
    return group.known_static_member(identity.member_id, identity.group_instance_id)


def _joined(member: ConsumerMember) -> JoinGroupResponse:
    assert member.classic is not None
    return JoinGroupResponse(
        member_id=member.member_id,
        generation_id=member.member_epoch,
        protocol_type=PROTOCOL_TYPE,
        protocol_name=member.classic.protocols[0].name,
    )
