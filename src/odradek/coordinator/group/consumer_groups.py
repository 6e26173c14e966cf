"""The heartbeats of consumer groups (KIP-848): all that members ask for and are told.

A heartbeat is decided on a **draft**, a copy of the group: every record that it needs is written to the draft, too, so
that each step sees what the ones before it have decided. In order: the member joins or is known; what it says of itself
is noted; the group's epoch grows if anybody's topics have changed; the target assignment follows; the member goes a
step towards it. Mostly none of these has anything to do.

A member that is not heard of within its session, or does not give up partitions within its rebalance time-out, is
fenced: its partitions are free for the others.
"""

import logging
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from odradek.common.ids import uuid_to_text
from odradek.coordinator.group.classic_group import ClassicGroup
from odradek.coordinator.group.consumer_assignors import ASSIGNORS, Assignment, Subscriber
from odradek.coordinator.group.consumer_group import ConsumerGroup
from odradek.coordinator.group.consumer_member import (
    JOIN_EPOCH,
    LEAVE_EPOCH,
    STATIC_LEAVE_EPOCH,
    ConsumerMember,
    MemberState,
    Target,
    reconcile,
)
from odradek.coordinator.group.consumer_records import (
    current_assignment_record,
    epoch_record,
    member_record,
    member_tombstones,
    target_epoch_record,
    target_record,
)
from odradek.coordinator.group.consumer_replay import replay_consumer_record
from odradek.coordinator.group.consumer_settings import ConsumerSettings, settings_of
from odradek.coordinator.group.consumer_topics import (
    check_regex,
    metadata_hash,
    names_wanted,
    partition_counts,
    regex_tombstone,
    regexes_of,
    resolve_regex,
    topic_ids,
)
from odradek.coordinator.group.store import GroupStore
from odradek.coordinator.group.values import RequestContext, group_not_found, refusal
from odradek.coordinator.shard import CoordinatorRecord, Decision
from odradek.protocol.error_codes import ErrorCode
from odradek.protocol.messages import consumer_group_heartbeat_response as answers
from odradek.protocol.messages.consumer_group_heartbeat_request import ConsumerGroupHeartbeatRequest

_log = logging.getLogger("odradek.groups")

Heartbeat = ConsumerGroupHeartbeatRequest
Answer = answers.ConsumerGroupHeartbeatResponse

#: How often topics are looked at although no change was heard of. Kafka's figure.
_REFRESH_INTERVAL_MS = 600_000
#: A rebalance time-out that a member did not give: that of Kafka's consumer.
_REBALANCE_TIMEOUT_MS = 300_000


@dataclass(slots=True)
class _Draft:
    group: ConsumerGroup
    records: list[CoordinatorRecord] = field(default_factory=list)

    @classmethod
    def of(cls, group: ConsumerGroup) -> "_Draft":
        return cls(
            replace(
                group,
                members=dict(group.members),
                targets=dict(group.targets),
                regexes=dict(group.regexes),
                owners=dict(group.owners),
            )
        )

    def write(self, *records: CoordinatorRecord) -> None:
        for record in records:
            self.records.append(record)
            replay_consumer_record(self.group, record)


