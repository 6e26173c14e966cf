"""The heartbeats of consumer groups (KIP-848): all that members ask for and are told.

A heartbeat is decided on a draft of the group. In order: the member joins or is known; what it says of itself is noted;
then comes what follows from that for the group and for the member (`changes`).
"""

import logging
from dataclasses import replace

from odradek.common.ids import uuid_to_text
from odradek.coordinator.group.classic.classic_group import ClassicGroup
from odradek.coordinator.group.consumer.assignors import Assignment
from odradek.coordinator.group.consumer.changes import ConsumerChanges
from odradek.coordinator.group.consumer.draft import Draft
from odradek.coordinator.group.consumer.group import ConsumerGroup
from odradek.coordinator.group.consumer.member import (
    JOIN_EPOCH,
    LEAVE_EPOCH,
    STATIC_LEAVE_EPOCH,
    ConsumerMember,
)
from odradek.coordinator.group.consumer.migration import upgraded
from odradek.coordinator.group.consumer.records import current_assignment_record, member_record
from odradek.coordinator.group.consumer.topics import check_regex
from odradek.coordinator.group.store import GroupStore
from odradek.coordinator.group.values import RequestContext, group_not_found, refusal
from odradek.coordinator.runtime.shard import Decision
from odradek.protocol.error_codes import ErrorCode
from odradek.protocol.messages import consumer_group_heartbeat_response as answers
from odradek.protocol.messages.consumer_group_heartbeat_request import ConsumerGroupHeartbeatRequest

_log = logging.getLogger("odradek.groups")

Heartbeat = ConsumerGroupHeartbeatRequest
Answer = answers.ConsumerGroupHeartbeatResponse


