"""From one generation of a classic group to the next: when members are waited for, and for how long.

A rebalance begins when somebody comes, goes or changes what it subscribes to. It ends when every member has joined, or
when the slowest member's rebalance time-out is over: those who have not joined by then are out (but for static members,
who keep their place until their session ends). The first rebalance of an empty group waits for
`group.initial.rebalance.delay.ms`, and again as long as others keep coming, so that a fleet that starts together begins
with one generation and not with many.

Timers, each of which is replaced when it is scheduled anew: the end of the join phase and of the sync phase for a
group, and the session for each member. A session timer that finds its member waiting for an answer does nothing;
whoever gives the answer begins a new session.

Operations return the records that are to be written, with the state changed already (`is_replayed=False`).
"""

import logging
from collections.abc import Callable, Mapping
from typing import Final

from odradek.common.failures import ApiError, check
from odradek.coordinator.group.classic.classic_group import ClassicGroup, ClassicState, join_error
from odradek.coordinator.group.classic.classic_member import EMPTY_ASSIGNMENT, ClassicMember
from odradek.coordinator.group.records import group_metadata_record
from odradek.coordinator.group.store import GroupStore
from odradek.coordinator.group.values import UNKNOWN_MEMBER_ID
from odradek.coordinator.runtime.shard import CoordinatorRecord, Decision
from odradek.protocol.error_codes import ErrorCode
from odradek.protocol.messages.sync_group_response import SyncGroupResponse

_log = logging.getLogger("odradek.groups")

NOTHING: Final[Decision[None]] = Decision(None)


def heartbeat_timer(group_id: str, member_id: str) -> str:
    return f"heartbeat-{group_id}-{member_id}"


def join_timer(group_id: str) -> str:
    return f"join-{group_id}"


def sync_timer(group_id: str) -> str:
    return f"sync-{group_id}"


def written(record: CoordinatorRecord, on_done: Callable[[ApiError | None], None]) -> Decision[None]:
    """The state is as the record says already."""
    return Decision(None, (record,), is_replayed=False, on_done=on_done)