class ConsumerGroups:
    def __init__(self, store: GroupStore) -> None:
        self._store = store
        self._context = store.context

    # What members ask

    def heartbeat(self, context: RequestContext, request: Heartbeat) -> Decision[Answer]:
        if request.member_epoch in (LEAVE_EPOCH, STATIC_LEAVE_EPOCH):
            return self._leave(request)
        draft = self._draft(request)
        before = self._joined(draft, request)
        has_new_topics = self._note(draft, before, context, request)
        self._follow_topics(draft, has_new_topics)
        self._assign(draft)
        member = draft.group.members[before.member_id]
        after = self._step(draft, member, request, has_new_topics)
        settings = self._settings(request.group_id)
        self._begin_session(request.group_id, after.member_id, settings)
        is_full = request.rebalance_timeout_ms != -1 and request.topic_partitions is not None
        is_full &= request.subscribed_topic_names is not None or request.subscribed_topic_regex is not None
        is_told = request.member_epoch == JOIN_EPOCH or is_full or after.assigned != before.assigned
        answer = Answer(
            member_id=after.member_id,
            member_epoch=after.member_epoch,
            heartbeat_interval_ms=settings.heartbeat_interval_ms,
            assignment=_assignment(after) if is_told else None,
        )
        return Decision(answer, tuple(draft.records))

    def _leave(self, request: Heartbeat) -> Decision[Answer]:
        group = self.group(request.group_id)
        answer = Answer(member_id=request.member_id, member_epoch=request.member_epoch)
        if request.instance_id is None:
            member = group.member(request.member_id)
        else:
            member = _known_static(group, request.member_id, request.instance_id)
            if request.member_epoch == STATIC_LEAVE_EPOCH:
                _log.info("group %s: %s will be back as %s", group.group_id, member.member_id, request.instance_id)
                gone = replace(
                    member,
                    member_epoch=STATIC_LEAVE_EPOCH,
                    assigned={topic_id: dict.fromkeys(numbers, 0) for topic_id, numbers in member.assigned.items()},
                    revoking={},
                )
                return Decision(answer, (current_assignment_record(group.group_id, gone),))
        return Decision(answer, self._fence(group, [member], "it left"))

    # Steps of a heartbeat

    def _draft(self, request: Heartbeat) -> _Draft:
        group = self._store.groups.get(request.group_id)
        if isinstance(group, ConsumerGroup):
            return _Draft.of(group)
        if request.member_epoch != JOIN_EPOCH or not (group is None or _may_become_consumer(group)):
            raise group_not_found(request.group_id)
        draft = _Draft(ConsumerGroup(request.group_id))
        if group is not None:
            draft.records += group.tombstones()
        return draft

    def _joined(self, draft: _Draft, request: Heartbeat) -> ConsumerMember:
        group, instance_id = draft.group, request.instance_id
        is_joining = request.member_epoch == JOIN_EPOCH
        known = group.static_member(instance_id)
        limit = self._settings(request.group_id).max_size
        if known is None and len(group.members) >= limit and request.member_id not in group.members:
            raise refusal(
                ErrorCode.GROUP_MAX_SIZE_REACHED,
                f"The consumer group has reached its maximum capacity of {limit} members.",
            )
        member_id = request.member_id or uuid_to_text(self._context.random.getrandbits(128).to_bytes(16, "big"))
        if not is_joining:
            member = group.member(member_id)
            if instance_id is not None:
                member = _known_static(group, member_id, instance_id)
            member.check_epoch(request.member_epoch, _reported(request))
            return member
        if known is None or known.member_id == member_id:
            _log.info("group %s: %s joins", group.group_id, member_id)
            return group.members.get(member_id, ConsumerMember(member_id))
        return self._replace_static(draft, known, member_id)

    def _replace_static(self, draft: _Draft, known: ConsumerMember, member_id: str) -> ConsumerMember:
        """Another process has come for one that said it would be back; it goes on with what that one had."""
        if known.member_epoch != STATIC_LEAVE_EPOCH:
            raise refusal(
                ErrorCode.UNRELEASED_INSTANCE_ID,
                f"Static member {member_id} with instance id {known.instance_id} cannot join the group because the "
                f"instance id is owned by {known.member_id} member.",
            )
        group = draft.group
        _log.info("group %s: %s takes over from %s", group.group_id, member_id, known.member_id)
        target = group.target_of(known.member_id)
        member = replace(known, member_id=member_id, member_epoch=JOIN_EPOCH, previous_epoch=JOIN_EPOCH)
        draft.write(*member_tombstones(group.group_id, known.member_id))
        draft.write(
            member_record(group.group_id, member),
            target_record(group.group_id, member_id, target),
            current_assignment_record(group.group_id, member),
        )
        self._end_timers(group.group_id, known.member_id)
        return member

    def _note(self, draft: _Draft, before: ConsumerMember, context: RequestContext, request: Heartbeat) -> bool:
        """What the member says of itself; whether it wants other topics than before."""
        group_id, names = draft.group.group_id, request.subscribed_topic_names
        timeout_ms = request.rebalance_timeout_ms
        after = replace(
            before,
            instance_id=before.instance_id if request.instance_id is None else request.instance_id,
            rack_id=before.rack_id if request.rack_id is None else request.rack_id,
            rebalance_timeout_ms=before.rebalance_timeout_ms if timeout_ms == -1 else timeout_ms,
            assignor=before.assignor if request.server_assignor is None else request.server_assignor,
            topic_names=before.topic_names if names is None else tuple(sorted(set(names))),
            topic_regex=before.topic_regex
            if request.subscribed_topic_regex is None
            else request.subscribed_topic_regex,
            client_id=context.client_id,
            client_host=context.client_host,
        )
        is_new = before.member_id not in draft.group.members
        has_new_regex = (after.topic_regex or None) != (before.topic_regex or None)
        if has_new_regex and after.topic_regex:
            check_regex(after.topic_regex)
        if is_new or after != before:
            draft.write(member_record(group_id, after))
        return is_new or has_new_regex or after.topic_names != before.topic_names

    def _follow_topics(self, draft: _Draft, has_new_topics: bool) -> None:
        """A new epoch of the group, if anybody's topics are not what they were."""
        group, image, now_ms = draft.group, self._context.image(), self._context.clock.monotonic_ms()
        if not has_new_topics and now_ms < group.refresh_at_ms:
            return
        self._resolve(draft)
        found = metadata_hash(image, names_wanted(group, group.members.values()))
        if has_new_topics or found != group.metadata_hash:
            draft.write(epoch_record(group.group_id, group.epoch + 1, found))
            _log.info("group %s is at epoch %d", group.group_id, group.epoch)
        held = self._store.groups.get(group.group_id)
        if isinstance(held, ConsumerGroup):
            held.refresh_at_ms = now_ms + _REFRESH_INTERVAL_MS

    def _resolve(self, draft: _Draft) -> None:
        group, image, wall_ms = draft.group, self._context.image(), self._context.clock.wall_ms()
        wanted = regexes_of(group.members.values())
        for regex in [regex for regex in group.regexes if regex not in wanted]:
            draft.write(regex_tombstone(group.group_id, regex))
        for regex in wanted:
            known, record = group.regexes.get(regex), resolve_regex(group.group_id, regex, image, wall_ms)
            if known is None or list(known.topics) != record.value.topics:  # type: ignore[union-attr]
                draft.write(record)

    def _assign(self, draft: _Draft) -> None:
        group, image, wall_ms = draft.group, self._context.image(), self._context.clock.wall_ms()
        settings = self._settings(group.group_id)
        if group.target_epoch >= group.epoch or wall_ms < group.target_ms + settings.assignment_interval_ms:
            return
        subscribers = [
            Subscriber(
                member.member_id,
                member.instance_id,
                topic_ids(image, group.topics_of(member)),
                group.target_of(member.member_id),
            )
            for member in group.members.values()
        ]
        wanted = sorted({topic_id for each in subscribers for topic_id in each.topic_ids})
        name = self.assignor_of(group)
        targets = ASSIGNORS[name](subscribers, partition_counts(image, wanted))
        for each in subscribers:
            target = targets.get(each.member_id, {})
            if target != each.assignment or each.member_id not in group.targets:
                draft.write(target_record(group.group_id, each.member_id, target))
        draft.write(target_epoch_record(group.group_id, group.epoch, wall_ms))
        _log.info("group %s: a target for epoch %d by %s", group.group_id, group.epoch, name)

    def _step(self, draft: _Draft, member: ConsumerMember, request: Heartbeat, has_new_topics: bool) -> ConsumerMember:
        group = draft.group
        if not has_new_topics and member.is_reconciled_to(group.target_epoch):
            return member
        after = reconcile(
            member,
            Target(group.target_epoch, group.target_of(member.member_id)),
            topic_ids(self._context.image(), group.topics_of(member)),
            _reported(request),
            group.is_others(member.member_id),
            has_new_subscription=has_new_topics,
        )
        if after != member:
            draft.write(current_assignment_record(group.group_id, after))
            self._time_revocation(group.group_id, after)
        return after

    # Members that go

    def _fence(
        self, group: ConsumerGroup, members: Iterable[ConsumerMember], reason: str
    ) -> tuple[CoordinatorRecord, ...]:
        draft = _Draft.of(group)
        for member in members:
            _log.info("group %s: %s is no member any more: %s", group.group_id, member.member_id, reason)
            draft.write(*member_tombstones(group.group_id, member.member_id))
            self._end_timers(group.group_id, member.member_id)
        self._resolve(draft)
        found = metadata_hash(self._context.image(), names_wanted(draft.group, draft.group.members.values()))
        draft.write(epoch_record(group.group_id, group.epoch + 1, found))
        return tuple(draft.records)

    def _begin_session(self, group_id: str, member_id: str, settings: ConsumerSettings) -> None:
        self._context.timers.schedule(
            _session(group_id, member_id),
            settings.session_timeout_ms,
            lambda: self._expire(group_id, member_id, None, "its session is over"),
        )

    def _time_revocation(self, group_id: str, member: ConsumerMember) -> None:
        name = _revocation(group_id, member.member_id)
        if member.state is not MemberState.UNREVOKED_PARTITIONS:
            self._context.timers.cancel(name)
            return
        timeout_ms = _REBALANCE_TIMEOUT_MS if member.rebalance_timeout_ms == -1 else member.rebalance_timeout_ms
        reason = f"it did not give up its partitions within {timeout_ms} ms"
        epoch = member.member_epoch
        self._context.timers.schedule(name, timeout_ms, lambda: self._expire(group_id, member.member_id, epoch, reason))

    def _expire(self, group_id: str, member_id: str, epoch: int | None, reason: str) -> Decision[None]:
        group = self._store.groups.get(group_id)
        member = group.members.get(member_id) if isinstance(group, ConsumerGroup) else None
        if not isinstance(group, ConsumerGroup) or member is None or epoch not in (None, member.member_epoch):
            return Decision(None)
        return Decision(None, self._fence(group, [member], reason))

    def _end_timers(self, group_id: str, member_id: str) -> None:
        self._context.timers.cancel(_session(group_id, member_id))
        self._context.timers.cancel(_revocation(group_id, member_id))

    # The shard

    def on_loaded(self) -> None:
        """Members have a whole session to be heard by the new coordinator."""
        for group in self._groups():
            settings = self._settings(group.group_id)
            for member in group.members.values():
                self._begin_session(group.group_id, member.member_id, settings)
                self._time_revocation(group.group_id, member)

    def on_topics_changed(self) -> None:
        for group in self._groups():
            group.refresh_at_ms = 0

    def group(self, group_id: str) -> ConsumerGroup:
        """Raises ApiError, GROUP_ID_NOT_FOUND."""
        group = self._store.group(group_id)
        if not isinstance(group, ConsumerGroup):
            raise refusal(ErrorCode.GROUP_ID_NOT_FOUND, f"Group {group_id} is not a consumer group.")
        return group

    def assignor_of(self, group: ConsumerGroup) -> str:
        """What most of the members that have a wish, wish for."""
        wishes = Counter(member.assignor for member in group.members.values() if member.assignor)
        return wishes.most_common(1)[0][0] if wishes else self._settings(group.group_id).assignors[0]

    def _groups(self) -> list[ConsumerGroup]:
        return [group for group in self._store.groups.values() if isinstance(group, ConsumerGroup)]

    def _settings(self, group_id: str) -> ConsumerSettings:
        return settings_of(self._store.settings.consumer, self._context.image(), group_id)