class ConsumerGroups:
    def __init__(self, store: GroupStore, changes: ConsumerChanges) -> None:
        self._store = store
        self._context = store.context
        self._changes = changes

    # What members ask

    def heartbeat(self, context: RequestContext, request: Heartbeat) -> Decision[Answer]:
        if request.member_epoch in (LEAVE_EPOCH, STATIC_LEAVE_EPOCH):
            return self._leave(request)
        draft = self._draft(request)
        previous = self._joined(draft, request)
        has_new_topics = self._note(draft, previous, context, request)
        self._changes.follow_topics(draft, has_new_topics)
        self._changes.assign(draft)
        member = draft.group.members[previous.member_id]
        updated = self._changes.step(draft, member, _reported(request), has_new_topics)
        self._changes.begin_session(request.group_id, updated)
        is_full = request.rebalance_timeout_ms != -1 and request.topic_partitions is not None
        is_full &= request.subscribed_topic_names is not None or request.subscribed_topic_regex is not None
        is_told = request.member_epoch == JOIN_EPOCH or is_full or updated.assigned != previous.assigned
        response = Answer(
            member_id=updated.member_id,
            member_epoch=updated.member_epoch,
            heartbeat_interval_ms=self._changes.settings(request.group_id).heartbeat_interval_ms,
            assignment=_assignment(updated) if is_told else None,
        )
        return Decision(response, tuple(draft.records))

    def _leave(self, request: Heartbeat) -> Decision[Answer]:
        group = self._changes.group(request.group_id)
        response = Answer(member_id=request.member_id, member_epoch=request.member_epoch)
        if request.instance_id is None:
            member = group.member(request.member_id)
        else:
            member = group.known_static_member(request.member_id, request.instance_id)
            if request.member_epoch == STATIC_LEAVE_EPOCH:
                _log.info("group %s: %s will be back as %s", group.group_id, member.member_id, request.instance_id)
                absent = replace(
                    member,
                    member_epoch=STATIC_LEAVE_EPOCH,
                    assigned={topic_id: dict.fromkeys(numbers, 0) for topic_id, numbers in member.assigned.items()},
                    revoking={},
                )
                return Decision(response, (current_assignment_record(group.group_id, absent),))
        return self._changes.fence(group, [member], "it left", response)

    # Steps of a heartbeat

    def _draft(self, request: Heartbeat) -> Draft:
        group = self._store.groups.get(request.group_id)
        if isinstance(group, ConsumerGroup):
            return Draft.of(group)
        if request.member_epoch != JOIN_EPOCH or not (group is None or isinstance(group, ClassicGroup)):
            raise group_not_found(request.group_id)
        if group is None or group.is_empty:
            return Draft(ConsumerGroup(request.group_id), [] if group is None else group.tombstones())
        draft = upgraded(group, self._store.settings, self._context.image())
        for member in draft.group.members.values():
            self._changes.begin_session(request.group_id, member)
        return draft

    def _joined(self, draft: Draft, request: Heartbeat) -> ConsumerMember:
        group, instance_id = draft.group, request.instance_id
        is_joining = request.member_epoch == JOIN_EPOCH
        static_member = group.static_member(instance_id)
        self._changes.check_size(group, request.member_id, instance_id)
        member_id = request.member_id or uuid_to_text(self._context.random.getrandbits(128).to_bytes(16, "big"))
        if not is_joining:
            member = group.member(member_id)
            if instance_id is not None:
                member = group.known_static_member(member_id, instance_id)
            member.check_epoch(request.member_epoch, _reported(request))
            return member
        if static_member is None or static_member.member_id == member_id:
            _log.info("group %s: %s joins", group.group_id, member_id)
            return group.members.get(member_id, ConsumerMember(member_id))
        if static_member.classic is None and static_member.member_epoch != STATIC_LEAVE_EPOCH:
            raise refusal(
                ErrorCode.UNRELEASED_INSTANCE_ID,
                f"Static member {member_id} with instance id {static_member.instance_id} cannot join the group "
                f"because the instance id is owned by {static_member.member_id} member.",
            )
        return self._changes.replace_static(draft, static_member, member_id)

    def _note(self, draft: Draft, previous: ConsumerMember, context: RequestContext, request: Heartbeat) -> bool:
        """Write what the member reports of itself, and return whether its subscription has changed."""
        group_id, names = draft.group.group_id, request.subscribed_topic_names
        timeout_ms = request.rebalance_timeout_ms
        updated = replace(
            previous,
            instance_id=previous.instance_id if request.instance_id is None else request.instance_id,
            rack_id=previous.rack_id if request.rack_id is None else request.rack_id,
            rebalance_timeout_ms=previous.rebalance_timeout_ms if timeout_ms == -1 else timeout_ms,
            assignor=previous.assignor if request.server_assignor is None else request.server_assignor,
            topic_names=previous.topic_names if names is None else tuple(sorted(set(names))),
            topic_regex=previous.topic_regex
            if request.subscribed_topic_regex is None
            else request.subscribed_topic_regex,
            client_id=context.client_id,
            client_host=context.client_host,
            classic=None,
        )
        is_new = previous.member_id not in draft.group.members
        has_new_regex = (updated.topic_regex or None) != (previous.topic_regex or None)
        if has_new_regex and updated.topic_regex:
            check_regex(updated.topic_regex)
        if is_new or updated != previous:
            draft.write(member_record(group_id, updated))
        return is_new or has_new_regex or updated.topic_names != previous.topic_names

    # The shard

    def on_loaded(self) -> None:
        """Members have a whole session to be heard by the new coordinator."""
        for group in self._changes.groups():
            for member in group.members.values():
                self._changes.begin_session(group.group_id, member)
                self._changes.time_revocation(group.group_id, member)

    def on_topics_changed(self) -> None:
        for group in self._changes.groups():
            group.refresh_at_ms = 0


def _reported(request: Heartbeat) -> Assignment | None:
    if request.topic_partitions is None:
        return None
    return {topic.topic_id: tuple(topic.partitions) for topic in request.topic_partitions}


def _assignment(member: ConsumerMember) -> answers.Assignment:
    return answers.Assignment(
        topic_partitions=[
            answers.TopicPartitions(topic_id=topic_id, partitions=list(numbers))
            for topic_id, numbers in member.assigned.items()
        ]
    )
