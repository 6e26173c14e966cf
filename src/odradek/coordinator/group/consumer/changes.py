"""Consequences for a consumer group when its members or topics have changed, whatever the request.

In order: the group's epoch grows if anybody's topics have changed; the target assignment follows; the member that asked
goes a step towards it. Mostly none of these has anything to do.

A member that is not heard of within its session, or does not give up partitions within its rebalance time-out, is
fenced: its partitions are free for the others. If only members of the classic protocol are left then, the group becomes
a classic one (see `migration`).
"""

import logging
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from enum import Enum
from typing import TypeVar

from odradek.common.failures import ApiError
from odradek.coordinator.group.classic.classic_group import ClassicGroup, join_error
from odradek.coordinator.group.classic.classic_member import EMPTY_ASSIGNMENT
from odradek.coordinator.group.classic.rebalance import Rebalances
from odradek.coordinator.group.consumer.assignors import ASSIGNORS, Assignment, Subscriber
from odradek.coordinator.group.consumer.draft import Draft
from odradek.coordinator.group.consumer.group import ConsumerGroup
from odradek.coordinator.group.consumer.member import JOIN_EPOCH, ConsumerMember, MemberState, Target, reconcile
from odradek.coordinator.group.consumer.migration import downgraded, may_downgrade
from odradek.coordinator.group.consumer.records import (
    current_assignment_record,
    epoch_record,
    member_record,
    member_tombstones,
    regex_tombstone,
    target_epoch_record,
    target_record,
)
from odradek.coordinator.group.consumer.settings import ConsumerSettings, settings_of
from odradek.coordinator.group.consumer.topics import (
    names_wanted,
    partition_counts,
    regexes_of,
    resolve_regex,
    topic_ids,
)
from odradek.coordinator.group.records import group_metadata_record
from odradek.coordinator.group.store import GroupStore
from odradek.coordinator.group.topic_hash import group_hash
from odradek.coordinator.group.values import refusal
from odradek.coordinator.runtime.shard import Decision
from odradek.protocol.error_codes import ErrorCode
from odradek.protocol.messages.sync_group_response import SyncGroupResponse

_log = logging.getLogger("odradek.groups")

Answer = TypeVar("Answer")

#: How often topics are looked at although no change was heard of. Kafka's figure.
_REFRESH_INTERVAL_MS = 600_000
#: A rebalance time-out that a member did not give: that of Kafka's consumer.
_REBALANCE_TIMEOUT_MS = 300_000


class Phase(Enum):
    """Step that a member with the classic protocol has to take once it is notified of a rebalance."""

    JOIN = "join again"
    SYNC = "ask for its assignment"

    def timer(self, group_id: str, member_id: str) -> str:
        return f"consumer {self.name.lower()} {group_id!r} {member_id!r}"