def _may_become_consumer(group: object) -> bool:
    return isinstance(group, ClassicGroup) and group.is_empty


def _known_static(group: ConsumerGroup, member_id: str, instance_id: str) -> ConsumerMember:
    member = group.static_member(instance_id)
    if member is None:
        raise refusal(ErrorCode.UNKNOWN_MEMBER_ID, f"Instance id {instance_id} is unknown.")
    if member.member_id != member_id:
        raise refusal(
            ErrorCode.FENCED_INSTANCE_ID,
            f"Static member {member_id} with instance id {instance_id} was fenced by member {member.member_id}.",
        )
    return member


def _reported(request: Heartbeat) -> Assignment | None:
    if request.topic_partitions is None:
        return None
    return {each.topic_id: tuple(each.partitions) for each in request.topic_partitions}


def _assignment(member: ConsumerMember) -> answers.Assignment:
    return answers.Assignment(
        topic_partitions=[
            answers.TopicPartitions(topic_id=topic_id, partitions=list(numbers))
            for topic_id, numbers in member.assigned.items()
        ]
    )


def _session(group_id: str, member_id: str) -> str:
    return f"consumer session {group_id!r} {member_id!r}"


def _revocation(group_id: str, member_id: str) -> str:
    return f"consumer revocation {group_id!r} {member_id!r}"