class Rebalances:
    def __init__(self, store: GroupStore) -> None:
        self._store = store
        self._timers = store.context.timers

    def prepare_or_complete(self, group: ClassicGroup, reason: str) -> Decision[None]:
        """Begin a rebalance where none is under way; otherwise it may be complete by now."""
        return self.prepare(group, reason) if group.can_rebalance else self.maybe_complete_join(group)

    def prepare(self, group: ClassicGroup, reason: str) -> Decision[None]:
        if group.state is ClassicState.COMPLETING_REBALANCE:
            self.reset_assignment(group, ErrorCode.REBALANCE_IN_PROGRESS)
        group.pending_sync.clear()
        self._timers.cancel(sync_timer(group.group_id))
        is_initial = group.is_empty
        if is_initial:
            delay_ms = self._store.settings.initial_rebalance_delay_ms
            self._schedule_initial(group.group_id, delay_ms, max(group.rebalance_timeout_ms - delay_ms, 0))
        group.transition_to(ClassicState.PREPARING_REBALANCE, self._wall_ms())
        _log.info("group %s: rebalance after generation %d: %s", group.group_id, group.generation, reason)
        return NOTHING if is_initial else self._complete_or_wait(group)

    def maybe_complete_join(self, group: ClassicGroup) -> Decision[None]:
        """The initial rebalance ends with its delay only."""
        is_waiting = group.state is ClassicState.PREPARING_REBALANCE and group.previous_state is not ClassicState.EMPTY
        return self.complete_join(group) if is_waiting and group.has_all_members_joined else NOTHING

    def complete_join(self, group: ClassicGroup) -> Decision[None]:
        """Begin the next generation with those who have joined."""
        self._timers.cancel(join_timer(group.group_id))
        self._remove_absent(group)
        if not group.elect_joined_leader() and group.members:
            _log.warning("group %s: nobody has joined in time, waiting on", group.group_id)
            self._schedule_complete(group)
            return NOTHING
        group.begin_generation(self._wall_ms())
        if group.is_empty:
            _log.info("group %s: empty with generation %d", group.group_id, group.generation)
            # Without the record the generation before would come back at a restart, and end with its sessions.
            return written(group_metadata_record(group, {}), _warn_of(group, "that the group is empty"))
        _log.info("group %s: generation %d of %d members", group.group_id, group.generation, len(group.members))
        self._answer_joins(group)
        generation = group.generation
        self._timers.schedule(
            sync_timer(group.group_id),
            group.rebalance_timeout_ms,
            lambda: self._expire_pending_sync(group.group_id, generation),
        )
        return NOTHING

    def remove_member(self, group: ClassicGroup, member: ClassicMember) -> None:
        """A new member may still wait for its first join: being told that it is unknown, it asks again."""
        group.complete_join(member, join_error(UNKNOWN_MEMBER_ID, ErrorCode.UNKNOWN_MEMBER_ID))
        group.remove(member.member_id)

    # Assignments

    def reset_assignment(self, group: ClassicGroup, error: ErrorCode) -> None:
        """Clear the assignments; members that wait for theirs receive the error."""
        check(group.state is ClassicState.COMPLETING_REBALANCE, f"group {group.group_id} has no sync to end")
        for member in group.members.values():
            member.assignment = EMPTY_ASSIGNMENT
            if group.complete_sync(member, SyncGroupResponse(error_code=error)):
                self.begin_session(group, member)

    def set_assignment(self, group: ClassicGroup, assignments: Mapping[str, bytes]) -> None:
        check(group.state is ClassicState.COMPLETING_REBALANCE, f"group {group.group_id} has no sync to end")
        for member in group.members.values():
            member.assignment = assignments.get(member.member_id, EMPTY_ASSIGNMENT)
            response = SyncGroupResponse(
                protocol_type=group.protocol_type, protocol_name=group.protocol_name, assignment=member.assignment
            )
            if group.complete_sync(member, response):
                self.begin_session(group, member)

    # Sessions

    def begin_session(self, group: ClassicGroup, member: ClassicMember, timeout_ms: int | None = None) -> None:
        """It must be heard within so long; its own session time-out unless another is given."""
        self.expect_member(
            group.group_id, member.member_id, member.session_timeout_ms if timeout_ms is None else timeout_ms
        )

    def expect_member(self, group_id: str, member_id: str, timeout_ms: int) -> None:
        self._timers.schedule(
            heartbeat_timer(group_id, member_id), timeout_ms, lambda: self._expire_session(group_id, member_id)
        )

    def end_session(self, group: ClassicGroup, member_id: str) -> None:
        self._timers.cancel(heartbeat_timer(group.group_id, member_id))

    # When time is up

    def _expire_session(self, group_id: str, member_id: str) -> Decision[None]:
        group = self._store.classic_group(group_id)
        if group is None or group.state is ClassicState.DEAD:
            return NOTHING
        if member_id in group.pending_join:
            _log.info("group %s: %s never joined with its id", group_id, member_id)
            group.remove(member_id)
            return self._complete_if_all_joined(group)
        member = group.members.get(member_id)
        if member is None or member.has_satisfied_heartbeat:
            return NOTHING
        _log.info("group %s: the session of %s has ended, it is removed", group_id, member_id)
        self.remove_member(group, member)
        if group.state in (ClassicState.STABLE, ClassicState.COMPLETING_REBALANCE):
            return self.prepare_or_complete(group, f"removing member {member_id} on heartbeat expiration")
        return self._complete_if_all_joined(group)

    def _expire_pending_sync(self, group_id: str, generation: int) -> Decision[None]:
        """Members that joined but did not ask for their assignment are out."""
        group = self._store.classic_group(group_id)
        if group is None or group.generation != generation or not group.pending_sync:
            return NOTHING
        if group.state not in (ClassicState.COMPLETING_REBALANCE, ClassicState.STABLE):
            return NOTHING
        missing = list(group.pending_sync)
        for member_id in missing:
            group.remove(member_id)
            self.end_session(group, member_id)
        return self.prepare(group, f"removing {', '.join(missing)} on pending sync request expiration")

    def _expire_initial_delay(self, group_id: str, delay_ms: int, remaining_ms: int) -> Decision[None]:
        group = self._preparing(group_id)
        if group is None:
            return NOTHING
        if not group.new_member_added or remaining_ms == 0:
            return self.complete_join(group)
        group.new_member_added = False
        next_delay_ms = min(self._store.settings.initial_rebalance_delay_ms, remaining_ms)
        self._schedule_initial(group_id, next_delay_ms, max(remaining_ms - delay_ms, 0))
        return NOTHING

    def _expire_join(self, group_id: str) -> Decision[None]:
        group = self._preparing(group_id)
        return NOTHING if group is None else self.complete_join(group)

    def _preparing(self, group_id: str) -> ClassicGroup | None:
        """A timer whose records were refused is tried again, when its group has gone on already."""
        group = self._store.classic_group(group_id)
        return group if group is not None and group.state is ClassicState.PREPARING_REBALANCE else None

    # Within

    def _complete_or_wait(self, group: ClassicGroup) -> Decision[None]:
        if group.has_all_members_joined:
            return self.complete_join(group)
        self._schedule_complete(group)
        return NOTHING

    def _complete_if_all_joined(self, group: ClassicGroup) -> Decision[None]:
        if group.state is ClassicState.PREPARING_REBALANCE and group.has_all_members_joined:
            return self.complete_join(group)
        return NOTHING

    def _remove_absent(self, group: ClassicGroup) -> None:
        for member in list(group.members.values()):
            if member.awaiting_join is None and not member.is_static:
                _log.info("group %s: %s did not join again in time, it is removed", group.group_id, member.member_id)
                group.remove(member.member_id)
                self.end_session(group, member.member_id)

    def _answer_joins(self, group: ClassicGroup) -> None:
        for member in list(group.members.values()):
            group.complete_join(member, group.join_response(member.member_id))
            self.begin_session(group, member)
            member.is_new = False
            group.pending_sync[member.member_id] = None

    def _schedule_initial(self, group_id: str, delay_ms: int, remaining_ms: int) -> None:
        self._timers.schedule(
            join_timer(group_id), delay_ms, lambda: self._expire_initial_delay(group_id, delay_ms, remaining_ms)
        )

    def _schedule_complete(self, group: ClassicGroup) -> None:
        group_id = group.group_id
        self._timers.schedule(join_timer(group_id), group.rebalance_timeout_ms, lambda: self._expire_join(group_id))

    def _wall_ms(self) -> int:
        return self._store.context.clock.wall_ms()


def _warn_of(group: ClassicGroup, what: str) -> Callable[[ApiError | None], None]:
    def on_done(error: ApiError | None) -> None:
        if error is not None:
            _log.warning("group %s: %s could not be written: %s", group.group_id, what, error)

    return on_done