class ConsumerChanges:
    def __init__(self, store: GroupStore, rebalances: Rebalances) -> None:
        self._store = store
        self._context = store.context
        self._rebalances = rebalances

    # Steps of an operation

    def check_size(self, group: ConsumerGroup, member_id: str, instance_id: str | None) -> None:
        """Raises ApiError, GROUP_MAX_SIZE_REACHED, where there is no room for somebody new."""
        limit = self.settings(group.group_id).max_size
        is_known = member_id in group.members or group.static_member(instance_id) is not None
        if not is_known and len(group.members) >= limit:
            raise refusal(
                ErrorCode.GROUP_MAX_SIZE_REACHED,
                f"The consumer group has reached its maximum capacity of {limit} members.",
            )

    def replace_static(self, draft: Draft, known: ConsumerMember, member_id: str) -> ConsumerMember:
        """Another process has come for a static member; it goes on with what that one had."""
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
        self.end_timers(group.group_id, known.member_id)
        return member

    def follow_topics(self, draft: Draft, has_new_topics: bool) -> None:
        """A new epoch of the group, if anybody's topics are not what they were."""
        group, image, now_ms = draft.group, self._context.image(), self._context.clock.monotonic_ms()
        if not has_new_topics and now_ms < group.refresh_at_ms:
            return
        self._resolve(draft)
        topics_hash = group_hash(image, names_wanted(group, group.members.values()))
        if has_new_topics or topics_hash != group.metadata_hash:
            draft.write(epoch_record(group.group_id, group.epoch + 1, topics_hash))
            _log.info("group %s is at epoch %d", group.group_id, group.epoch)
            return  # it may be refused by the log: the next heartbeat looks once more
        held = self._store.groups.get(group.group_id)
        if isinstance(held, ConsumerGroup):
            held.refresh_at_ms = now_ms + _REFRESH_INTERVAL_MS

    def _resolve(self, draft: Draft) -> None:
        group, image, wall_ms = draft.group, self._context.image(), self._context.clock.wall_ms()
        subscribed_regexes = regexes_of(group.members.values())
        for regex in [regex for regex in group.regexes if regex not in subscribed_regexes]:
            draft.write(regex_tombstone(group.group_id, regex))
        for regex in subscribed_regexes:
            resolved, record = group.regexes.get(regex), resolve_regex(group.group_id, regex, image, wall_ms)
            if resolved is None or list(resolved.topics) != record.value.topics:  # type: ignore[union-attr]
                draft.write(record)

    def assign(self, draft: Draft) -> None:
        group, image, wall_ms = draft.group, self._context.image(), self._context.clock.wall_ms()
        interval_ms = self.settings(group.group_id).assignment_interval_ms
        # Without an interval nobody waits for a clock that was put back.
        is_too_soon = interval_ms > 0 and wall_ms < group.target_ms + interval_ms
        if group.target_epoch >= group.epoch or is_too_soon:
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
        wanted = sorted({topic_id for subscriber in subscribers for topic_id in subscriber.topic_ids})
        name = self.assignor_of(group)
        targets = ASSIGNORS[name](subscribers, partition_counts(image, wanted))
        for subscriber in subscribers:
            target = targets.get(subscriber.member_id, {})
            if target != subscriber.assignment or subscriber.member_id not in group.targets:
                draft.write(target_record(group.group_id, subscriber.member_id, target))
        draft.write(target_epoch_record(group.group_id, group.epoch, wall_ms))
        _log.info("group %s: a target for epoch %d by %s", group.group_id, group.epoch, name)

    def step(
        self, draft: Draft, member: ConsumerMember, reported: Assignment | None, has_new_topics: bool
    ) -> ConsumerMember:
        """The member, gone on towards its target; `reported` is what it says it has (None: as before)."""
        group = draft.group
        if not has_new_topics and member.is_reconciled_to(group.target_epoch):
            return member
        updated = reconcile(
            member,
            Target(group.target_epoch, group.target_of(member.member_id)),
            topic_ids(self._context.image(), group.topics_of(member)),
            reported,
            group.is_others(member.member_id),
            has_new_subscription=has_new_topics,
        )
        if updated != member:
            draft.write(current_assignment_record(group.group_id, updated))
            self.time_revocation(group.group_id, updated)
        return updated

    # Members that go

    def fence(
        self, group: ConsumerGroup, members: Sequence[ConsumerMember], reason: str, answer: Answer
    ) -> Decision[Answer]:
        member_ids = [member.member_id for member in members]
        for member_id in member_ids:
            _log.info("group %s: %s is no member any more: %s", group.group_id, member_id, reason)
            self.end_timers(group.group_id, member_id)
        if may_downgrade(group, member_ids, self._store.settings):
            return self.downgrade(
                group, group, member_ids, answer, rebalance_reason="the last consumer member has left"
            )
        draft = Draft.of(group)
        for member_id in member_ids:
            draft.write(*member_tombstones(group.group_id, member_id))
        self._resolve(draft)
        topics_hash = group_hash(self._context.image(), names_wanted(draft.group, draft.group.members.values()))
        draft.write(epoch_record(group.group_id, group.epoch + 1, topics_hash))

        def on_done(error: ApiError | None) -> None:
            if error is not None:  # they are members still, and must be heard of
                for member in members:
                    self.begin_session(group.group_id, member)

        return Decision(answer, tuple(draft.records), on_done=on_done)

    def downgrade(
        self,
        group: ConsumerGroup,
        last: ConsumerGroup,
        leaving: Sequence[str],
        answer: Answer,
        rebalance_reason: str | None,
    ) -> Decision[Answer]:
        """`last` is what becomes a classic group, and `group` what the log has of it. The state changes at once: what a
        rebalance needs is not in any record."""
        group_id = group.group_id
        classic = downgraded(last, leaving, self._context.image(), self._context.clock.wall_ms())
        # Whoever reads of a group that nothing is assigned to begins with a rebalance, too.
        is_stale = rebalance_reason is not None
        assignments = {
            member.member_id: EMPTY_ASSIGNMENT if is_stale else member.assignment for member in classic.members.values()
        }
        records = (*group.tombstones(), group_metadata_record(classic, assignments))
        self._store.groups[group_id] = classic
        for member in classic.members.values():
            self.end_timers(group_id, member.member_id)
            self._rebalances.begin_session(classic, member)
        if rebalance_reason is not None:
            self._rebalances.prepare(classic, rebalance_reason)

        def on_done(error: ApiError | None) -> None:
            if error is not None and self._store.groups.get(group_id) is classic:
                self._restore(group, classic, error)

        return Decision(answer, records, is_replayed=False, on_done=on_done)

    def _restore(self, group: ConsumerGroup, classic: ClassicGroup, error: ApiError) -> None:
        _log.warning("group %s is a consumer group again, the change was not written: %s", group.group_id, error)
        self._store.groups[group.group_id] = group
        for waiting in classic.members.values():
            classic.complete_join(waiting, join_error(waiting.member_id, ErrorCode(error.code)))
            classic.complete_sync(waiting, SyncGroupResponse(error_code=error.code))
        for member in group.members.values():
            self.begin_session(group.group_id, member)

    # Time

    def begin_session(self, group_id: str, member: ConsumerMember) -> None:
        classic, member_id = member.classic, member.member_id
        timeout_ms = self.settings(group_id).session_timeout_ms if classic is None else classic.session_timeout_ms
        self._context.timers.schedule(
            _session(group_id, member_id),
            timeout_ms,
            lambda: self._expire(group_id, member_id, None, "its session is over"),
        )

    def expect(self, phase: Phase, group_id: str, member: ConsumerMember) -> None:
        """A classic member has its rebalance time-out for each of the phases, counted from when it was first told."""
        name, timeout_ms = phase.timer(group_id, member.member_id), member.rebalance_timeout_ms
        if not self._context.timers.is_scheduled(name):
            reason = f"it did not {phase.value} within {timeout_ms} ms"
            self._context.timers.schedule(
                name, timeout_ms, lambda: self._expire(group_id, member.member_id, None, reason)
            )

    def has_done(self, phase: Phase, group_id: str, member_id: str) -> None:
        self._context.timers.cancel(phase.timer(group_id, member_id))

    def time_revocation(self, group_id: str, member: ConsumerMember) -> None:
        name = _revocation(group_id, member.member_id)
        if member.classic is not None or member.state is not MemberState.UNREVOKED_PARTITIONS:
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
        return self.fence(group, [member], reason, None)

    def end_timers(self, group_id: str, member_id: str) -> None:
        self._context.timers.cancel(_session(group_id, member_id))
        self._context.timers.cancel(_revocation(group_id, member_id))
        for phase in Phase:
            self.has_done(phase, group_id, member_id)

    # Groups

    def group(self, group_id: str) -> ConsumerGroup:
        """Raises ApiError, GROUP_ID_NOT_FOUND."""
        group = self._store.group(group_id)
        if not isinstance(group, ConsumerGroup):
            raise refusal(ErrorCode.GROUP_ID_NOT_FOUND, f"Group {group_id} is not a consumer group.")
        return group

    def assignor_of(self, group: ConsumerGroup) -> str:
        """Return the assignor that most members with a preference prefer."""
        wishes = Counter(member.assignor for member in group.members.values() if member.assignor)
        return wishes.most_common(1)[0][0] if wishes else self.settings(group.group_id).assignors[0]

    def groups(self) -> list[ConsumerGroup]:
        return [group for group in self._store.groups.values() if isinstance(group, ConsumerGroup)]

    def settings(self, group_id: str) -> ConsumerSettings:
        return settings_of(self._store.settings.consumer, self._context.image(), group_id)


def _session(group_id: str, member_id: str) -> str:
    return f"consumer session {group_id!r} {member_id!r}"


def _revocation(group_id: str, member_id: str) -> str:
    return f"consumer revocation {group_id!r} {member_id!r}"
